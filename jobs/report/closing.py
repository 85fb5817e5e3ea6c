"""The report of a job that closes: written under the fence, when the manifest wants one.

The page is for looking at, and no job's results depend on it: what goes wrong while it is made is
logged. A claim that is lost, or a store that is away, still stops whoever closes the job.
"""

import logging

from jobs.addresses import Address, JobPaths
from jobs.errors import TemporaryError
from jobs.fence import Fence
from jobs.order import Order
from jobs.receipt import read_receipt
from jobs.report.pictures import CHUNKS, KIND
from jobs.report.write import PAGE, write_report

log = logging.getLogger("zeroshift")


def report_at_close(fence: Fence, paths: JobPaths, output: Address) -> None:
    """Write the page of a job whose rows and receipt lie in `output`."""
    try:
        order = Order.model_validate_json(fence.store.read(paths.order))
        there = {each for each in fence.survey(output / "report") if _is_ours(each)}
        written = _write(fence, paths, output) if order.thumbs else []
        for each in sorted(there - {output / name for name in written}):
            # Of an earlier job that ended without success. No store deletes on a condition.
            fence.write(each, b"", KIND)
    except TemporaryError:
        raise
    except Exception:
        log.exception("%s: no report could be written", paths.job_id)


def _is_ours(address: Address) -> bool:
    return address.name == PAGE or address.name.startswith(CHUNKS)


def _write(fence: Fence, paths: JobPaths, output: Address) -> list[str]:
    receipt = read_receipt(fence.store.read(output / "receipt.json"))

    def write(name: str, body: bytes, kind: str) -> None:
        fence.write(output / name, body, kind)

    return write_report(fence.store, paths, output, receipt, write)
