"""A model in a bucket is read by name, no further than is asked, and its weights never whole."""

from importlib.resources import files
from pathlib import Path

import pytest

from infra.errors import PlanRefused
from infra.models.find import find_spec
from jobs.addresses import Address
from jobs.errors import UserError
from jobs.store.checkpoint import StoreReader, reader_in
from jobs.submit.planning import spec_for


@pytest.fixture
def prefix(store, bucket) -> Address:
    """The bundled model's files in a bucket."""
    folder = Address(bucket, "models/parts/")
    for path in (Path(str(files("demo"))) / "model").iterdir():
        store.write(folder / path.name, path.read_bytes())
    return folder


def test_a_file_is_read_whole_or_from_its_start(store, bucket):
    store.write(Address(bucket, "m/config.json"), b"0123456789")
    for prefix in ("m", "m/"):
        reader = StoreReader(store, Address(bucket, prefix))
        assert reader.read("config.json") == b"0123456789"
        assert reader.read("config.json", 4) == b"0123"
        assert reader.read("config.json", 99) == b"0123456789"


def test_a_file_that_is_not_there_is_none(store, bucket):
    assert StoreReader(store, Address(bucket, "m/")).read("config.json") is None


def test_only_an_address_has_a_reader(store):
    assert reader_in(store, "Qwen/Qwen2.5-VL-7B-Instruct") is None
    assert reader_in(store, "/models/s3") is None
    with pytest.raises(UserError, match="is not an address"):
        reader_in(store, "s3:///x")


def test_a_model_in_a_bucket_is_the_one_that_was_put_there(store, prefix, make_manifest):
    found = spec_for(store, make_manifest(model=str(prefix)))
    here = find_spec("zeroshift/parts-inspector")
    assert (found.decoder, found.encoder, found.image) == (here.decoder, here.encoder, here.image)


def test_a_prefix_without_a_model_is_refused_in_one_line(store, bucket):
    name = f"s3://{bucket}/none/"
    with pytest.raises(PlanRefused, match=r"^model: .*none") as caught:
        find_spec(name, lambda name: reader_in(store, name))
    assert "\n" not in str(caught.value)
