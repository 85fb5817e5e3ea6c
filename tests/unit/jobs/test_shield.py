"""A teardown is not cut short by a second Ctrl-C, and afterwards Ctrl-C is what it was."""

import signal
import threading

import pytest

from jobs.clusters.shield import SHIELDED, uninterrupted


@pytest.mark.parametrize("number", SHIELDED)
def test_a_signal_passes_without_effect_until_the_block_ends(number):
    before, reached = signal.getsignal(number), False
    with uninterrupted():
        signal.raise_signal(number)
        reached = True
    assert reached
    assert signal.getsignal(number) is before


def test_the_handlers_come_back_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match="gone"), uninterrupted():
        raise OSError("gone")
    assert signal.getsignal(signal.SIGINT) is before


def test_in_another_thread_where_no_signal_arrives_nothing_is_changed():
    seen = []

    def inside():
        with uninterrupted():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]
