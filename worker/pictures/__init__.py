"""The decode stage: bytes of anything become upright sRGB pictures at the size that a model sees.

    formats     what the bytes are, by content
    stills      header, limits and pixels of a picture, by Pillow
    colours     depth, alpha, CMYK and profiles become 8-bit sRGB
    frames      which pages, animation frames and moments of a video are wanted
    video       frames of a clip, by PyAV
    pool        processes that do all this, so that a decoder's crash or hang costs one picture

A shard calls `Decoders.prepare`; `prepare` does the same for one picture in this process.
"""

from worker.pictures.bounds import Limits, Selection
from worker.pictures.frames import Unprepared, prepare, prepare_all
from worker.pictures.pool import Decoders
from worker.pictures.stills import Prepared

__all__ = ["Decoders", "Limits", "Prepared", "Selection", "Unprepared", "prepare", "prepare_all"]
