"""Residency: each place is asked where it is, and what is unknown is refused, never passed."""

import json
from dataclasses import replace

import pytest

from infra.offers import local_offer
from jobs.addresses import Address
from jobs.errors import AccessDenied, ManifestError
from jobs.offers import offers
from jobs.settings.groups import LocalOffer
from jobs.states import State
from jobs.submit.residency import lies_in, residency_gate
from jobs.submit.submission import submit

HERE = "eu-central-1"
LOCAL = replace(local_offer(), regions=(HERE,))


@pytest.fixture
def regions(store, monkeypatch):
    """By bucket, where it is; every other is in `HERE`."""
    known: dict[str, str | None] = {}
    monkeypatch.setattr(store, "region", lambda name: known.get(name, HERE))
    return known


@pytest.fixture
def gate(store, bucket, make_manifest, regions):
    def ask(offer=LOCAL, wanted=("eu-*",), ledger="ledger", **changes):
        manifest = make_manifest(residency={"regions": list(wanted)}, **changes)
        return residency_gate(store, manifest, offer, ledger)

    return ask


def test_without_a_wish_nothing_is_asked(gate, store, monkeypatch):
    monkeypatch.setattr(store, "region", lambda name: pytest.fail("asked"))
    assert gate(wanted=(), offer=None) == []


def test_all_places_that_lie_there_are_noted(gate, bucket):
    found = gate(output="s3://out/o/", model="s3://models/m/")
    assert {each.what: each.found for each in found} == {
        f"bucket of the inputs {bucket}": HERE,
        "bucket of the output out": HERE,
        "bucket of state and ledger ledger": HERE,
        "bucket of the model models": HERE,
        "offer local": HERE,
    }
    assert {each.gate for each in found} == {"residency"}


PLACES = {"in": "inputs in", "out": "output out", "ledger": "ledger ledger", "models": "model mod"}


@pytest.mark.parametrize(("place", "name"), PLACES.items(), ids=PLACES)
@pytest.mark.parametrize("where", [None, "us-east-1"])
def test_each_place_that_is_elsewhere_or_unknown_is_refused(gate, regions, place, name, where):
    regions[place] = where
    said = "is unknown" if where is None else r"is in us-east-1; allowed: eu-\*"
    inputs = {"prefix": "s3://in/pictures/"}
    with pytest.raises(ManifestError, match=rf"^residency\.regions: .*{name}.* {said}"):
        gate(inputs=inputs, output="s3://out/o/", model="s3://models/m/")


def test_inputs_in_several_buckets_are_all_asked_for(gate, store, bucket, regions):
    keys = [f"s3://{bucket}/a.png", "s3://abroad/b.png"]
    store.write(
        Address(bucket, "list.jsonl"), "\n".join(json.dumps({"key": k}) for k in keys).encode()
    )
    regions["abroad"] = "us-east-1"
    for inputs in ({"keys": keys}, {"index": f"s3://{bucket}/list.jsonl"}):
        with pytest.raises(ManifestError, match="inputs abroad is in us-east-1"):
            gate(inputs=inputs)


def test_a_bucket_that_does_not_say_is_in_an_unknown_region(gate, store, monkeypatch):
    def denied(name):
        raise AccessDenied("no")

    monkeypatch.setattr(store, "region", denied)
    with pytest.raises(ManifestError, match="is unknown"):
        gate()


def test_a_model_of_the_hub_is_refused_and_a_folder_or_a_bundled_one_is_not(gate):
    with pytest.raises(ManifestError, match="comes from a hub, whose region is unknown"):
        gate(model="Qwen/Qwen2.5-VL-7B-Instruct")
    for found in (gate(), gate(model="zeroshift/parts-inspector")):
        assert "files where the job runs" in [each.found for each in found]


def test_an_offer_must_lie_there_with_every_region_it_has(gate):
    with pytest.raises(ManifestError, match=r"offer local is unknown; set local\.region"):
        gate(replace(LOCAL, regions=()))
    with pytest.raises(ManifestError, match="offer local is in us-east-1"):
        gate(replace(LOCAL, regions=(HERE, "us-east-1")))
    with pytest.raises(ManifestError, match="no offer can do the job"):
        gate(None)


@pytest.mark.parametrize(
    ("region", "pattern", "meant"),
    [
        ("eu-central-1", "eu-*", True),
        ("EU-NORTH1", "eu-*", True),
        ("eu-west-2", "eu-*", False),  # London
        ("eu-central-2", "EU-*", False),  # Zurich
        ("eu-west-2", "eu-west-2", True),
        ("us-east-1", "eu-*", False),
        ("auto", "eu-*", False),
    ],
)
def test_the_union_is_meant_and_not_the_letters(region, pattern, meant):
    assert lies_in(region, pattern) is meant


def test_this_machine_is_where_the_settings_say(make_settings):
    assert offers(make_settings())[0].regions == ()
    assert offers(make_settings(local=LocalOffer(region=HERE)))[0].regions == (HERE,)


def test_a_controller_that_stands_elsewhere_does_not_run_the_job(
    store, make_settings, make_manifest, put_pictures, controller, load, regions, workshop
):
    put_pictures(1)
    there = make_settings(local=LocalOffer(region=HERE))
    job = submit(store, there, make_manifest(residency={"regions": [HERE]})).record
    controller(make_settings(local=LocalOffer(region="us-east-1"))).once()
    assert load(job).state is State.FAILED
    assert "offer local is in us-east-1" in load(job).reason
    assert workshop.made == []


def test_what_the_controller_found_is_in_the_receipt_once(
    store, make_settings, make_manifest, put_pictures, controller, receipt, regions
):
    put_pictures(1)
    there = make_settings(local=LocalOffer(region=HERE))
    job = submit(store, there, make_manifest(residency={"regions": [HERE]})).record
    controller(there).once()
    checked = [each for each in receipt(job)["checked"] if each["gate"] == "residency"]
    assert [each["found"] for each in checked].count(HERE) == len(checked) - 1 == 4
