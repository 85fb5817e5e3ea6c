"""Setbacks: faults of infrastructure cost a job time, not its life, up to a number of them.

A head that ended, a driver that was killed, a start that failed, a stall: the job goes back to the
queue, waits, and goes on from its committed shards. No picture's attempt is counted here. What is
nobody's fault, a node that its provider takes back after notice, is counted apart.
"""

import os

FIRST_WAIT_S, LONGEST_WAIT_S = 5.0, 300.0
FIRST_CAPACITY_S, LONGEST_CAPACITY_S = 15.0, 600.0
LONGEST_NOTICE_S = 60.0  # providers give notice of half a minute to two
HANDED_BACK = os.EX_TEMPFAIL  # status of a driver that gave its shards back after such a notice


class Setback(Exception):
    """The work can't go on here, and may elsewhere or later; the text is the reason."""


class DriverDied(Setback):
    """The driver ended without a word; what is wrong with its cluster, if anything, is unknown."""


class Preempted(Exception):
    """A node is being taken back by its provider, and the driver has handed its shards back."""


def wait_s(before: int) -> float:
    """Seconds until a job is taken up again that had so many setbacks before: 5, 20, 80, …"""
    return float(min(LONGEST_WAIT_S, FIRST_WAIT_S * 4**before))


def notice_s(before: int) -> float:
    """Seconds to let a node go that has had notice, after so many notices before: 5, 10, 15, …"""
    return float(min(LONGEST_NOTICE_S, FIRST_WAIT_S * (before + 1)))


def capacity_s(before: int) -> float:
    """Seconds until offers without a node to give are tried again: 15, 30, 60, … up to ten minutes.

    A refusal costs nothing, but what is asked for too often is throttled.
    """
    return float(min(LONGEST_CAPACITY_S, FIRST_CAPACITY_S * 2 ** min(before, 16)))
