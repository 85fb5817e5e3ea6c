"""Denied inputs are found by a sample, before a cluster is raised; what failed most is told."""

import pytest

from jobs.addresses import Address, JobPaths
from jobs.closing.commonest import commonest
from jobs.closing.reconcile import read_markers
from jobs.errors import AccessDenied, JobFailed, NotFound
from jobs.inputs.reachable import check_reachable
from jobs.order import PinnedInput
from jobs.states import State

PATHS = JobPaths(Address("b", "zeroshift/jobs/j/"))


class Shelf:
    """Four shards of ten inputs, of which `denied` can't be looked at."""

    def __init__(self, denied: int, error: type[Exception] = AccessDenied) -> None:
        self.denied, self.error, self.looked = denied, error, 0

    def read(self, address: Address) -> bytes:
        shard = int(address.name.removesuffix(".jsonl"))
        inputs = (
            PinnedInput(address=f"s3://b/{shard * 10 + n}.jpg", etag="e", size=1) for n in range(10)
        )
        return "".join(each.model_dump_json() + "\n" for each in inputs).encode()

    def look(self, address: Address) -> None:
        self.looked += 1
        if self.looked <= self.denied:
            raise self.error(f"{address}: access denied (403)")


def test_a_bucket_that_denies_its_pictures_ends_the_job_with_what_to_look_at():
    with pytest.raises(JobFailed) as caught:
        check_reachable(Shelf(denied=32), PATHS, 4, most_denied=0.5)
    assert str(caught.value).startswith("32 of 32 sampled inputs are denied: s3://b/")
    assert "requester pays" in str(caught.value)


@pytest.mark.parametrize(("denied", "most"), [(0, 0.0), (16, 0.5), (32, 1.0)])
def test_as_many_may_be_denied_as_the_setting_says(denied, most):
    shelf = Shelf(denied)
    check_reachable(shelf, PATHS, 4, most)
    assert shelf.looked == 32


def test_inputs_that_are_gone_are_their_rows_error_and_no_reason_to_stop():
    check_reachable(Shelf(denied=32, error=NotFound), PATHS, 4, most_denied=0.0)


def test_a_hopeless_job_tells_its_commonest_errors_with_examples(
    store, bucket, controller, submitted, put_pictures, load
):
    for number in range(30):
        store.write(Address(bucket, f"inbox/line-4/x{number}.jpg"), b"<html>")
    put_pictures(2)
    job = submitted(
        inputs={"prefix": f"s3://{bucket}/inbox/line-4/"}, on_error={"max_error_rate": 0.1}
    )
    controller().once()
    ended = load(job)
    assert ended.state is State.FAILED
    assert "max_error_rate is 0.1; commonest: not_an_image (" in ended.reason
    paths = JobPaths.of(bucket, job.job_id)
    assert commonest(store, paths, read_markers(store, paths, {})).startswith("not_an_image (")
