"""A job moves only as the table allows, and its record changes only under the claim."""

from itertools import pairwise

import pytest

from jobs.addresses import JobPaths
from jobs.errors import Conflict, IllegalMove, NotFound, StoreUnavailable
from jobs.record import ATTEMPTS, WRITES_KEPT, Counts, Record, RecordFile, claimed
from jobs.states import MOVES, State, check_move

WAY = [State.QUEUED, State.PLANNING, State.PROVISIONING, State.RUNNING, State.FINALIZING]
STOPS = [State.FAILED, State.CANCELLED, State.OVER_BUDGET]
ENDS = [*STOPS, State.COMPLETED, State.COMPLETED_WITH_ERRORS]


def record(**changes: object) -> Record:
    return Record(
        **{"job_id": "j", "created_at": 1.0, "output": "s3://b/o/", "model": "m"} | changes
    )


@pytest.fixture
def file(store, bucket) -> RecordFile:
    file = RecordFile(store, JobPaths.of(bucket, "j"), sleep=lambda s: None)
    file.create(record())
    return file


@pytest.mark.parametrize(("old", "new"), list(pairwise(WAY)))
def test_a_job_goes_step_by_step(old, new):
    check_move(old, new)
    backwards = MOVES[new] & set(WAY[: WAY.index(old)])
    assert backwards <= {State.QUEUED, State.PLANNING}


@pytest.mark.parametrize("old", WAY[1:])
def test_a_controller_that_stops_can_hand_the_job_back(old):
    check_move(old, State.QUEUED)


def test_a_job_can_not_skip_a_step():
    with pytest.raises(IllegalMove):
        check_move(State.QUEUED, State.RUNNING)


@pytest.mark.parametrize("old", WAY)
@pytest.mark.parametrize("stop", STOPS)
def test_a_job_can_be_stopped_wherever_it_stands(old, stop):
    assert stop in MOVES[old]


@pytest.mark.parametrize("old", WAY[1:])
def test_a_successor_plans_again_wherever_the_job_stands(old):
    assert State.PLANNING in MOVES[old]


@pytest.mark.parametrize("old", WAY[:-1])
def test_only_a_job_that_is_being_finalized_can_complete(old):
    assert not {State.COMPLETED, State.COMPLETED_WITH_ERRORS} & MOVES[old]


@pytest.mark.parametrize("old", ENDS)
@pytest.mark.parametrize("new", list(State))
def test_a_job_that_has_ended_stays_so_but_for_a_higher_budget(old, new):
    if (old, new) == (State.OVER_BUDGET, State.QUEUED):
        return check_move(old, new)
    with pytest.raises(IllegalMove, match=r"allowed: (none, it has ended|queued)"):
        check_move(old, new)


def test_ended_and_succeeded_are_read_off_the_state():
    assert {state for state in State if state.ended} == set(ENDS)
    assert [state.value for state in State if state.succeeded] == [
        "completed",
        "completed_with_errors",
    ]


def test_a_move_notes_when_and_why():
    moved = record().moved(State.PLANNING, 5.0).moved(State.FAILED, 7.0, "no luck")
    assert moved.entered == {"planning": 5.0, "failed": 7.0}
    assert (moved.state, moved.reason) == (State.FAILED, "no luck")


def test_a_record_is_created_once(file):
    assert file.create(record(model="other")) is False
    assert file.load().model == "m"


def test_a_record_that_is_not_there_is_not_found(store, bucket):
    with pytest.raises(NotFound):
        RecordFile(store, JobPaths.of(bucket, "none")).load()


def test_a_change_that_lost_a_race_is_applied_to_the_newer_record(file):
    seen = []

    def change(old: Record) -> Record:
        if not seen:
            file.change(lambda other: other.model_copy(update={"owner": "first"}))
        seen.append(old.owner)
        return old.model_copy(update={"shards": 4})

    file.change(change)
    assert seen == ["", "first"]
    assert (file.load().owner, file.load().shards) == ("first", 4)


def test_a_change_that_changes_nothing_writes_nothing(file, store, bucket):
    before = store.look(JobPaths.of(bucket, "j").record).etag
    assert file.change(lambda old: old) == file.load()
    assert store.look(JobPaths.of(bucket, "j").record).etag == before


def test_a_change_that_always_loses_gives_up(file):
    def change(old: Record) -> Record:
        newer = old.model_copy(update={"shards": old.shards + 1})
        file.change(lambda _: newer)
        return old.model_copy(update={"owner": "me"})

    with pytest.raises(StoreUnavailable, match=f"{ATTEMPTS} times"):
        file.change(change)


