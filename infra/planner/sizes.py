"""Units of memory. A GiB is 2^30 bytes, as vLLM and the driver count."""

GIB = 2**30


def to_gib(size_bytes: float) -> float:
    return size_bytes / GIB
