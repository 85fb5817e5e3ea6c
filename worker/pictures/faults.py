"""What decoders raise becomes one of our errors: they raise anything, and mean four things."""

from typing import Any

from worker.errors import PictureError
from worker.pictures.cuts import is_cut, strips_cut
from worker.pictures.formats import unsupported

UNKNOWN = ("unknown", "unsupported", "unimplemented", "cannot handle", "not supported")


def broken(error: Exception, data: bytes, kind: str, tags: Any = None) -> PictureError:
    """The error of `data` of format `kind`, of which a decoder said `error`.

    tags   of a TIFF's page, which say where its pixels should be
    """
    said = " ".join(f"{type(error).__name__}: {error}".split())
    if isinstance(error, MemoryError):
        return PictureError("decode_memory", f"decoding the {kind} takes more than is allowed")
    cut = is_cut(data, kind) or (tags is not None and strips_cut(tags, len(data)))
    if cut or isinstance(error, EOFError) or "truncated" in said.lower():
        return PictureError("image_truncated", f"the {kind} is cut: {said}")
    if isinstance(error, NotImplementedError) or any(word in said.lower() for word in UNKNOWN):
        return unsupported(kind, said)
    return PictureError("image_broken", f"the {kind} is broken: {said}")
