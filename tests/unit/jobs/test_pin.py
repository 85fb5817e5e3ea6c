"""What is pinned is what is worked: every picture once, with its etag, cut into shards."""

import json

import pytest

from jobs.addresses import Address, JobPaths
from jobs.errors import ManifestError
from jobs.inputs.pin import LARGEST_SHARD, pin
from jobs.manifest.manifest import Inputs
from jobs.order import PinnedInput


@pytest.fixture
def paths(bucket) -> JobPaths:
    return JobPaths.of(bucket, "j")


@pytest.fixture
def pinned(store, paths):
    """Pins and reads the shards back."""

    def read(inputs: Inputs, size: int | None = None) -> list[list[PinnedInput]]:
        total, count = pin(store, paths, inputs, size)
        shards = [store.read(found.address).decode() for found in store.list(paths.inputs)]
        parsed = [
            [PinnedInput.model_validate_json(line) for line in text.splitlines()] for text in shards
        ]
        assert (sum(map(len, parsed)), len(parsed)) == (total, count)
        return parsed

    return read


def names(shards: list[list[PinnedInput]]) -> list[str]:
    return [each.address.rpartition("/")[2] for shard in shards for each in shard]


def test_a_prefix_is_pinned_without_markers_and_folders(store, bucket, pinned):
    for key in ("in/a.png", "in/_SUCCESS", "in/manifest.json", "in/", "in/sub/", "in/sub/b.png"):
        store.write(Address(bucket, key), b"x")
    shards = pinned(Inputs(prefix=f"s3://{bucket}/in/"))
    assert names(shards) == ["a.png", "b.png"]
    assert shards[0][0].etag == store.look(Address(bucket, "in/a.png")).etag
    assert shards[0][0].size == 1


def test_only_what_lies_under_the_prefix_is_pinned(store, bucket, pinned):
    for key in ("in/a", "in-2/b", "inn/c"):
        store.write(Address(bucket, key), b"x")
    assert names(pinned(Inputs(prefix=f"s3://{bucket}/in/"))) == ["a"]


@pytest.mark.parametrize("name", ["ä ö.png", "a%20b", "a\u2028b", 'q"uote', "a+b&c", "🙂"])
def test_odd_names_are_pinned_as_they_are(store, bucket, pinned, name):
    store.write(Address(bucket, f"in/{name}"), b"x")
    assert names(pinned(Inputs(prefix=f"s3://{bucket}/in/"))) == [name]


def test_keys_are_pinned_in_their_order_and_a_missing_one_stays_in_the_list(store, bucket, pinned):
    store.write(Address(bucket, "b"), b"x")
    [[gone, there]] = pinned(Inputs(keys=(f"s3://{bucket}/gone", f"s3://{bucket}/b")))
    assert (gone.address, gone.etag, gone.size) == (f"s3://{bucket}/gone", "", 0)
    assert (there.etag, there.size) != ("", 0)


@pytest.fixture
def index(store, bucket):
    def write(*lines: str) -> Inputs:
        store.write(Address(bucket, "list.jsonl"), "\n".join(lines).encode())
        return Inputs(index=f"s3://{bucket}/list.jsonl")

    return write


def test_an_index_names_the_inputs_and_may_have_empty_lines(bucket, pinned, index):
    lines = [json.dumps({"key": f"s3://{bucket}/{name}"}) for name in "ab"]
    assert names(pinned(index(lines[0], "", lines[1], ""))) == ["a", "b"]


@pytest.mark.parametrize(
    "bad", ["nonsense", "[]", '"text"', "3", "{}", '{"key": 1}', '{"key":"x"}']
)
def test_a_bad_line_of_an_index_is_named(store, bucket, paths, index, bad):
    inputs = index(json.dumps({"key": f"s3://{bucket}/a"}), "", bad)
    with pytest.raises(ManifestError, match=r"inputs\.index: .*list\.jsonl line 3 is .*allowed"):
        pin(store, paths, inputs, None)


def test_an_index_that_is_not_text_or_not_there_is_the_users_error(store, bucket, paths):
    store.write(Address(bucket, "x.jsonl"), b"\xff\xfe\x00")
    for name in ("x.jsonl", "none.jsonl"):
        with pytest.raises(ManifestError, match=r"^inputs\.index: "):
            pin(store, paths, Inputs(index=f"s3://{bucket}/{name}"), None)


def test_an_index_may_name_keys_with_line_separators(store, bucket, pinned, index):
    line = json.dumps({"key": f"s3://{bucket}/a\u2028b"}, ensure_ascii=False)
    assert names(pinned(index(line))) == ["a\u2028b"]


@pytest.mark.parametrize(
    ("count", "size", "lengths"),
    [(5, 2, [2, 2, 1]), (4, 2, [2, 2]), (1, 9, [1]), (20, None, [8, 8, 4])],
)
def test_inputs_are_cut_into_shards(bucket, pinned, count, size, lengths):
    keys = tuple(f"s3://{bucket}/{number}" for number in range(count))
    assert [len(shard) for shard in pinned(Inputs(keys=keys), size)] == lengths


