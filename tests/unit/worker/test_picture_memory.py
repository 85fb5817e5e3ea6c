"""Giants: eight honest pictures of 100 megapixels in flight stay under their bound of memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.photographs import jpeg, photograph
from worker.pictures import Limits
from worker.pictures.costs import decode_mib
from worker.pictures.stills import open_still

BOUND_MIB = 1536
GIANT = (12000, 8400)


@pytest.mark.slow
def test_eight_giants_in_flight_stay_under_one_and_a_half_gibibytes(tmp_path: Path):
    large = photograph(1500, 1050).resize(GIANT, Image.Resampling.BICUBIC)
    plain, progressive = (jpeg(large, progressive=each, subsampling=0) for each in (False, True))
    for number in range(8):
        (tmp_path / f"{number}.jpg").write_bytes(progressive if number < 3 else plain)
    run = subprocess.run(
        [sys.executable, "-m", "tests.memory_of_decoding", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(run.stdout)
    assert found["prepared"] == 8
    assert found["most_mib"] < BOUND_MIB


def cost_mib(data: bytes, kind: str, draft: tuple[int, int] | None = None) -> float:
    image = open_still(data, kind, Limits())
    whole = image.size
    if draft:
        image.draft("RGB", draft)
    return decode_mib(image, kind, whole, data)


def test_a_jpeg_decoded_smaller_costs_less_unless_all_its_coefficients_are_held():
    image = photograph(1600, 1200)
    plain, progressive = jpeg(image), jpeg(image, progressive=True)
    assert cost_mib(plain, "jpeg", (200, 150)) < cost_mib(plain, "jpeg") / 5
    assert cost_mib(progressive, "jpeg", (200, 150)) > 1600 * 1200 * 3 / (1 << 20)
