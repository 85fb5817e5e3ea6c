"""Faults: which one a seed draws, when it strikes, and how."""

import random
from dataclasses import dataclass
from typing import cast

import psutil

from infra.clusters.local.processes import CLUSTER_TAG, NODE_TAG, tagged
from tests.chaos.lab import PICTURES, SHARD_SIZE, Lab
from tests.chaos.proxy import KINDS, Kind, Trouble

KILLS = ("engine", "replica", "raylet", "node", "notice", "head", "driver", "controller")
FAULTS = (*KILLS, *(f"s3 {kind}" for kind in KINDS))
SHARDS = PICTURES // SHARD_SIZE
LATEST = SHARDS * 4 // 5  # shards committed, beyond which a fault would find little left to spoil


@dataclass(frozen=True, slots=True)
class Fault:
    """What a seed stands for.

    after    committed shards at which it strikes; None: as soon as there is what it strikes
    cold     whether it strikes a job whose cluster has yet to be raised
    trouble  what the network does, for `lasts_s` seconds
    """

    seed: int
    name: str
    after: int | None
    cold: bool
    trouble: Trouble | None = None
    lasts_s: float = 0.0

    @property
    def moment(self) -> str:
        if self.after is not None:
            return f"{self.after} shards"
        return "cold start" if self.cold else "start"


def draw(seed: int) -> Fault:
    """Every run of as many seeds as there are faults has each once."""
    random_ = random.Random(seed)
    name = FAULTS[seed % len(FAULTS)]
    early, cold = random_.random() < 0.3, random_.random() < 0.6
    after = None if early else random_.randrange(1, LATEST)
    if not name.startswith("s3 "):
        return Fault(seed, name, after, early and cold and name != "engine")
    kind = cast(Kind, name.removeprefix("s3 "))
    trouble = Trouble((kind,), random_.choice((0.2, 0.5, 0.9)), random_.uniform(1.0, 4.0))
    return Fault(seed, name, after, early and cold, trouble, random_.uniform(2.0, 8.0))


def victims(name: str, cluster_id: str) -> list[psutil.Process]:
    """The processes whose death, or whose notice of it, is the fault `name`."""
    living = tagged(CLUSTER_TAG, cluster_id)
    words = {process: _command(process) for process in living}
    if name == "replica":
        return [p for p in living if "ServeReplica" in words[p]]
    if name == "driver":
        return [p for p in living if "-m worker work" in words[p]]
    if name == "head":
        heads = ("gcs_server", "--head")
        found = [p for p in living if any(head in words[p] for head in heads)]
        return found if any("gcs_server" in words[p] for p in found) else []
    if name == "notice":
        return [p for p in living if "local.node_process" in words[p]][:1]
    raylets = [p for p in living if "raylet/raylet" in words[p] and _node_of(p)]
    if name == "node" and raylets:
        return tagged(NODE_TAG, _node_of(raylets[0]))
    return raylets[:1]


def strike(lab: Lab, fault: Fault, cluster_id: str) -> bool:
    """Whether there was something to strike; the network's trouble ends when the caller ends it."""
    if fault.trouble is not None:
        lab.proxy.trouble(fault.trouble)
        return True
    if fault.name == "engine":
        (lab.stage / "die").touch()
        return True
    if fault.name == "controller":
        if not cluster_id:
            return False
        lab.kill_controller()
        return True
    doomed = victims(fault.name, cluster_id) if cluster_id else []
    for process in doomed:
        try:
            (process.terminate if fault.name == "notice" else process.kill)()
        except psutil.NoSuchProcess:
            continue
    return bool(doomed)


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _node_of(process: psutil.Process) -> str:
    try:
        return str(process.environ().get(NODE_TAG, ""))
    except psutil.Error:
        return ""
