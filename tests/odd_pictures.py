"""Valid files that writers of pictures rarely make, built by hand, each with its true pixels.

For tests of decoding and for the fuzz run. `odd_pictures` yields name, bytes, and RGB as a person
would see it on white, `uint8` of shape (height, width, 3).
"""

import struct
import zlib
from collections.abc import Iterator
from itertools import accumulate

import numpy as np

WIDTH, HEIGHT = 45, 37  # no multiple of a byte's pixels, of a tile, or of Adam7's eight
Odd = tuple[str, bytes, np.ndarray]
ADAM7 = (  # where each pass begins, and its steps
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)
PNG_TYPES = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def odd_pictures() -> Iterator[Odd]:
    """All of them."""
    yield from pngs()
    yield from tiffs()
    yield from bmps()
    yield from tgas()
    yield from anymaps()


def smooth(channels: int, top: int) -> np.ndarray:
    """Gradients in all directions from 0 to `top`: shape (HEIGHT, WIDTH, channels)."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    ramps = (x / (WIDTH - 1), y / (HEIGHT - 1), (x + y) / (WIDTH + HEIGHT - 2), 1 - x / WIDTH / 2)
    return np.stack([np.round(ramp * top) for ramp in ramps[:channels]], -1).astype(np.int64)


def seen(values: np.ndarray, top: float) -> np.ndarray:
    """Grey, grey with alpha, RGB or RGBA of 0 to `top`, on white, as 8-bit RGB."""
    shares = values / top
    colours = shares[..., : 3 if values.shape[-1] > 2 else 1]
    if values.shape[-1] in (2, 4):
        alpha = shares[..., -1:]
        colours = colours * alpha + (1 - alpha)
    return np.round(np.broadcast_to(colours, (*values.shape[:2], 3)) * 255).astype(np.uint8)


def pngs() -> Iterator[Odd]:
    """Every colour type and depth that PNG has, plain and interlaced."""
    for colour, depths in PNG_TYPES.items():
        for depth in depths:
            for interlaced in (0, 1):
                top = (1 << depth) - 1
                values = smooth(CHANNELS[colour], top)
                palette = np.random.default_rng(depth).integers(0, 256, (top + 1, 3))
                truth = palette[values[..., 0]].astype(np.uint8) if colour == 3 else None
                extra = chunk(b"PLTE", palette.astype(np.uint8).tobytes()) if colour == 3 else b""
                name = f"png type {colour}, {depth} bit{', interlaced' * interlaced}"
                data = png(values, depth, colour, interlaced, extra)
                yield name, data, seen(values, top) if truth is None else truth


def png(values: np.ndarray, depth: int, colour: int, interlaced: int, extra: bytes = b"") -> bytes:
    """A PNG of `values`, (height, width, channels)."""
    height, width = values.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    passes = ADAM7 if interlaced else ((0, 0, 1, 1),)
    rows = b"".join(
        b"\0" + packed(row, depth)
        for x, y, across, down in passes
        for row in values[y::down, x::across]
        if row.size
    )
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra
    return start + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def chunk(kind: bytes, body: bytes) -> bytes:
    """One chunk of a PNG."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def packed(row: np.ndarray, depth: int, order: str = ">") -> bytes:
    """Values of 1 to 32 bits, the first in the highest bits of a byte."""
    if depth >= 8:
        return row.astype(f"{order}u{depth // 8}").tobytes()
    bits = (row.reshape(-1, 1) >> np.arange(depth - 1, -1, -1)) & 1
    return np.packbits(bits.astype(np.uint8)).tobytes()


