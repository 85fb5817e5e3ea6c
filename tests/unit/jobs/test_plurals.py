"""Numbers and nouns agree."""

import pytest

from jobs.plurals import counted


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (counted(1, "picture"), "1 picture"),
        (counted(0, "picture"), "0 pictures"),
        (counted(12345, "picture"), "12,345 pictures"),
        (counted(1, "entry has", "entries have"), "1 entry has"),
        (counted(2, "entry has", "entries have"), "2 entries have"),
    ],
)
def test_a_number_and_its_noun_agree(said, wanted):
    assert said == wanted
