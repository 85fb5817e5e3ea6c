"""How much memory a frame will take to decode, from its header. Errs on the side of too much."""

from PIL import Image

MIB = 1 << 20
# Bytes a decoded pixel, with what the way to RGB at the model's size needs beside it.
BYTES = {"1": 2, "L": 1, "P": 9, "RGB": 4, "CMYK": 4, "YCbCr": 4, "I": 6, "F": 6, "I;16": 4}
OTHERWISE = 12
# Bytes a pixel that the decoder itself holds.
DECODERS = {"webp": 4, "avif": 6, "heic": 8, "jpeg2000": 16}
COEFFICIENT_BYTES = 2


def decode_mib(image: Image.Image, kind: str, whole: tuple[int, int], data: bytes) -> float:
    """MiB for the frame of `whole` size that `image` stands at, drafted if it can be."""
    pixels = whole[0] * whole[1]
    here = image.width * image.height * BYTES.get(image.mode, OTHERWISE)
    inside = pixels * DECODERS.get(kind, 0)
    if kind == "jpeg" and _in_several_scans(image, data):
        inside += int(pixels * COEFFICIENT_BYTES * _samples(image))
    return (here + inside + len(data)) / MIB


def _in_several_scans(image: Image.Image, data: bytes) -> bool:
    """Then all coefficients are held at once. Two starts of a scan may be one and a thumbnail's."""
    return "progressive" in image.info or data.count(b"\xff\xda") > 2


def _samples(image: Image.Image) -> float:
    """Values a pixel over all channels, of which some are stored at half the size."""
    layers = getattr(image, "layer", ())
    most = max((across * down for _, across, down, _ in layers), default=1)
    return sum(across * down for _, across, down, _ in layers) / most if layers else 4.0
