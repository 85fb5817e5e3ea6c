"""Offers that hold: this machine, the catalogue, and rows of one's own, which may replace its."""

from decimal import Decimal

import pytest

from infra.catalogue.offers import MOST_NODES, catalogued_offers
from infra.offers import find_offer, local_offer
from jobs.errors import SettingsError, UserError
from jobs.offers import offers, snapshot
from jobs.settings.groups import LocalOffer, OwnOffer
from jobs.settings.settings import Settings, load_settings

ROW = {"provider": "Acme", "instance": "Rack-1", "gpu": "h100", "gpus": 4, "usd_per_hour": "9.20"}


def with_rows(*rows: dict) -> tuple:
    return offers(Settings(bucket="b", offers=[{**ROW, **row} for row in rows]))


def complaint(tmp_path, text: str) -> str:
    (tmp_path / "zeroshift.toml").write_text(f'bucket = "b"\n[[offers]]\n{text}')
    with pytest.raises(SettingsError) as caught:
        load_settings({}, tmp_path)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


def test_without_rows_of_ones_own_there_is_this_machine_and_the_catalogue():
    assert offers(Settings(bucket="b")) == (local_offer(), *catalogued_offers())
    assert LocalOffer() == LocalOffer(usd_per_hour=local_offer().usd_per_hour)


def test_an_own_row_is_an_offer_by_its_provider_and_instance():
    own = find_offer("acme/rack-1", with_rows({}))
    assert (own.gpu, own.gpus, own.gpus_per_node) == ("H100", 4, (4,))
    assert own.usd_per_gpu_hour == Decimal("2.30")
    assert (own.granularity_s, own.minimum_s, own.eu) == (None, None, None)
    assert (own.dated, own.max_nodes) == ("set by configuration", MOST_NODES)


def test_an_own_row_with_a_catalogued_name_takes_its_place():
    found = with_rows({"name": "aws/p5.48xlarge"})
    assert len(found) == 1 + len(catalogued_offers())
    place = [offer.name for offer in found].index("aws/p5.48xlarge")
    assert found[place].usd_per_hour == Decimal("9.20")
    assert place == 1


def test_own_rows_are_read_from_the_file_and_the_environment(tmp_path):
    (tmp_path / "zeroshift.toml").write_text(
        'bucket = "b"\n[[offers]]\nprovider = "A"\ninstance = "x"\nregions = ["eu-1"]\neu = true\n'
        'gpu = "L4"\nusd_per_hour = "0.75"\ngranularity_s = 60\nminimum_s = 600\n'
    )
    own = offers(load_settings({}, tmp_path))[-1]
    assert (own.name, own.regions, own.eu, own.gpus) == ("a/x", ("eu-1",), True, 1)
    assert snapshot(own).minimum_s == 600
    given = '[{"provider": "B", "instance": "y"}]'
    assert offers(load_settings({"ZEROSHIFT_OFFERS": given}, tmp_path))[-1].name == "b/y"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('instance = "x"', "offers[0].provider: missing; it is required; set it in zeroshift.toml"),
        ('provider = "a"\ninstance = "x"\ngpuu = "L4"', "gpuu: unknown key; did you mean 'gpu'?"),
        (
            'provider = "a"\ninstance = "x"\ngpu = "L40"',
            "[0].gpu: no GPU 'L40'; did you mean",
        ),
        ('provider = "a"\ninstance = "x"\nusd_per_hour = 0', "found 0; allowed: greater than 0"),
        ('provider = "a"\ninstance = "x"\nusd_per_hour = "1e400"', "than or equal to 1000000"),
        ('provider = "a"\ninstance = "x"\nspot_usd_per_hour = "1e400"', "or equal to 1000000"),
        (f'provider = "a"\ninstance = "x"\nminimum_s = {10**18}', "than or equal to 2678400"),
        (f'provider = "a"\ninstance = "x"\ngranularity_s = {10**18}', "or equal to 2678400"),
        ('provider = "a"\ninstance = "x"\ngpus = 2', "found gpus without gpu"),
        ('provider = "a"\ninstance = "x"\nname = "local"', "found name 'local'"),
        ('provider = "a"\ninstance = "x"\ngpu = "L4"\ngpus = 0', "greater than or equal to 1"),
        ('provider = "a"\ninstance = "x"\nasync_discount = 50', "allowed: less than 1"),
        (
            'provider = "a"\ninstance = "x"\n[[offers]]\nprovider = "A"\ninstance = "X"',
            "offers: found 'a/x' twice; allowed: each name once",
        ),
    ],
)
def test_a_wrong_row_is_one_line_that_names_it(tmp_path, text, said):
    line = complaint(tmp_path, text)
    assert line.removeprefix("zeroshift.toml: ").startswith("offers")
    assert said in line


def test_every_field_of_an_own_row_is_described():
    for name, field in OwnOffer.model_fields.items():
        assert field.description, name


def test_a_bill_is_not_made_with_what_is_unknown():
    lyceum = find_offer("lyceum/h100", offers(Settings(bucket="b")))
    with pytest.raises(UserError, match="usd_per_hour of 'lyceum/h100' is unknown"):
        snapshot(lyceum)
    known = find_offer("aws/p5.48xlarge", offers(Settings(bucket="b")))
    assert snapshot(known).usd_per_hour == Decimal("55.04")
    assert snapshot(known).catalogue_date == "2026-11-09"
