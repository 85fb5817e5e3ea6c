"""Offers are found by name, or refused in one line that names those there are."""

from decimal import Decimal

import pytest

from infra.errors import InfraError, NoSuchOffer
from infra.offers import find_offer, local_offer

LOCAL = local_offer(Decimal("3.60"), cpus=2, max_nodes=1)


def test_an_offer_is_found_by_its_name():
    assert find_offer("local", (LOCAL,)) is LOCAL


def test_the_local_offer_is_billed_by_the_second_at_the_price_that_was_set():
    assert LOCAL.usd_per_hour == Decimal("3.60")
    assert (LOCAL.granularity_s, LOCAL.minimum_s) == (1, 0)
    assert LOCAL.dated == "set by configuration"


@pytest.mark.parametrize("name", ["h100", "", "Local", "local "])
def test_an_unknown_offer_is_refused_with_those_there_are(name):
    with pytest.raises(NoSuchOffer) as caught:
        find_offer(name, (LOCAL,))
    assert str(caught.value) == f"hardware.offer: no offer {name!r}; allowed: local"
    assert isinstance(caught.value, InfraError)
