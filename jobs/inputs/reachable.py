"""Can the inputs be read: a sample of them is looked at before a cluster is raised for nothing."""

from jobs.addresses import Address, JobPaths
from jobs.errors import AccessDenied, JobFailed, ZeroshiftError
from jobs.inputs.headers import spread
from jobs.order import PinnedInput
from jobs.store.bucket import Store

SHARDS, EACH = 4, 8


def check_reachable(store: Store, paths: JobPaths, shards: int, most_denied: float) -> None:
    """`JobFailed` when more than that share of the sampled inputs is denied to us."""
    sample = _sample(store, paths, shards)
    denied = [why for why in (_denied(store, address) for address in sample) if why]
    if len(denied) > most_denied * len(sample):
        raise JobFailed(
            f"{len(denied)} of {len(sample)} sampled inputs are denied: {denied[0]}; look at the "
            "bucket's policy, the rights to its KMS key, and whether the requester pays"
        )


def _sample(store: Store, paths: JobPaths, shards: int) -> list[Address]:
    chosen = {shard * shards // SHARDS for shard in range(SHARDS)}
    found: list[Address] = []
    for shard in sorted(chosen):
        lines = store.read(paths.inputs_of(shard)).decode().split("\n")
        inputs = (PinnedInput.model_validate_json(line) for line in lines if line)
        found += spread([Address.parse(each.address) for each in inputs], EACH)
    return found


def _denied(store: Store, address: Address) -> str | None:
    try:
        store.look(address)
    except AccessDenied as error:
        return str(error)
    except ZeroshiftError:
        return None  # its row will say so
    return None
