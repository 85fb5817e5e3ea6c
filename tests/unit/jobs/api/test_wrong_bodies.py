"""What is wrong with a request is one line in our own words, and names its parameter."""

import pytest

from jobs.api.batch.routes import NewBatch
from tests.unit.jobs.test_every_mistake import WRONG, check, places_in

GOOD = {"input_file_id": "file-0", "endpoint": "/v1/chat/completions", "completion_window": "24h"}


@pytest.mark.parametrize("place", list(places_in(NewBatch)), ids=str)
def test_a_wrong_field_of_a_batch_is_one_line_in_plain_words(client, place):
    for value in WRONG[:-7]:
        answer = client.post("/v1/batches", json={**GOOD, place[0]: value})
        assert answer.status_code == 400
        said = answer.json()["error"]
        if said["param"] != "input_file_id" or place[0] == "input_file_id":
            check(said["message"], place)
            assert said["param"] == place[0]


def test_a_misspelt_field_of_a_batch_names_the_nearest(client):
    said = client.post("/v1/batches", json={**GOOD, "completion_windw": "24h"}).json()["error"]
    assert said["message"].startswith(
        "completion_windw: unknown key; did you mean 'completion_window'? allowed: input_file_id, "
    )
    assert said["param"] == "completion_windw"


@pytest.mark.parametrize(
    ("metadata", "line"),
    [
        (3, "metadata: found 3; allowed: an object"),
        ({"a": 3}, "metadata.a: found 3; allowed: text"),
        ({"": "x"}, 'metadata: found key ""; allowed: at least 1 character'),
        ({"k" * 65: "x"}, "; allowed: at most 64 characters"),
        ({"a": "x" * 513}, "; allowed: at most 512 characters"),
        ({f"{number}": "" for number in range(17)}, "; allowed: at most 16 items"),
    ],
)
def test_metadata_is_bounded_as_there(client, metadata, line):
    answer = client.post("/v1/batches", json={**GOOD, "metadata": metadata})
    assert answer.status_code == 400
    said = answer.json()["error"]["message"]
    assert said.startswith("metadata")
    assert said.endswith(line)
    assert len(said) < 200


def test_a_body_that_is_no_json_is_one_line(client):
    answer = client.post("/v1/batches", content=b"{", headers={"content-type": "application/json"})
    assert answer.status_code == 400
    said = answer.json()["error"]["message"]
    assert said.startswith("the body is not JSON: ")
    assert said.endswith("; allowed: a JSON object")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/v1/batches?limit=0", "limit: found "),
        ("/v1/files?order=up", "order: found \"up\"; allowed: 'asc' or 'desc'"),
        ("/v1/jobs?state=over", "state"),
    ],
)
def test_a_wrong_parameter_of_the_address_is_one_line(client, path, line):
    answer = client.get(path)
    assert answer.status_code == 400
    said = answer.json()["error"]["message"]
    assert said.startswith(line)
    check(said, (line.partition(":")[0],))


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"labels": {"k" * 129: ""}}, "; allowed: at most 128 characters"),
        ({"labels": {"a": "v" * 257}}, "; allowed: at most 256 characters"),
        ({"labels": {f"{n}": "" for n in range(51)}}, "; allowed: at most 50 items"),
        ({"labels": {"a": None}}, "manifest: labels.a: found null; allowed: text"),
    ],
)
def test_labels_of_a_job_are_bounded(client, bucket, body, line):
    manifest = {"inputs": {"prefix": f"s3://{bucket}/in/"}, "model": "m", **body}
    answer = client.post("/v1/jobs", json=manifest)
    assert answer.status_code == 400
    said = answer.json()["error"]["message"]
    assert said.startswith("manifest: labels")
    assert said.endswith(line)
    assert len(said) < 300
