"""The commonest errors of a job that goes wrong, with an example of each."""

from collections import Counter
from collections.abc import Mapping

from jobs.addresses import JobPaths
from jobs.closing.reconcile import ShardReader
from jobs.errors import RowsMissing
from jobs.order import Marker
from jobs.store.bucket import Store

SHOWN = 3
SHARDS_READ = 8  # enough to tell what is common


def commonest(store: Store, paths: JobPaths, markers: Mapping[int, Marker]) -> str:
    """`image_truncated (31, such as s3://…), …`; empty when no rows can be read."""
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    failed = [marker for _, marker in sorted(markers.items()) if marker.errors]
    for marker in failed[:SHARDS_READ]:
        try:
            rows = ShardReader(store, paths).rows(marker)
        except RowsMissing:
            continue
        for row in rows:
            if row.error is not None:
                counts[row.error.code] += 1
                examples.setdefault(row.error.code, row.key)
    return ", ".join(
        f"{code} ({count}, such as {examples[code]})" for code, count in counts.most_common(SHOWN)
    )
