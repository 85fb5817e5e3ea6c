"""The four kinds of defect, drawn into a patch of the picture, each with its true box."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

KINDS = ("scratch", "hole", "stain", "dent")
STAINS = ((0.36, 0.24, 0.12), (0.50, 0.30, 0.10), (0.16, 0.20, 0.34), (0.14, 0.22, 0.14))
TRIES = 40


@dataclass(frozen=True, slots=True, order=True)
class Defect:
    """A defect; sorts by its kind's name, then from left to right."""

    kind: str
    box: tuple[int, int, int, int]


def place(
    rng: np.random.Generator,
    pixels: np.ndarray,
    silhouette: Image.Image,
    light: float,
    count: int,
) -> list[Defect]:
    """Draw `count` defects that lie on the part and do not touch one another."""
    inside = np.asarray(silhouette) > 127
    found: list[Defect] = []
    for _ in range(count):
        defect = _place_one(rng, pixels, inside, light, [d.box for d in found])
        if defect is not None:
            found.append(defect)
    return found


def _place_one(
    rng: np.random.Generator,
    pixels: np.ndarray,
    inside: np.ndarray,
    light: float,
    taken: list[tuple[int, int, int, int]],
) -> Defect | None:
    height, width = inside.shape
    kind = str(rng.choice(KINDS))
    mask, extent = MASKS[kind](rng, min(width, height))
    rows, columns = np.nonzero(extent)
    own = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    size_y, size_x = mask.shape
    if size_x >= width or size_y >= height:
        return None
    for _ in range(TRIES):
        x, y = int(rng.integers(width - size_x)), int(rng.integers(height - size_y))
        box = (int(own[0] + x), int(own[1] + y), int(own[2] + x), int(own[3] + y))
        covered = inside[y : y + size_y, x : x + size_x][extent]
        if covered.all() and not any(_near(box, other, 0.02 * width) for other in taken):
            patch = pixels[y : y + size_y, x : x + size_x]
            PAINTERS[kind](rng, patch, mask, light)
            return Defect(kind, box)
    return None


def _near(a: tuple[int, ...], b: tuple[int, ...], gap: float) -> bool:
    return a[0] < b[2] + gap and b[0] < a[2] + gap and a[1] < b[3] + gap and b[1] < a[3] + gap


Mask = tuple[np.ndarray, np.ndarray]  # opacity as float32 of (h, w), and the extent as bool


def _scratch_mask(rng: np.random.Generator, side: int) -> Mask:
    length, angle = side * rng.uniform(0.20, 0.42), rng.uniform(0, pi)
    bend = rng.uniform(-0.12, 0.12) * length
    thick = max(1.5, side * rng.uniform(0.011, 0.018))
    canvas = int(length + 2 * abs(bend) + 4 * thick) + 4
    half, c, s = canvas / 2, cos(angle), sin(angle)
    points = []
    for t in np.linspace(-0.5, 0.5, 9):
        along, across = t * length, bend * (1 - 4 * t * t)
        points.append((half + along * c - across * s, half + along * s + across * c))
    image = Image.new("L", (canvas, canvas))
    ImageDraw.Draw(image).line(points, fill=255, width=max(1, round(thick)), joint="curve")
    return _soften(image, 0.35)


def _blob(rng: np.random.Generator, radius: float, roughness: float) -> Image.Image:
    canvas = int(2 * radius * (1 + 2 * roughness)) + 6
    phases, weights = rng.uniform(0, 2 * pi, 3), rng.uniform(0, roughness, 3)
    squash, turn = rng.uniform(0.7, 1.0), rng.uniform(0, pi)
    points = []
    for a in np.linspace(0, 2 * pi, 36, endpoint=False):
        r = radius * (
            1
            + sum(
                w * sin((k + 2) * a + p) / 2
                for k, (w, p) in enumerate(zip(weights, phases, strict=True))
            )
        )
        x, y = r * cos(a), squash * r * sin(a)
        points.append(
            (canvas / 2 + x * cos(turn) - y * sin(turn), canvas / 2 + x * sin(turn) + y * cos(turn))
        )
    image = Image.new("L", (canvas, canvas))
    ImageDraw.Draw(image).polygon(points, fill=255)
    return image


def _soften(image: Image.Image, blur: float) -> Mask:
    mask = np.asarray(image.filter(ImageFilter.GaussianBlur(blur)), np.float32) / 255
    return mask, mask > 0.3


def _hole_mask(rng: np.random.Generator, side: int) -> Mask:
    return _soften(_blob(rng, side * rng.uniform(0.042, 0.075), 0.12), 0.3)


def _stain_mask(rng: np.random.Generator, side: int) -> Mask:
    radius = side * rng.uniform(0.065, 0.125)
    return _soften(_blob(rng, radius, 0.45), 0.06 * radius)


def _dent_mask(rng: np.random.Generator, side: int) -> Mask:
    radius = side * rng.uniform(0.065, 0.115)
    return _soften(_blob(rng, radius, 0.10), 0.05 * radius)


def _paint_scratch(
    rng: np.random.Generator, patch: np.ndarray, mask: np.ndarray, light: float
) -> None:
    del light
    bright = rng.random() < 0.5
    depth = rng.uniform(0.24, 0.42) * (1 if bright else -1)
    patch += np.float32(depth) * mask[..., None]


def _paint_hole(
    rng: np.random.Generator, patch: np.ndarray, mask: np.ndarray, light: float
) -> None:
    del light
    patch += mask[..., None] * (np.float32(rng.uniform(0.02, 0.10)) - patch)


def _paint_stain(
    rng: np.random.Generator, patch: np.ndarray, mask: np.ndarray, light: float
) -> None:
    del light
    colour = np.array(STAINS[rng.integers(len(STAINS))], np.float32)
    patch += mask[..., None] * np.float32(rng.uniform(0.55, 0.85)) * (colour - patch)


def _paint_dent(
    rng: np.random.Generator, patch: np.ndarray, mask: np.ndarray, light: float
) -> None:
    height, width = mask.shape
    x = np.linspace(-1, 1, width, dtype=np.float32)[None, :]
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None]
    slope = x * cos(light) + y * sin(light)
    patch -= np.float32(rng.uniform(0.26, 0.40)) * (slope * mask)[..., None].astype(np.float32)


MASKS: dict[str, Callable[[np.random.Generator, int], Mask]] = {
    "scratch": _scratch_mask,
    "hole": _hole_mask,
    "stain": _stain_mask,
    "dent": _dent_mask,
}
PAINTERS: dict[str, Callable[[np.random.Generator, np.ndarray, np.ndarray, float], None]] = {
    "scratch": _paint_scratch,
    "hole": _paint_hole,
    "stain": _paint_stain,
    "dent": _paint_dent,
}