def test_whoever_lost_the_epoch_can_change_nothing(file):
    mine = file.change(lambda old: claimed(old, "me", 0.0, 30.0))
    file.change(lambda old: claimed(old, "you", 31.0, 30.0))
    with pytest.raises(Conflict, match="taken over by you"):
        file.change(lambda old: old.model_copy(update={"shards": 9}), mine.epoch)
    assert file.load().shards == 0


def test_a_free_job_is_claimed_under_the_next_epoch():
    mine = claimed(record(epoch=3), "me", 100.0, 30.0)
    assert (mine.owner, mine.epoch, mine.lease_until) == ("me", 4, 130.0)


def test_a_job_under_somebodys_lease_is_left_alone():
    theirs = record(owner="you", epoch=1, lease_until=130.0)
    assert claimed(theirs, "me", 129.0, 30.0) == theirs


def test_a_job_whose_lease_ran_out_is_taken_over():
    assert claimed(record(owner="you", epoch=1, lease_until=130.0), "me", 131.0, 30.0).epoch == 2


def test_a_job_that_has_ended_is_never_claimed():
    done = record(state=State.COMPLETED)
    assert claimed(done, "me", 1.0, 30.0) == done


class Lossy:
    """A store whose next conditional write takes effect and is then told as `error`."""

    def __init__(self, store):
        self._store = store
        self.error: Exception | None = None

    def __getattr__(self, name):
        return getattr(self._store, name)

    def replace(self, *arguments):
        etag = self._store.replace(*arguments)
        self._fail()
        return etag

    def create(self, *arguments):
        etag = self._store.create(*arguments)
        self._fail()
        return etag

    def _fail(self):
        error, self.error = self.error, None
        if error:
            raise error


@pytest.fixture
def lossy(store) -> Lossy:
    return Lossy(store)


@pytest.fixture
def lossy_file(lossy, bucket, file) -> RecordFile:
    lossy.error = Conflict("changed by somebody else")
    return RecordFile(lossy, JobPaths.of(bucket, "j"), sleep=lambda s: None)


def test_a_move_whose_answer_was_lost_is_not_made_again(file, lossy_file):
    way = [State.PLANNING, State.PROVISIONING]
    for state in way:
        file.change(lambda old, state=state: old.moved(state, 1.0))
    assert lossy_file.change(lambda old: old.moved(State.RUNNING, 2.0)).state is State.RUNNING
    assert file.load().entered["running"] == 2.0


def test_a_claim_whose_answer_was_lost_is_one_claim(file, lossy_file):
    assert lossy_file.change(lambda old: claimed(old, "me", 0.0, 30.0)).epoch == 1
    assert file.load().epoch == 1


def test_a_lost_answer_is_found_under_what_others_wrote_since(file, lossy, bucket):
    class Overtaken(Lossy):
        def _fail(self):
            if self.error:
                file.change(lambda old: old.model_copy(update={"cancel_requested": True}))
            super()._fail()

    store = Overtaken(lossy)
    store.error = Conflict("changed by somebody else")
    mine = RecordFile(store, JobPaths.of(bucket, "j"), sleep=lambda s: None)
    found = mine.change(lambda old: old.model_copy(update={"shards": old.shards + 1}))
    assert (found.shards, found.cancel_requested) == (1, True)


def test_a_first_record_whose_answer_was_lost_is_ones_own(lossy, bucket):
    lossy.error = Conflict("changed by somebody else")
    file = RecordFile(lossy, JobPaths.of(bucket, "new"))
    assert file.create(record(job_id="new")) is True
    assert file.create(record(job_id="new", created_at=2.0)) is False


def test_old_records_without_ids_of_writes_are_read(file, store, bucket):
    path = JobPaths.of(bucket, "j").record
    plain = record().model_dump_json(exclude={"writes"}).encode()
    store.write(path, plain)
    assert file.change(lambda old: old.model_copy(update={"shards": 2})).shards == 2


def test_a_record_keeps_the_ids_of_its_latest_writes_alone(file):
    for shards in range(1, 20):
        file.change(lambda old, shards=shards: old.model_copy(update={"shards": shards}))
    assert len(file.load().writes) == WRITES_KEPT


def test_the_pace_of_a_job_is_that_of_its_last_claim_until_its_work_ended():
    entered = {"running": 100.0}
    record = Record(job_id="j", created_at=1.0, output="s3://b/o/", model="m", entered=entered)
    assert record.pictures_a_second(110.0) is None
    counted = record.model_copy(update={"counts": Counts(total=60, done=50), "done_before": 30})
    assert counted.pictures_a_second(110.0) == 2.0
    ended = counted.model_copy(update={"entered": {**entered, "cancelled": 105.0}})
    assert ended.pictures_a_second(110.0) == ended.pictures_a_second(900.0) == 4.0
