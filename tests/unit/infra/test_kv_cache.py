"""The KV cache: bytes of a token on a rank, and what pictures at once take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.models import catalogued_models
from infra.planner.kv_cache import (
    CONCURRENCIES,
    explosion,
    heads_replicate,
    kv_bytes_per_token,
    kv_heads_of_rank,
)
from infra.planner.sizes import GIB
from infra.planner.weights import divides

MODELS = catalogued_models()
QWEN_7B = MODELS["Qwen/Qwen2.5-VL-7B-Instruct"].decoder
models = st.sampled_from(sorted(MODELS)).map(MODELS.__getitem__)
ranks = st.sampled_from([1, 2, 4, 8])


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Qwen/Qwen2.5-VL-3B-Instruct", 36_864),
        ("Qwen/Qwen2.5-VL-7B-Instruct", 57_344),
        ("Qwen/Qwen2.5-VL-72B-Instruct", 327_680),
        ("Qwen/Qwen3-VL-4B-Instruct", 147_456),
        ("Qwen/Qwen3-VL-30B-A3B-Instruct", 98_304),
    ],
)
def test_a_token_takes_key_and_value_of_every_layer_at_16_bits(name, size):
    assert kv_bytes_per_token(MODELS[name].decoder, 1) == size


def test_heads_are_copied_once_there_are_more_ranks_than_heads():
    assert [kv_heads_of_rank(QWEN_7B, n) for n in (1, 2, 4, 8)] == [4, 2, 1, 1]
    assert kv_bytes_per_token(QWEN_7B, 8) == kv_bytes_per_token(QWEN_7B, 4)
    assert [heads_replicate(QWEN_7B, n) for n in (1, 4, 8)] == [False, False, True]


@given(models, ranks)
def test_more_ranks_never_mean_more_bytes_a_token_on_each(spec, count):
    decoder = spec.decoder
    assert kv_bytes_per_token(decoder, 2 * count) <= kv_bytes_per_token(decoder, count)


@given(models, ranks)
def test_ranks_share_a_token_out_evenly_until_heads_are_copied(spec, count):
    if divides(spec, count) and not heads_replicate(spec.decoder, count):
        whole = kv_bytes_per_token(spec.decoder, 1)
        assert count * kv_bytes_per_token(spec.decoder, count) == whole


@given(models, ranks, st.integers(1, 40_000), st.integers(0, 3_000_000))
def test_pictures_at_once_take_as_many_times_the_cache(spec, count, sequence, room):
    rows = explosion(spec.decoder, count, sequence, room)
    assert tuple(row.pictures for row in rows) == CONCURRENCIES
    for row in rows:
        assert row.tokens == row.pictures * sequence
        assert row.gib == row.tokens * kv_bytes_per_token(spec.decoder, count) / GIB
        assert row.fits is (row.tokens <= room)


def test_the_table_says_from_where_on_it_is_too_many():
    rows = explosion(QWEN_7B, 1, 3_000, 100_000)
    assert [row.fits for row in rows] == [True, True, True, False]
