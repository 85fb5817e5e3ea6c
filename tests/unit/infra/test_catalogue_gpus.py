"""GPUs are found however people write them, and what torch sees of them is known or estimated."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.catalogue.dates import known_date
from infra.catalogue.gpus import UNSEEN_GIB, USABLE_SHARE, find_gpu, gpus
from infra.catalogue.names import nearest, plain
from infra.errors import InfraError, UnknownGpu


def test_every_gpu_has_sources_and_a_date():
    for gpu in gpus().values():
        assert gpu.sources
        assert all(gpu.sources)
        assert known_date(gpu.dated)


def test_no_name_or_alias_means_two_gpus():
    names = Counter(plain(name) for gpu in gpus().values() for name in (gpu.name, *gpu.aliases))
    assert [name for name, count in names.items() if count > 1] == []


def test_figures_are_positive_or_unknown():
    figures = ("reported_mib", "total_gib", "bandwidth_gbs", "bf16_tflops", "fp8_tflops")
    for gpu in gpus().values():
        assert all(getattr(gpu, name) is None or getattr(gpu, name) > 0 for name in figures)


def test_torch_sees_less_than_the_driver_and_the_estimate_is_near_every_known_pair():
    pairs = [g for g in gpus().values() if g.total_gib is not None and g.reported_mib]
    assert len(pairs) >= 8
    for gpu in pairs:
        unseen = gpu.reported_mib / 1024 - gpu.total_gib
        assert 0.2 < unseen < 1.9, gpu.name
        if gpu.total_gib > 24:
            assert unseen == pytest.approx(UNSEEN_GIB, abs=0.3), gpu.name


def test_memory_is_the_published_total_else_an_estimate_that_says_so_else_unknown():
    assert (find_gpu("H100").memory_gib, find_gpu("H100").estimated) == (79.18, False)
    assert (find_gpu("L40S").memory_gib, find_gpu("L40S").estimated) == (44.4, False)
    pcie = find_gpu("H100-PCIe")
    assert pcie.estimated
    assert pcie.memory_gib == pytest.approx(81559 / 1024 - UNSEEN_GIB)
    l20 = find_gpu("L20")
    assert (l20.memory_gib, l20.estimated) == (48 * USABLE_SHARE, True)
    nothing = replace(l20, nominal_gib=None)
    assert (nothing.memory_gib, nothing.estimated) == (None, False)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("h100", "H100"),
        ("H100-SXM-80GB", "H100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("H200-SXM-141GB", "H200"),
        ("A100-SXM-80", "A100-80"),
        ("A100-PCIe-80", "A100-PCIe"),
        ("A100-SXM-40", "A100-40"),
        ("H100-NVL-94", "H100-NVL"),
        ("GH200-96", "GH200"),
        ("rtx 3090 24gb", "RTX-3090"),
        ("A800-SXM4-80GB", "A800"),
        ("H100 96GB", "H100-96"),
        ("rtx pro 6000", "RTX-PRO-6000"),
    ],
)
def test_a_gpu_is_found_by_the_names_in_use(written, name):
    assert find_gpu(written).name == name


def test_a_family_of_cards_is_no_card_and_its_members_are_suggested():
    with pytest.raises(UnknownGpu) as caught:
        find_gpu("A100")
    assert "did you mean A100-80 or A100-PCIe or A100-40?" in str(caught.value)
    assert isinstance(caught.value, InfraError)


@pytest.mark.parametrize("written", ["H1000", "zzz", "", "  ", "-"])
def test_an_unknown_gpu_is_one_line_with_those_there_are(written):
    with pytest.raises(UnknownGpu) as caught:
        find_gpu(written)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    assert line.startswith(f"no GPU {written!r}; ")
    assert "allowed: H200, H100, " in line


@given(st.sampled_from(sorted(gpus())), st.data())
def test_case_spaces_and_hyphens_do_not_matter(name, data):
    written = "".join(
        data.draw(st.sampled_from([c.lower(), c.upper(), f" {c}", f"{c}-"])) for c in name
    )
    assert find_gpu(written).name == name


@given(st.text(max_size=30))
def test_whatever_is_written_is_a_card_or_one_line(written):
    known = {plain(name) for gpu in gpus().values() for name in (gpu.name, *gpu.aliases)}
    assert set(nearest(written, gpus())) <= set(gpus())
    if plain(written) in known:
        assert find_gpu(written).name in gpus()
        return
    with pytest.raises(UnknownGpu) as caught:
        find_gpu(written)
    assert len(str(caught.value).splitlines()) == 1