def tiffs() -> Iterator[Odd]:
    """Both byte orders; strips, tiles and planes; 1 to 16 bits; both ideas of what zero is."""
    for order in ("<", ">"):
        name = f"tiff {'big' if order == '>' else 'little'}-endian"
        for depth in (1, 4, 8, 16):
            top = (1 << depth) - 1
            grey = smooth(1, top)
            yield f"{name}, grey {depth}", tiff(grey, depth, order, 1), seen(grey, top)
            white_is_zero = tiff(grey, depth, order, 0)
            yield f"{name}, white is zero {depth}", white_is_zero, 255 - seen(grey, top)
        for depth in (8, 16):
            top = (1 << depth) - 1
            for options in ({}, {"tiled": True}, {"planar": True}):
                if depth == 16 and options.get("planar"):
                    continue  # a rarity that is refused
                rgb = smooth(3, top)
                how = "".join(f", {option}" for option in options)
                data = tiff(rgb, depth, order, 2, **options)
                yield f"{name}, colour {depth}{how}", data, seen(rgb, top)
        rgba = smooth(4, 255)
        yield f"{name}, alpha", tiff(rgba, 8, order, 2, extra=2), seen(rgba, 255)
        shares = smooth(1, 1000) / 1000
        yield f"{name}, float", tiff(shares, 32, order, 1, real=True), seen(shares, 1)


def tiff(
    values: np.ndarray,
    depth: int,
    order: str,
    photometric: int,
    tiled: bool = False,
    planar: bool = False,
    extra: int | None = None,
    real: bool = False,
) -> bytes:
    """An uncompressed TIFF of one page of `values`, (height, width, channels)."""
    height, width, channels = values.shape
    kind = f"{order}f4" if real else None
    planes = [values[..., c : c + 1] for c in range(channels)] if planar else [values]
    blocks = [block for plane in planes for block in (_tiles(plane, 16) if tiled else [plane])]
    bodies = [
        b"".join(row.astype(kind).tobytes() if kind else packed(row, depth, order) for row in block)
        for block in blocks
    ]
    tags: dict[int, tuple[int, list[int]]] = {
        256: (4, [width]),
        257: (4, [height]),
        258: (3, [depth] * channels),
        259: (3, [1]),
        262: (3, [photometric]),
        277: (3, [channels]),
        284: (3, [2 if planar else 1]),
        339: (3, [3 if real else 1] * channels),
    }
    sizes = [len(body) for body in bodies]
    starts = list(accumulate(sizes[:-1], initial=8))
    if tiled:
        tags |= {322: (3, [16]), 323: (3, [16]), 324: (4, starts), 325: (4, sizes)}
    else:
        tags |= {273: (4, starts), 278: (4, [height]), 279: (4, sizes)}
    if extra is not None:
        tags[338] = (3, [extra])
    return _tiff_file(order, b"".join(bodies), tags)


def _tiles(plane: np.ndarray, side: int) -> list[np.ndarray]:
    height, width = plane.shape[:2]
    padded = np.pad(plane, ((0, -height % side), (0, -width % side), (0, 0)))
    return [
        padded[y : y + side, x : x + side]
        for y in range(0, height, side)
        for x in range(0, width, side)
    ]


def _tiff_file(order: str, body: bytes, tags: dict[int, tuple[int, list[int]]]) -> bytes:
    body += b"\0" * (len(body) % 2)
    directory_at = 8 + len(body)
    outside_at = directory_at + 2 + 12 * len(tags) + 4
    entries, outside = b"", b""
    for tag in sorted(tags):
        kind, numbers = tags[tag]
        raw = struct.pack(f"{order}{len(numbers)}{'H' if kind == 3 else 'I'}", *numbers)
        if len(raw) > 4:
            place = struct.pack(f"{order}I", outside_at + len(outside))
            outside += raw + b"\0" * (len(raw) % 2)
        else:
            place = raw.ljust(4, b"\0")
        entries += struct.pack(f"{order}HHI", tag, kind, len(numbers)) + place
    mark = b"II*\0" if order == "<" else b"MM\0*"
    header = mark + struct.pack(f"{order}I", directory_at)
    return header + body + struct.pack(f"{order}H", len(tags)) + entries + bytes(4) + outside


