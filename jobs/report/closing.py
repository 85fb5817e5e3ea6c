"""The report of a job that closes: written under the fence, when the manifest wants one; once more
when its bill is final.

The page is for looking at, and no job's results depend on it: what goes wrong while it is made is
logged. A claim that is lost, or a store that is away, still stops whoever closes the job.
"""

import logging

from jobs.addresses import Address, JobPaths
from jobs.cost.receipt import read_receipt, receipt_of
from jobs.errors import TemporaryError
from jobs.order import Order
from jobs.record import Record
from jobs.report.page import PAGE
from jobs.report.pictures import CHUNKS, KIND
from jobs.report.write import finish_report, write_report
from jobs.store.bucket import Store
from jobs.store.fence import Fence

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


def report_when_final(store: Store, record: Record) -> None:
    """Put the receipt of an ended job, which is final by now, into its page, if it has one."""
    output = Address.parse(record.output)

    def write(name: str, body: bytes, kind: str) -> None:
        store.write(output / name, body, kind)

    try:
        receipt = receipt_of(store, record)
        if receipt is not None:
            finish_report(store, output, receipt, write)
    except TemporaryError:
        raise
    except Exception:
        log.exception("%s: its report could not be finished", record.job_id)


def _is_ours(address: Address) -> bool:
    return address.name == PAGE or address.name.startswith(CHUNKS)


def _write(fence: Fence, paths: JobPaths, output: Address) -> list[str]:
    receipt = read_receipt(fence.store.read(output / "receipt.json"))

    def write(name: str, body: bytes, kind: str) -> None:
        fence.write(output / name, body, kind)

    return write_report(fence.store, paths, output, receipt, write)
