"""What tests of what the server serves share, its API and its pages: fixtures to be imported."""

from collections.abc import Callable

import pytest

from jobs.settings.api import Api
from jobs.settings.settings import Settings
from jobs.store.bucket import Store

__all__ = ["_no_compiler", "server", "settings"]


@pytest.fixture
def server(memory: Store) -> Store:
    """The store of these tests."""
    return memory


@pytest.fixture(autouse=True)
def _no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grammar compiler takes seconds to import; tests of it are elsewhere."""
    monkeypatch.setattr("jobs.schema.lint._by_compiler", lambda schema: ())


@pytest.fixture
def settings(make_settings: Callable[..., Settings], model: str) -> Settings:
    """With the model of these tests served."""
    return make_settings(api=Api(models=(model,)))
