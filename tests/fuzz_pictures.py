"""`python -m tests.fuzz_pictures --files 5000`: mutated files of all formats, through decoders.

Each must end as prepared frames or as a `PictureError`, with no decoder lost and none over time.
The same `--seed` makes the same files. Exit status 1, and the file kept, if one does not end so.
"""

import argparse
import io
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from tests.odd_pictures import odd_pictures
from worker.errors import PictureError
from worker.families import Family
from worker.pictures import Decoders, Limits, Selection

FAMILY = Family(28, 3136, 100 * 784, "model_pixels")
LIMITS = Limits(max_pixels=4_000_000, max_frames=20, decode_s=20.0)
EVERYTHING = Selection(frames="all", video="count:3")
FAULTS = ("decode_timeout", "decoder_crashed", "worker_killed")
INTERESTING = (0, 1, 2, 4, 8, 16, 32, 64, 127, 128, 192, 255)
SAVED: tuple[tuple[str, dict[str, object]], ...] = (
    ("JPEG", {}),
    ("JPEG", {"progressive": True}),
    ("JPEG", {"restart_marker_rows": 1, "subsampling": 0}),
    ("MPO", {"save_all": True}),
    ("GIF", {"save_all": True, "duration": 100}),
    ("PNG", {"save_all": True, "duration": 100}),
    ("WEBP", {"save_all": True}),
    ("WEBP", {"lossless": True}),
    ("AVIF", {"save_all": True}),
    ("AVIF", {}),
    ("HEIF", {}),
    ("JPEG2000", {}),
    ("JPEG2000", {"no_jp2": True}),
    ("TIFF", {"save_all": True, "compression": "tiff_lzw"}),
    ("TIFF", {"compression": "tiff_adobe_deflate"}),
    ("TIFF", {"compression": "jpeg"}),
    ("TIFF", {"compression": "packbits"}),
    ("TGA", {"compression": "tga_rle"}),
    ("ICO", {"sizes": [(16, 16), (48, 48)]}),
    ("ICO", {"sizes": [(16, 16), (48, 48)], "bitmap_format": "bmp"}),
    ("DDS", {}),
    ("DDS", {"pixel_format": "DXT1"}),
    ("BMP", {}),
    ("PPM", {}),
)
UNTAGGED = ("TGA", "ICO", "DDS", "BMP", "PPM", "GIF")
CLIPS = (("mp4", "libx264"), ("mov", "mjpeg"), ("avi", "mpeg4"), ("webm", "libvpx"))


@cache
def seeds() -> tuple[tuple[str, bytes], ...]:
    """Valid files to mutate: name of the format, bytes."""
    return (*_stills(), *_clips(), *((name.split()[0], data) for name, data, _ in odd_pictures()))


def _stills() -> Iterator[tuple[str, bytes]]:
    from pillow_heif import register_heif_opener

    register_heif_opener()
    values = np.random.default_rng(3).integers(0, 256, (3, 40, 60, 3), dtype=np.uint8)
    first, *others = (Image.fromarray(each) for each in values)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "maker"
    for kind, options in SAVED:
        file = io.BytesIO()
        many = {"append_images": [each.copy() for each in others]} if "save_all" in options else {}
        # Pillow's writer of AVIF crashes on several frames that are turned.
        tagged = {} if kind in UNTAGGED or (kind == "AVIF" and many) else {"exif": exif}
        first.copy().save(file, kind, **many, **tagged, **options)
        yield kind.lower(), file.getvalue()


def _clips() -> Iterator[tuple[str, bytes]]:
    import av

    for form, codec in CLIPS:
        file = io.BytesIO()
        with av.open(file, "w", format=form) as container:
            stream = container.add_stream(codec, rate=10)
            stream.width, stream.height = 64, 48
            stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
            for i in range(12):
                picture = np.full((48, 64, 3), i * 20, np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
            container.mux(stream.encode())
        yield form, file.getvalue()


def mutated(data: bytes, dice: random.Random) -> bytes:
    """`data` with a few bytes changed, mostly in its header, and parts cut, doubled or moved."""
    body = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 4, 16))):
        reach = len(body) if dice.random() < 0.4 else min(len(body), 400)
        at, deed = dice.randrange(max(1, reach)), dice.random()
        if deed < 0.45:
            body[at : at + 1] = bytes([dice.choice((*INTERESTING, dice.randrange(256)))])
        elif deed < 0.65:
            body[at : at + 4] = dice.randbytes(4)
        elif deed < 0.75:
            body[at : at + 4] = b"\xff" * 4
        elif deed < 0.85:
            del body[at : at + dice.randrange(1, 40)]
        elif deed < 0.93:
            body[at:at] = body[at : at + dice.randrange(1, 200)]
        else:
            del body[max(1, at) :]
    return bytes(body)


def files(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`count` mutated files, all formats in turn."""
    dice, kinds = random.Random(seed), sorted({kind for kind, _ in seeds()})
    valid = {kind: [data for name, data in seeds() if name == kind] for kind in kinds}
    for number in range(count):
        kind = kinds[number % len(kinds)]
        yield kind, mutated(dice.choice(valid[kind]), dice)


def outcome(decoders: Decoders, data: bytes) -> tuple[str, float]:
    """`prepared`, or the code of the refusal, and the seconds that it took."""
    began = time.monotonic()
    try:
        frames = decoders.prepare(data, FAMILY, LIMITS, EVERYTHING)
        lost = [each.error.code for each in frames if hasattr(each, "error")]
        code = next((code for code in lost if code in FAULTS), "prepared")
    except PictureError as error:
        code = error.code
    return code, time.monotonic() - began


def main() -> int:
    """Run, and print what has come of the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"), help="folder for faults")
    wanted = parser.parse_args()
    decoders, codes, slowest_s, faults = Decoders(2), Counter[str](), 0.0, 0
    made = list(files(wanted.files, wanted.seed))
    with ThreadPoolExecutor(4) as threads:
        done = threads.map(lambda each: outcome(decoders, each[1]), made)
        for number, ((kind, data), (code, took_s)) in enumerate(zip(made, done, strict=True)):
            codes[code] += 1
            slowest_s = max(slowest_s, took_s)
            if code in FAULTS:
                faults += 1
                wanted.keep.mkdir(exist_ok=True)
                (wanted.keep / f"{wanted.seed}-{number}-{code}.{kind}").write_bytes(data)
    decoders.close()
    for code, count in codes.most_common():
        print(f"{count:6}  {code}")
    print(f"{sum(codes.values())} files, slowest {slowest_s:.2f} s, {faults} decoders lost")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
