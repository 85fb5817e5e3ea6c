"""The pictures of a batch as objects in the bucket: what a job can be asked about.

What comes in a request or from the web is written under the batch, by its content, so that the same
picture in many requests is one object.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.api.batch.record import BatchPaths
from jobs.api.body_checks import BodyError
from jobs.api.image_parts import Inline, Picture, Remote, Stored
from jobs.store.bucket import Store

Fetch = Callable[[Remote], bytes]


@dataclass(slots=True)
class Pictures:
    """Puts pictures of one batch where a job finds them; `most` bytes bound each."""

    store: Store
    paths: BatchPaths
    fetch: Fetch
    most: int
    _written: set[str] = field(default_factory=set)

    def key(self, picture: Picture) -> str:
        """The picture's address in a bucket; `BodyError` when it can't be had."""
        match picture:
            case Stored(address):
                return str(address)
            case Inline(body):
                return self._put(body)
            case Remote():
                return self._put(self.fetch(picture))

    def _put(self, body: bytes) -> str:
        if len(body) > self.most:
            raise BodyError(
                "image_too_large",
                f"An image of {len(body)} bytes; allowed: up to {self.most}.",
                "messages",
            )
        digest = hashlib.sha256(body).hexdigest()
        address = self.paths.picture(digest)
        if digest not in self._written:
            self.store.write(address, body, "application/octet-stream")
            self._written.add(digest)
        return str(address)
