"""Small pictures of a shard's rows, for people to look at: one zip beside the shard's rows.

Written by the worker, which has decoded the pictures anyway, and read by the report. Its entries
are `ROW-PICTURE.webp`: the row's place in the rows file, and the picture's place in the prompt.
"""

import io
import zipfile
from collections.abc import Iterable, Sequence

KIND = "image/webp"
LEAST_SIDE = 240  # pixels, the longer side: sharp on a card in a gallery, some 2 to 6 KB
# Of a small job they are large enough to look at a defect. A picture that takes more than these
# bytes at a size, as noise does, is kept at a smaller one; so all together stay below the room.
SIDES = {1024: 96 << 10, 768: 48 << 10, 480: 24 << 10}
ROOM_BYTES = 64 << 20
NEVER = (1980, 1, 1, 0, 0, 0)  # the same pictures make the same file


def side_for(pictures: int, room_bytes: int = ROOM_BYTES) -> int:
    """The longest side, in pixels, at which so many pictures stay within `room_bytes`."""
    fitting = (side for side, most in SIDES.items() if pictures * most <= room_bytes)
    return next(fitting, LEAST_SIDE)


def pack(of_rows: Iterable[Sequence[bytes]]) -> bytes:
    """The zip with the pictures of each row, in the order of the rows; empty without pictures."""
    file, packed = io.BytesIO(), 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for row, pictures in enumerate(of_rows):
            for number, picture in enumerate(pictures):
                archive.writestr(zipfile.ZipInfo(f"{row:05d}-{number}.webp", NEVER), picture)
                packed += 1
    return file.getvalue() if packed else b""


def unpack(body: bytes) -> dict[int, list[bytes]]:
    """The pictures of each row that has some; `ValueError` when `body` is no such zip."""
    found: dict[int, list[bytes]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for name in archive.namelist():
                row = int(name.partition("-")[0])
                found.setdefault(row, []).append(archive.read(name))
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ValueError(f"not small pictures: {error}") from error
    return found
