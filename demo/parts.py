"""Synthetic pictures of machined parts with known defects.

Every picture is a function of a seed and a size alone, so a held-out set is a range of seeds that
training never draws. `draw_part` returns the picture and its truth: each defect's kind and its box
in pixels of that picture, `(x1, y1, x2, y2)`, right and lower edge exclusive.
"""

from dataclasses import dataclass
from math import cos, pi, sin

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from demo import defects
from demo.defects import Defect

SHAPES = ("plate", "disc", "ring", "nut", "bracket")
BACKGROUNDS = (
    (0.18, 0.19, 0.21),
    (0.34, 0.36, 0.38),
    (0.42, 0.33, 0.24),
    (0.20, 0.28, 0.36),
    (0.22, 0.33, 0.26),
    (0.62, 0.61, 0.58),
)
COUNTS = (0.34, 0.38, 0.28)  # share of pictures with none, one and two defects


@dataclass(frozen=True, slots=True)
class Part:
    """A drawn picture (RGB, 8 bits) and the defects that are truly on it."""

    image: Image.Image
    shape: str
    defects: tuple[Defect, ...]

    @property
    def verdict(self) -> str:
        return "defective" if self.defects else "ok"


def draw_part(seed: int, width: int, height: int) -> Part:
    """Draw the part of `seed` on a canvas of `width` x `height` pixels."""
    rng = np.random.default_rng(seed)
    shape = str(rng.choice(SHAPES))
    silhouette = _silhouette(rng, shape, width, height)
    light = rng.uniform(0, 2 * pi)
    pixels = _backdrop(rng, width, height)
    surface = _surface(rng, width, height, light)
    alpha = (np.asarray(silhouette, np.float32) / 255.0)[..., None]
    pixels += alpha * (surface - pixels)
    _draw_edge(pixels, silhouette, light)
    count = int(rng.choice(3, p=COUNTS))
    found = defects.place(rng, pixels, silhouette, light, count)
    return Part(_expose(rng, pixels), shape, tuple(sorted(found)))


def _silhouette(rng: np.random.Generator, shape: str, width: int, height: int) -> Image.Image:
    """An `L` mask of the part: white inside, black outside and in its bore."""
    side = min(width, height)
    radius = side * rng.uniform(0.34, 0.46)
    slack_x, slack_y = width / 2 - radius, height / 2 - radius
    cx = width / 2 + rng.uniform(-0.8, 0.8) * slack_x
    cy = height / 2 + rng.uniform(-0.8, 0.8) * slack_y
    turn = rng.uniform(0, 2 * pi)
    mask = Image.new("L", (width, height))
    draw = ImageDraw.Draw(mask)
    draw.polygon(_outline(rng, shape, cx, cy, radius, turn), fill=255)
    if shape in ("ring", "nut"):
        bore = radius * rng.uniform(0.34, 0.42)
        draw.ellipse((cx - bore, cy - bore, cx + bore, cy + bore), fill=0)
    return mask


def _outline(
    rng: np.random.Generator, shape: str, cx: float, cy: float, radius: float, turn: float
) -> list[tuple[float, float]]:
    if shape in ("disc", "ring"):
        corners = [(cos(a), sin(a)) for a in np.linspace(0, 2 * pi, 60, endpoint=False)]
    elif shape == "nut":
        corners = [(cos(a), sin(a)) for a in np.linspace(0, 2 * pi, 6, endpoint=False)]
    elif shape == "plate":
        w, h = rng.uniform(0.72, 0.85), rng.uniform(0.5, 0.7)
        corners = [(-w, -h), (w, -h), (w, h), (-w, h)]
    else:
        a, t = 0.78, rng.uniform(0.0, 0.15)
        corners = [(-a, -a), (a, -a), (a, t), (t, t), (t, a), (-a, a)]
    c, s = cos(turn), sin(turn)
    return [(cx + radius * (x * c - y * s), cy + radius * (x * s + y * c)) for x, y in corners]


def _smooth_noise(
    rng: np.random.Generator, rows: int, columns: int, width: int, height: int
) -> np.ndarray:
    """Noise of `rows` x `columns` cells blown up to the canvas; float32 of (height, width)."""
    cells = Image.fromarray(rng.standard_normal((rows, columns)).astype(np.float32))
    return np.asarray(cells.resize((width, height), Image.Resampling.BICUBIC), np.float32)


def _backdrop(rng: np.random.Generator, width: int, height: int) -> np.ndarray:
    colour = np.array(BACKGROUNDS[rng.integers(len(BACKGROUNDS))], np.float32)
    colour = colour * np.float32(rng.uniform(0.75, 1.2))
    shade = 1 + 0.10 * _smooth_noise(rng, 4, 4, width, height)
    shade += 0.05 * _smooth_noise(rng, 40, 40, width, height)
    return shade[..., None] * colour


def _surface(rng: np.random.Generator, width: int, height: int, light: float) -> np.ndarray:
    """Brushed metal under a lamp: float32 of (height, width, 3), about 0..1."""
    tone = rng.uniform(0.46, 0.78)
    tint = 1 + rng.uniform(-0.05, 0.05, 3).astype(np.float32)
    rows, columns = (90, 5) if rng.random() < 0.5 else (5, 90)
    brushed = 0.030 * rng.uniform(0.3, 1.4) * _smooth_noise(rng, rows, columns, width, height)
    cloudy = 0.025 * _smooth_noise(rng, 5, 5, width, height)
    x = np.linspace(-1, 1, width, dtype=np.float32)[None, :] * np.float32(cos(light))
    y = np.linspace(-1, 1, height, dtype=np.float32)[:, None] * np.float32(sin(light))
    lamp = rng.uniform(0.02, 0.16) * (x + y)
    return (tone + brushed + cloudy + lamp)[..., None].astype(np.float32) * tint


def _draw_edge(pixels: np.ndarray, silhouette: Image.Image, light: float) -> None:
    """A bevel: lit on the side of the lamp, dark on the other."""
    side = min(silhouette.size)
    soft = np.asarray(silhouette.filter(ImageFilter.BoxBlur(side * 0.008 + 0.5)), np.float32) / 255
    dy, dx = np.gradient(soft)
    slope = (dx * cos(light) + dy * sin(light)) * (side * 0.02)
    pixels -= np.clip(slope, -0.25, 0.25)[..., None]


def _expose(rng: np.random.Generator, pixels: np.ndarray) -> Image.Image:
    """Camera: exposure, grain, focus, 8 bits."""
    height, width = pixels.shape[:2]
    pixels *= np.float32(rng.uniform(0.8, 1.18))
    grain = rng.uniform(0.004, 0.028)
    pixels += (grain * rng.standard_normal((height, width), dtype=np.float32))[..., None]
    image = Image.fromarray((np.clip(pixels, 0, 1) * 255 + 0.5).astype(np.uint8))
    blur = rng.uniform(0, 0.0022) * min(width, height)
    return image.filter(ImageFilter.GaussianBlur(blur)) if blur > 0.25 else image