def bmps() -> Iterator[Odd]:
    """Palettes of 1, 4 and 8 bits, run lengths, 16, 24 and 32 bits, and the upside-down kind."""
    for depth in (1, 4, 8):
        top = (1 << depth) - 1
        values = smooth(1, top)[..., 0]
        palette = np.random.default_rng(depth).integers(0, 256, (top + 1, 3)).astype(np.uint8)
        rows = [packed(row, depth) for row in values]
        yield f"bmp {depth} bit", bmp(rows, depth, 0, palette), palette[values]
    yield "bmp 8 bit, run lengths", bmp([_runs(values)], 8, 1, palette), palette[values]
    rgb = smooth(3, 255)
    bgr = rgb[..., ::-1].astype(np.uint8)
    yield "bmp 24 bit", bmp([row.tobytes() for row in bgr], 24, 0), seen(rgb, 255)
    flipped = bmp([row.tobytes() for row in bgr[::-1]], 24, 0, upside_down=True)
    yield "bmp 24 bit, top first", flipped, seen(rgb, 255)
    four = np.dstack([bgr, np.zeros((HEIGHT, WIDTH), np.uint8)])
    yield "bmp 32 bit", bmp([row.tobytes() for row in four], 32, 0), seen(rgb, 255)
    five = smooth(3, 31)
    words = five[..., 0] << 10 | five[..., 1] << 5 | five[..., 2]
    yield "bmp 16 bit", bmp([w.astype("<u2").tobytes() for w in words], 16, 0), seen(five, 31)


def bmp(
    rows: list[bytes],
    depth: int,
    compression: int,
    palette: np.ndarray | None = None,
    upside_down: bool = False,
) -> bytes:
    """A BMP of `rows` from top to bottom; run lengths come as one."""
    body = rows[0] if compression else b"".join(row + bytes(-len(row) % 4) for row in rows[::-1])
    colours = b"" if palette is None else np.insert(palette[:, ::-1], 3, 0, 1).tobytes()
    height = -HEIGHT if upside_down else HEIGHT
    header = struct.pack(
        "<IiiHHIIiiII", 40, WIDTH, height, 1, depth, compression, len(body), 0, 0, 0, 0
    )
    start = 14 + len(header) + len(colours)
    return struct.pack("<2sIHHI", b"BM", start + len(body), 0, 0, start) + header + colours + body


def _runs(values: np.ndarray) -> bytes:
    """RLE8: each row in runs of equal values, from the bottom up."""
    body = b""
    for row in values[::-1]:
        edges = np.flatnonzero(np.diff(row)) + 1
        for part in np.split(row, edges):
            body += bytes([len(part), part[0]])
        body += b"\0\0"
    return body[:-2] + b"\0\1"


def tgas() -> Iterator[Odd]:
    """Grey, colour, and 32 bits without alpha; from the bottom up and from the top down."""
    grey, rgb = smooth(1, 255), smooth(3, 255)
    bgr = rgb[..., ::-1]
    no_alpha = np.dstack([bgr, np.zeros((HEIGHT, WIDTH), np.int64)])
    yield "tga grey", tga(grey, 3, 8, 0x20), seen(grey, 255)
    yield "tga 24 bit", tga(bgr, 2, 24, 0x20), seen(rgb, 255)
    yield "tga 24 bit, bottom first", tga(bgr[::-1], 2, 24, 0), seen(rgb, 255)
    yield "tga 32 bit, no alpha", tga(no_alpha, 2, 32, 0x20), seen(rgb, 255)


def tga(values: np.ndarray, kind: int, depth: int, flags: int) -> bytes:
    """A TGA without a footer, as of the first version of the format."""
    header = struct.pack("<BBBHHBHHHHBB", 0, 0, kind, 0, 0, 0, 0, 0, WIDTH, HEIGHT, depth, flags)
    return header + values.astype(np.uint8).tobytes()


def anymaps() -> Iterator[Odd]:
    """Plain and raw, with comments, and with other tops than 255."""
    for top in (15, 255, 1000, 65535):
        for letter, channels in ((5, 1), (6, 3)):
            values = smooth(channels, top)
            head = f"P{letter}\n# made by hand\n{WIDTH} {HEIGHT}\n{top}\n".encode()
            body = values.astype("u1" if top < 256 else ">u2").tobytes()
            yield f"ppm {channels} channels of {top}", head + body, seen(values, top)
    plain = smooth(3, 255)
    numbers = " ".join(map(str, plain.ravel()))
    yield "ppm plain", f"P3 {WIDTH} {HEIGHT} 255\n{numbers}\n".encode(), seen(plain, 255)
    bits = smooth(1, 1)
    raw = b"".join(packed(row, 1) for row in 1 - bits)
    yield "pbm", f"P4 {WIDTH} {HEIGHT}\n".encode() + raw, seen(bits, 1)
