"""Plain listings: all that lies under the prefixes of the rules, told of by events or not."""

from functools import partial

from jobs.addresses import Address
from jobs.events.batches import Folder
from jobs.events.folders import Folders
from jobs.events.troubles import Troubles
from jobs.settings.settings import Settings
from jobs.store.bucket import Store
from jobs.submit.submission import Submitted


class Listings:
    """Of one bucket. Not safe between threads without a lock."""

    def __init__(
        self, store: Store, settings: Settings, folders: Folders, troubles: Troubles
    ) -> None:
        self._store, self._bucket = store, settings.bucket
        self._folders, self._troubles = folders, troubles

    def take(self) -> list[Submitted]:
        """List, and take what is due. A prefix or a folder that fails keeps no other from it."""
        created: list[Submitted] = []
        there: set[str] | None = set()
        for prefix in self._prefixes():
            listed = self._list(prefix)
            for folder in listed or ():
                created += self._take(folder)
            seen = {folder.address.key for folder in listed or ()}
            there = None if listed is None or there is None else there | seen
        if there is not None:
            self._troubles.attempt("what is settled", partial(self._keep, there))
        return created

    def _list(self, prefix: str) -> list[Folder] | None:
        """The folders under a prefix; None when it can't be listed."""
        place = Address(self._bucket, prefix)
        return self._troubles.attempt(
            place, lambda: list(self._folders.sorted(self._store.list(place)).values())
        )

    def _take(self, folder: Folder) -> tuple[Submitted, ...]:
        look = self._troubles.attempt(folder.address, partial(self._folders.take, folder))
        return () if look is None else look.created

    def _keep(self, there: set[str]) -> bool:
        self._folders.settled.keep(there)
        return True

    def _prefixes(self) -> list[str]:
        """The rules' prefixes without those that lie within another."""
        all_of_them = sorted(rule.prefix for rule in self._folders.rules)
        outer: list[str] = []
        for prefix in all_of_them:
            if not (outer and prefix.startswith(outer[-1])):
                outer.append(prefix)
        return outer
