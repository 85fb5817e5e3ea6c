"""Pictures with the found boxes drawn on them, for a person to look at."""

from typing import Any

from PIL import Image, ImageDraw, ImageFont

from demo.batch import Shot

COLOURS = {
    "scratch": (255, 196, 0),
    "hole": (255, 64, 64),
    "stain": (64, 224, 255),
    "dent": (255, 96, 255),
}


def annotate(shot: Shot, output: dict[str, Any]) -> Image.Image:
    """The picture with its verdict and each defect's box and kind."""
    image = shot.part.image.copy()
    draw = ImageDraw.Draw(image)
    side = min(image.size)
    font = ImageFont.load_default(size=max(12, side // 32))
    for defect in output["defects"]:
        colour = COLOURS[defect["kind"]]
        x1, y1, x2, y2 = defect["bbox"]
        draw.rectangle((x1, y1, x2, y2), outline=colour, width=max(2, side // 250))
        _label(draw, (x1, y1), defect["kind"], colour, font, above=True)
    shade = (255, 64, 64) if output["defects"] else (96, 224, 96)
    _label(draw, (side // 60, side // 60), output["verdict"], shade, font, above=False)
    return image


def _label(
    draw: ImageDraw.ImageDraw,
    at: tuple[int, int],
    text: str,
    colour: tuple[int, int, int],
    font: Any,
    above: bool,
) -> None:
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    height, pad = bottom - top, 4
    x, y = at[0], max(0, at[1] - height - 3 * pad) if above else at[1]
    draw.rectangle((x, y, x + right - left + 2 * pad, y + height + 2 * pad), fill=(0, 0, 0))
    draw.text((x + pad - left, y + pad - top), text, fill=colour, font=font)
