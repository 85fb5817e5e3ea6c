"""Files stream into the bucket, are listed, and leave nothing when an upload breaks."""

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.addresses import Address
from jobs.api.app import make_app
from jobs.api.batch.upload import Upload
from jobs.api.problem import ApiError
from jobs.settings.api import Api
from jobs.store.memory import MemoryStore
from jobs.store.streams import PIECE, PartWriter

FILE = 'form-data; name="file"; filename="a.jsonl"'
PURPOSE = 'form-data; name="purpose"'


def form(*parts):
    return b"".join(
        b"--b\r\nContent-Disposition: " + head.encode() + b"\r\n\r\n" + body + b"\r\n"
        for head, body in parts
    ) + (b"--b--\r\n")


@pytest.fixture
def post(client):
    def send(body, kind="multipart/form-data; boundary=b"):
        return client.post("/v1/files", content=body, headers={"Content-Type": kind})

    return send


@pytest.fixture
def left(store, bucket):
    """What lies in the bucket."""
    return lambda: [str(each.address) for each in store.list(Address(bucket, ""))]


def test_a_file_comes_back_as_it_was(client, post):
    body = b'{"a": 1}\r\n--b\n\x00\xff'
    made = post(form((PURPOSE, b"batch"), (FILE, body))).json()
    assert (made["bytes"], made["filename"], made["purpose"]) == (len(body), "a.jsonl", "batch")
    assert client.get(f"/v1/files/{made['id']}/content").content == body
    assert client.get(f"/v1/files/{made['id']}").json() == made


def test_a_file_of_several_pieces_comes_back_as_it_was(client, post):
    body = bytes(range(256)) * (PIECE // 256 + 3)
    made = post(form((FILE, body), (PURPOSE, b"batch"))).json()
    assert client.get(f"/v1/files/{made['id']}/content").content == body


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (form((PURPOSE, b"batch")), "multipart/form-data; boundary=b", "'file'"),
        (form((FILE, b"x")), "multipart/form-data; boundary=b", "purpose"),
        (form((FILE, b"x"), (PURPOSE, b"vision")), "multipart/form-data; boundary=b", "vision"),
        (form((FILE, b"x"), (FILE, b"y")), "multipart/form-data; boundary=b", "two files"),
        (form((FILE, b"x"))[:-6], "multipart/form-data; boundary=b", "too early"),
        (b"nothing", "multipart/form-data; boundary=b", "broken"),
        (form((PURPOSE, b"x" * 5000)), "multipart/form-data; boundary=b", "4096 bytes"),
        (form(*[(PURPOSE, b"x")] * 17), "multipart/form-data; boundary=b", "16 parts"),
        (b"{}", "application/json", "multipart/form-data"),
        (b"", "multipart/form-data", "boundary"),
    ],
)
def test_a_wrong_form_is_one_error_and_leaves_nothing(post, left, body, kind, said):
    answer = post(body, kind)
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]
    assert left() == []


def test_a_file_that_is_too_large_is_refused_while_it_comes(store, make_settings, left):
    small = make_settings(api=Api(max_upload_bytes=100))
    client = TestClient(make_app(store, small), base_url="http://127.0.0.1")
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    body = form((FILE, b"x" * 101), (PURPOSE, b"batch"))
    assert client.post("/v1/files", content=body, headers=headers).status_code == 413
    assert left() == []


def test_an_upload_that_breaks_off_leaves_no_parts(store, bucket):
    address = Address(bucket, "x")

    def break_off():
        with PartWriter(store, address, "k") as writer:
            writer.write(b"x" * (PIECE + 1))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert not store.exists(address)
    assert store._client._parts == {}


def test_a_file_that_was_deleted_is_gone(client, post, left):
    made = post(form((FILE, b"x"), (PURPOSE, b"batch"))).json()
    assert client.delete(f"/v1/files/{made['id']}").json()["deleted"]
    assert client.get(f"/v1/files/{made['id']}").status_code == 404
    assert client.delete(f"/v1/files/{made['id']}").status_code == 404
    assert left() == []


@pytest.mark.parametrize("name", ["x", "file-", "file-../keys/a", "file-0123456789ag", "batch_00"])
def test_an_id_that_is_none_is_not_found(client, name):
    assert client.get(f"/v1/files/{name}").status_code == 404


def test_lists_can_be_of_one_purpose(client, post):
    post(form((FILE, b"x"), (PURPOSE, b"batch")))
    assert len(client.get("/v1/files", params={"purpose": "batch"}).json()["data"]) == 1
    assert client.get("/v1/files", params={"purpose": "batch_output"}).json()["data"] == []


def test_a_page_behind_an_unknown_id_is_an_error(client):
    answer = client.get("/v1/files", params={"after": "file-0123456789ab"})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "after")


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=60), st.lists(st.integers(1, 200), max_size=12))
def test_it_does_not_matter_where_a_form_is_cut(content, cuts):
    store = MemoryStore()
    store.make_bucket("b")
    address = Address("b", "x")
    upload = Upload(PartWriter(store, address, "k"), 1000)
    upload.begin("multipart/form-data; boundary=bbbbbbbbbbbbbbbb")
    whole = form((PURPOSE, b"batch"), (FILE, content)).replace(b"--b", b"--bbbbbbbbbbbbbbbb")
    for cut in (*cuts, len(whole)):
        upload.write(whole[:cut])
        whole = whole[cut:]
    upload.writer.close()
    assert (upload.ended, upload.fields, upload.filename) == (True, {"purpose": "batch"}, "a.jsonl")
    assert store.read(address) == content


def test_a_form_without_an_end_of_its_boundary_is_refused():
    upload = Upload(PartWriter(MemoryStore(), Address("b", "x"), "k"), 10)
    with pytest.raises(ApiError):
        upload.begin(f"multipart/form-data; boundary={'b' * 300}")
