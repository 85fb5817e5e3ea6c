"""Our rule for sizes against the one in transformers, which the engine's processor applies."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from worker.families import QWEN_MAX_PIXELS, QWEN_MIN_PIXELS, Family

FAMILIES = [
    Family(28, QWEN_MIN_PIXELS, QWEN_MAX_PIXELS, "model_pixels"),
    Family(28, 32 * 28 * 28, 48 * 28 * 28, "model_pixels"),
    Family(32, 65536, 16777216, "relative_1000"),
]


@pytest.fixture(scope="module")
def smart_resize():
    pytest.importorskip("transformers", reason="comes with the extras cpu and gpu")
    module = "transformers.models.qwen2_vl.image_processing_qwen2_vl"
    return pytest.importorskip(module, reason="needs torch").smart_resize


@settings(deadline=None, max_examples=500)
@given(st.sampled_from(FAMILIES), st.integers(1, 9000), st.integers(1, 9000))
def test_any_size_is_that_of_transformers(smart_resize, family, width, height):
    assume(max(width, height) <= 200 * min(width, height))
    h, w = smart_resize(height, width, family.factor, family.min_pixels, family.max_pixels)
    assert family.model_size(width, height) == (w, h)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(FAMILIES), st.integers(1, 200), st.integers(1, 40))
def test_a_thin_picture_has_the_size_of_transformers_too(smart_resize, family, ratio, thickness):
    h, w = smart_resize(
        thickness, thickness * ratio, family.factor, family.min_pixels, family.max_pixels
    )
    assert family.model_size(thickness * ratio, thickness) == (w, h)


@given(st.sampled_from(FAMILIES), st.integers(1, 9000), st.integers(1, 9000))
def test_the_processor_leaves_a_prepared_picture_as_it_is(family, width, height):
    assume(max(width, height) <= 8 * min(width, height))
    size = family.model_size(width, height)
    assert family.model_size(*size) == size
