"""Colours of the bill: seven classes, each with one of its own that is seen on every ground."""

import re
from importlib.resources import files
from itertools import combinations

import pytest

from jobs.cost.entry import CLASSES
from jobs.report.summary import TONES

STYLE = (files("jobs.report") / "page" / "base.css").read_text(encoding="utf-8")
LEAST_CONTRAST = 3.0  # WCAG 2.2, 1.4.11: parts of a drawing
LEAST_APART = 20.0  # CIE76; 2 is the least that is seen side by side
Colour = tuple[float, float, float]


def colours(scheme: str) -> dict[str, Colour]:
    """The style's variables, each in linear light."""
    light, dark = STYLE.split("@media screen and (prefers-color-scheme: dark)", 1)
    found = re.findall(r"--([a-z]+): #([0-9a-f]{6})", light)
    if scheme == "dark":
        found += re.findall(r"--([a-z]+): #([0-9a-f]{6})", dark)
    return {name: linear(value) for name, value in found}


def linear(value: str) -> Colour:
    red, green, blue = (int(value[at : at + 2], 16) / 255 for at in (0, 2, 4))
    return tuple(  # type: ignore[return-value]
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in (red, green, blue)
    )


def luminance(colour: Colour) -> float:
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


def contrast(one: Colour, other: Colour) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour: Colour) -> Colour:
    red, green, blue = colour
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    x, y, z = (
        each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116
        for each in (x, luminance(colour), z)
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def of_class(name: str, scheme: str) -> Colour:
    """The colour that the style gives a class, by its tone."""
    found = re.search(rf"\.tone-{TONES[name]} {{ fill: var\(--([a-z]+)\)", STYLE)
    assert found, f"{name}: the style has no tone {TONES[name]!r}"
    return colours(scheme)[found[1]]


def test_each_class_of_the_bill_has_a_tone_of_its_own():
    assert len({TONES[name] for name in CLASSES}) == len(CLASSES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "card"])
@pytest.mark.parametrize("name", CLASSES)
def test_each_class_stands_out_from_the_ground(name, ground, scheme):
    assert contrast(of_class(name, scheme), colours(scheme)[ground]) >= LEAST_CONTRAST


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("one", "other"), list(combinations(CLASSES, 2)))
def test_no_two_classes_look_alike(one, other, scheme):
    first, second = lab(of_class(one, scheme)), lab(of_class(other, scheme))
    apart = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) ** 0.5
    assert apart >= LEAST_APART
