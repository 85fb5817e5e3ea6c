"""What commands share that work with a store: opening it, and finding a job in it."""

from jobs.addresses import JobPaths
from jobs.cli.lines import Exit
from jobs.errors import NotFound
from jobs.record import Record, RecordFile
from jobs.settings.settings import Settings, load_settings
from jobs.states import State
from jobs.store.bucket import Store, StoreOptions


def exit_for(state: State) -> Exit:
    if state is State.COMPLETED_WITH_ERRORS:
        return Exit.COMPLETED_WITH_ERRORS
    return Exit.COMPLETED if state is State.COMPLETED else Exit.FAILED


def open_store(check: bool = True) -> tuple[Settings, Store]:
    """Settings and the store they name; with `check`, its bucket must be there."""
    settings = load_settings()
    store = Store(store_options(settings))
    if check:
        store.check(settings.bucket)
    return settings, store


def store_options(settings: Settings) -> StoreOptions:
    return StoreOptions(
        settings.endpoint_url, settings.region, settings.addressing, settings.checksums
    )


def load_record(store: Store, settings: Settings, job: str) -> Record:
    try:
        return RecordFile(store, JobPaths.of(settings.bucket, job)).load()
    except NotFound as error:
        raise NotFound(f"no job {job!r} in bucket {settings.bucket!r}; see zeroshift status") from (
            error
        )