def test_a_shard_is_never_larger_than_its_limit(store, bucket, paths, monkeypatch):
    monkeypatch.setattr(
        "jobs.inputs.pin._named", lambda _, text: PinnedInput(address=text, etag="", size=0)
    )
    keys = tuple(f"s3://{bucket}/{number}" for number in range(LARGEST_SHARD * 16 + 1))
    assert pin(store, paths, Inputs(keys=keys), None) == (len(keys), 17)


def test_nothing_is_pinned_from_an_empty_prefix(store, bucket, paths):
    assert pin(store, paths, Inputs(prefix=f"s3://{bucket}/none/"), None) == (0, 0)


def test_our_own_state_is_never_taken_for_pictures(store, bucket, pinned):
    for key in ("a.png", "zeroshift/jobs/j-1/record.json"):
        store.write(Address(bucket, key), b"x")
    assert names(pinned(Inputs(prefix=f"s3://{bucket}/"))) == ["a.png"]


def test_what_an_index_says_beside_the_key_is_kept(bucket, pinned, index):
    line = json.dumps({"key": f"s3://{bucket}/a", "part": 7, "label": {"verdict": "ok"}})
    [[one]] = pinned(index(line))
    assert one.fields == {"part": 7, "label": {"verdict": "ok"}}


def test_each_question_about_a_picture_is_an_input_of_its_own(bucket, pinned, index):
    line = json.dumps({"key": f"s3://{bucket}/a", "questions": ["Who?", "Where?"], "part": 7})
    [found] = pinned(index(line))
    assert [each.fields for each in found] == [
        {"part": 7, "question": "Who?"},
        {"part": 7, "question": "Where?"},
    ]
    assert len({each.address for each in found}) == 1


def test_a_line_with_several_keys_is_one_prompt_of_them_all(store, bucket, pinned):
    for name in "ab":
        store.write(Address(bucket, name), b"x")
    line = json.dumps({"keys": [f"s3://{bucket}/{name}" for name in "ab"], "part": 7})
    store.write(Address(bucket, "list.jsonl"), line.encode())
    [[one]] = pinned(Inputs(index=f"s3://{bucket}/list.jsonl", max_pictures=2))
    assert [each.address[-1] for each in one.objects] == ["a", "b"]
    assert one.fault is None
    [[one]] = pinned(Inputs(index=f"s3://{bucket}/list.jsonl"))
    assert one.fault.code == "group_too_large"


@pytest.mark.parametrize("questions", ["Who?", [1], {"a": 1}])
def test_questions_that_are_no_list_of_texts_are_named(store, bucket, paths, index, questions):
    inputs = index(json.dumps({"key": f"s3://{bucket}/a", "questions": questions}))
    with pytest.raises(ManifestError, match=r"line 1 is .*allowed"):
        pin(store, paths, inputs, None)


def test_pictures_of_a_folder_are_pinned_as_one_input(store, bucket, pinned):
    for key in ("in/1/a.png", "in/1/b.png", "in/2/c.png"):
        store.write(Address(bucket, key), b"x")
    [found] = pinned(Inputs(prefix=f"s3://{bucket}/in/", group_by="folder"))
    assert [(each.group, len(each.objects)) for each in found] == [("in/1", 2), ("in/2", 1)]
    assert found[0].others[0].etag == store.look(Address(bucket, "in/1/b.png")).etag


@pytest.mark.parametrize(
    "broken", ['"\\ud800"', '"a\\udfffb"', '{"\\ud83d": 1}', "[" * 300 + "]" * 300]
)
def test_fields_that_a_worker_can_not_read_are_the_fault_of_their_row_alone(
    store, bucket, pinned, broken
):
    for name in ("a", "b"):
        store.write(Address(bucket, f"in/{name}"), b"x")
    lines = f'{{"key": "s3://{bucket}/in/a", "part": {broken}}}\n'
    lines += f'{{"key": "s3://{bucket}/in/b", "part": "\\ud83d\\ude42"}}\n'
    store.write(Address(bucket, "i.jsonl"), lines.encode())
    [[first, second]] = pinned(Inputs(index=f"s3://{bucket}/i.jsonl"))
    assert first.fault is not None
    assert (first.fault.code, first.fields) == ("fields_unreadable", {})
    assert (second.fault, second.fields) == (None, {"part": "🙂"})


def test_a_question_that_a_worker_can_not_read_is_the_fault_of_its_row_alone(store, bucket, pinned):
    store.write(Address(bucket, "in/a"), b"x")
    line = f'{{"key": "s3://{bucket}/in/a", "questions": ["a?", "\\ud800?"]}}'
    store.write(Address(bucket, "i.jsonl"), line.encode())
    [[good, bad]] = pinned(Inputs(index=f"s3://{bucket}/i.jsonl"))
    assert good.fault is None
    assert bad.fault is not None
    assert bad.fault.code == "fields_unreadable"


def test_a_key_with_half_of_a_surrogate_pair_is_no_address(store, bucket, pinned):
    line = f'{{"key": "s3://{bucket}/in/\\ud800"}}'
    store.write(Address(bucket, "i.jsonl"), line.encode())
    with pytest.raises(ManifestError, match="line 1"):
        pinned(Inputs(index=f"s3://{bucket}/i.jsonl"))
