"""Pictures like photographs, without one: light and noise of all scales, edges, and some grain."""

import io

import numpy as np
from PIL import Image, ImageDraw


def photograph(width: int, height: int, seed: int = 0, grain: float = 3.0) -> Image.Image:
    """RGB; its detail falls off towards small scales as in nature, and it has letters and edges."""
    dice = np.random.default_rng(seed)
    light = np.full((height, width, 3), 128, np.float32)
    for octave in range(1, 9):
        side = 2**octave
        shades = dice.normal(size=(side + 1, side + 1, 3)) * 60 * 0.62**octave
        for channel in range(3):
            plane = Image.fromarray(shades[..., channel].astype(np.float32))
            light[..., channel] += np.asarray(
                plane.resize((width, height), Image.Resampling.BICUBIC)
            )
    light += dice.normal(size=light.shape) * grain
    image = Image.fromarray(np.clip(light, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(60):
        x, y = int(dice.integers(0, width)), int(dice.integers(0, height))
        colour = tuple(int(value) for value in dice.integers(0, 256, 3))
        draw.rectangle((x, y, x + width // 30, y + height // 40), fill=colour)
        draw.text((y % width, x % height), "Part 4711", fill=colour, font_size=height // 40)
    return image


def jpeg(image: Image.Image, **options: object) -> bytes:
    """`image` as a JPEG of a camera's quality."""
    file = io.BytesIO()
    image.save(file, "JPEG", **{"quality": 92, **options})
    return file.getvalue()


def psnr_db(one: Image.Image, other: Image.Image) -> float:
    """Peak signal to noise of one against the other, in decibels."""
    difference = np.asarray(one, float) - np.asarray(other, float)
    return float(10 * np.log10(255**2 / max(1e-9, (difference**2).mean())))
