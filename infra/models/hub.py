"""A checkpoint on a model hub, over HTTP. Imported only when a hub is asked: the client is slow to
import, and most plans need no network.
"""

import os
import re
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from infra.errors import PlanRefused
from infra.models.sources import MOST_BYTES

HUB = "https://huggingface.co"
TIMEOUT_S = 10
VISIBLE = re.compile(r"[!-~]+")
NOT_THERE = ("RepoNotFound", "RevisionNotFound", "EntryNotFound")  # the hub's X-Error-Code


class HubReader:
    """A checkpoint on a hub. HF_ENDPOINT names another hub, HF_TOKEN lets private models be read.

    Nothing is asked before the first `read`. `PlanRefused` in one line when the hub can't be
    reached or says no; the token is in no message, and follows no redirect to another host.
    """

    def __init__(self, model: str, revision: str = "main") -> None:
        self._model = model
        self._hub = _endpoint()
        self._base = f"{self._hub}/{quote(model)}/resolve/{quote(revision, safe='')}"

    def read(self, name: str, length: int | None = None) -> bytes | None:
        request = Request(f"{self._base}/{quote(name)}", headers=_range(length))
        if token := _token():
            request.add_unredirected_header("Authorization", f"Bearer {token}")
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:
                body: bytes = answer.read(MOST_BYTES if length is None else length)
                return body
        except HTTPError as error:
            with error:
                if _is_missing(error):
                    return None
                raise self._refused(error) from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise PlanRefused(
                f"model: {self._model!r} is not in the catalogue, and the hub {self._hub} can't be "
                f"reached ({reason}); allowed: a model of the catalogue, or a folder"
            ) from error

    def _refused(self, error: HTTPError) -> PlanRefused:
        if error.code in (401, 403):
            return PlanRefused(
                f"model: the hub {self._hub} does not let {self._model!r} be read ({error.code}); "
                "allowed: a public model, or HF_TOKEN of someone who was granted access"
            )
        return PlanRefused(
            f"model: the hub {self._hub} answered {error.code} for {self._model!r}; "
            "allowed: another try, a model of the catalogue, or a folder"
        )


def _endpoint() -> str:
    endpoint = os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or HUB
    if not endpoint.startswith(("https://", "http://")) or "@" in endpoint:
        raise PlanRefused("HF_ENDPOINT: no address of a hub; allowed: https://HOST, http://HOST")
    return endpoint


def _token() -> str:
    """The token, which http.client would quote in its complaint if it held a line break."""
    token = os.environ.get("HF_TOKEN", "").strip()
    if token and not VISIBLE.fullmatch(token):
        raise PlanRefused("HF_TOKEN: holds characters that no token has; allowed: one plain word")
    return token


def _range(length: int | None) -> dict[str, str]:
    return {} if length is None else {"Range": f"bytes=0-{length - 1}"}


def _is_missing(error: HTTPError) -> bool:
    """The hub answers 401 for a name that does not exist, so its own code is looked at first."""
    return error.code == 404 or error.headers.get("X-Error-Code") in NOT_THERE
