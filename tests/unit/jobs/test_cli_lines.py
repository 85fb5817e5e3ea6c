"""What a bucket says can't write lines of its own into a log."""

import io
import logging

import pytest

from jobs.cli.lines import OneLine


@pytest.mark.parametrize("odd", ["\n", "\r", "\x1b[2J", "\u2028", "\u202e", "\x00"])
def test_a_key_with_a_line_end_stays_on_the_line_of_its_message(odd):
    logger, said = logging.Logger("test"), io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(OneLine("%(asctime)s %(message)s", "%H:%M:%S"))
    logger.addHandler(handler)
    logger.warning("%s: will look again", f"s3://b/in/a{odd}12:00:00 all is well é")
    [line] = said.getvalue().splitlines()
    assert odd not in line
    assert line.endswith("12:00:00 all is well é: will look again")
