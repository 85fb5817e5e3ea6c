"""Decoders run apart: a crash, a hang or a glutton costs one picture, and nothing stays behind."""

import io
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import psutil
import pytest
from PIL import Image

from tests.evil_families import SMALL, Evil
from worker.errors import PictureError, ShardFailed
from worker.pictures import Decoders, Limits, Prepared, prepare
from worker.pictures.budget import Budget, Share
from worker.pictures.decoder import Decoder

QUICK = Limits(decode_s=1.0)


def png(width: int = 60) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, 40), (200, 30, 60)).save(file, "PNG")
    return file.getvalue()


EVIL = png(66)


@pytest.fixture(scope="module")
def decoders() -> Iterator[Decoders]:
    pool = Decoders(2)
    yield pool
    pool.close()
    assert pool.pids == []


def refused(pool: Decoders, deed: str, limits: Limits = Limits()) -> PictureError:  # noqa: B008
    with pytest.raises(PictureError) as caught:
        pool.prepare(EVIL, Evil(deed), limits)
    return caught.value


def test_a_picture_comes_back_as_if_it_had_been_prepared_here(decoders):
    (apart,) = decoders.prepare(png(), SMALL, Limits())
    here = prepare(png(), SMALL, Limits())
    assert isinstance(apart, Prepared)
    assert (np.asarray(apart.image) == np.asarray(here.image)).all()
    assert replace(apart, image=here.image) == here


@pytest.mark.parametrize("data", [b"", b"no picture", png()[:50]])
def test_a_refusal_comes_back_as_if_it_had_been_refused_here(decoders, data):
    with pytest.raises(PictureError) as here:
        prepare(data, SMALL, Limits())
    with pytest.raises(PictureError) as apart:
        decoders.prepare(data, SMALL, Limits())
    assert apart.value.code == here.value.code
    assert str(apart.value) == str(here.value)


@pytest.mark.parametrize(
    ("deed", "code"),
    [
        ("segfault", "decoder_crashed"),
        ("leave", "decoder_crashed"),
        ("killed", "worker_killed"),
        ("hang", "decode_timeout"),
        ("gorge", "decode_memory"),
    ],
)
def test_what_a_decoder_dies_of_is_that_pictures_code_and_the_next_is_prepared(
    decoders, deed, code
):
    error = refused(decoders, deed, QUICK if deed == "hang" else Limits())
    assert error.code == code
    assert error.stage == "decode"
    assert len(decoders.prepare(png(), SMALL, Limits())) == 1


def test_a_picture_whose_decoder_was_killed_once_is_tried_again(decoders, tmp_path):
    assert len(decoders.prepare(EVIL, Evil("killed_once", str(tmp_path)), Limits())) == 1
    assert (tmp_path / "killed").exists()


def test_others_are_prepared_while_one_hangs_and_closing_ends_that_one():
    pool = Decoders(2)
    with ThreadPoolExecutor(9) as threads:
        hung = threads.submit(pool.prepare, EVIL, Evil("hang"), Limits(decode_s=300))
        others = [threads.submit(pool.prepare, png(), SMALL, Limits()) for _ in range(40)]
        assert all(len(other.result()) == 1 for other in others)
        assert not hung.done()
        pool.close()
        with pytest.raises(ShardFailed, match="closed"):
            hung.result()
    assert pool.pids == []


def test_a_decoder_that_hung_is_ended_by_its_id(decoders):
    decoders.prepare(png(), SMALL, Limits())
    before = set(decoders.pids)
    refused(decoders, "hang", QUICK)
    gone = before - set(decoders.pids)
    assert gone
    assert not any(psutil.pid_exists(pid) for pid in gone)


def test_a_closed_pool_leaves_no_process_and_starts_no_other():
    pool = Decoders(1)
    pool.prepare(png(), SMALL, Limits())
    (pid,) = pool.pids
    pool.close()
    pool.close()
    assert not psutil.pid_exists(pid)
    with pytest.raises(ShardFailed, match="closed"):
        pool.prepare(png(), SMALL, Limits())


def test_a_decoder_imports_no_engine_and_no_ray(decoders):
    decoders.prepare(png(), SMALL, Limits())
    (pid, *_) = decoders.pids
    with open(f"/proc/{pid}/maps") as maps:
        loaded = maps.read()
    assert "libtorch" not in loaded  # its libgomp may be there: vLLM preloads it for children
    assert "/ray/" not in loaded
    assert psutil.Process(pid).memory_info().rss < 150 << 20


@pytest.mark.parametrize("deed", ["hang", "none"])
def test_decoders_end_when_their_parent_is_killed(deed):
    parent = subprocess.Popen(
        [sys.executable, "-m", "tests.decoding_parent", deed], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    gone, left = psutil.wait_procs([child], timeout=20)
    assert gone
    assert not left


def test_giants_wait_for_each_other_and_the_greatest_goes_alone():
    budget = Budget(100)
    with Share(budget) as first, Share(budget) as second:
        first.raise_to(1000)
        through = threading.Event()
        waiting = threading.Thread(target=lambda: (second.raise_to(10), through.set()))
        waiting.start()
        assert not through.wait(0.05)
        first.give()
        assert through.wait(5)
        waiting.join()


def test_a_share_is_raised_and_never_held_twice():
    budget = Budget(100)
    with Share(budget) as share:
        share.raise_to(60)
        share.raise_to(40)
        share.raise_to(90)
        share.raise_to(100)
    assert budget.take(100) == 100


def test_a_decoder_that_is_closed_while_it_starts_leaves_no_process(monkeypatch):
    started = []

    class ClosedMeanwhile(subprocess.Popen):
        def __init__(self, *args, **more):
            super().__init__(*args, **more)
            started.append(self)
            decoder.close()

    monkeypatch.setattr("worker.pictures.decoder.subprocess.Popen", ClosedMeanwhile)
    decoder = Decoder(512)
    with pytest.raises(ShardFailed, match="closed"):
        decoder.do(None, None)
    assert started[0].poll() is not None
    assert decoder.pid is None
