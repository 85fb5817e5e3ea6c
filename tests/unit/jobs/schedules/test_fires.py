"""A year of schedules in many zones fires as a model says that knows no cron library.

The model goes through every minute of the year in UTC, reads what a clock in the zone shows, and
matches that against the fields. Fixed times and intervals are told apart as Debian's cron does it.
"""

import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

import pytest

from jobs.errors import UserError
from jobs.schedules.fires import check_cron, find_zone, fires

ZONES = [
    "America/New_York",
    "Europe/London",
    "America/Santiago",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "UTC",
]
SPANS = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 6)}
MINUTE = timedelta(minutes=1)
START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)


def field(text, name):
    """The values of a field: stars, lists, ranges and steps, and no more."""
    low, high = SPANS[name]
    values = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = low, high
        else:
            first, _, end = span.partition("-")
            first, last = int(first), int(end or first)
        values |= set(range(first, last + 1, int(step or 1)))
    return values


class Model:
    """The expected moments of a year, by brute force.

    Every local minute is sorted by what it reads, with the moment that it comes at, or, where it is
    skipped, that of the minute that comes in its stead.
    """

    def __init__(self, zone):
        self.by_time = defaultdict(list)
        zone, moment = ZoneInfo(zone), START - timedelta(days=2)
        before = latest = moment.astimezone(zone).replace(tzinfo=None) - MINUTE
        while moment < END + timedelta(days=2):
            local = moment.astimezone(zone).replace(tzinfo=None)
            if local != before + MINUTE:  # the clock has been set
                skipped = before + MINUTE
                while skipped < local:
                    self._add(moment, skipped, "skipped" if skipped > latest else "again")
                    skipped += MINUTE
            self._add(moment, local, "first" if local > latest else "again")
            latest = max(latest, local)
            before, moment = local, moment + MINUTE

    def _add(self, moment, local, how):
        self.by_time[local.hour, local.minute].append((moment, local, how))

    def expected(self, expression):
        texts = dict(zip(SPANS, expression.split(), strict=True))
        wanted = {name: field(text, name) for name, text in texts.items()}
        star = texts["day"].startswith("*") or texts["weekday"].startswith("*")
        fixed = texts["minute"][0] != "*" and texts["hour"][0] != "*"
        counts = ("first", "skipped") if fixed else ("first", "again")

        def on_day(local):
            day = local.day in wanted["day"]
            weekday = local.isoweekday() % 7 in wanted["weekday"]
            return local.month in wanted["month"] and (day and weekday if star else day or weekday)

        times = [(hour, minute) for hour in wanted["hour"] for minute in wanted["minute"]]
        return sorted(
            {
                moment
                for time in times
                for moment, local, how in self.by_time[time]
                if how in counts and START < moment < END and on_day(local)
            }
        )


EXPRESSIONS = [
    "30 1 * * *",
    "30 2 * * *",
    "0 0 * * *",
    "15,45 1-3 * * *",
    "0 3 * * 0",
    "0 6 1,15 * 1",
    "59 23 * 4,10 *",
    "*/15 * * 3,10 *",
    "0 * * * *",
    "0 */6 * * *",
    "*/10 2 * * *",
    "30 */2 * 3-11 1-5",
    "* 1 * 10,11 *",
]


@pytest.mark.parametrize("zone", ZONES)
def test_a_year_fires_as_a_model_says_that_goes_minute_by_minute(zone):
    model = Model(zone)
    for expression in EXPRESSIONS:
        found = fires(expression, ZoneInfo(zone), START.timestamp())
        listed = list(takewhile(lambda moment: moment < END, found))
        assert listed == model.expected(expression), expression


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        (
            "America/New_York",
            "30 1 * * *",
            "2026-11-01T00:00",
            ["2026-11-01T05:30", "2026-11-02T06:30"],
        ),
        (
            "Europe/London",
            "30 1 * * *",
            "2026-10-24T23:00",
            ["2026-10-25T00:30", "2026-10-26T01:30"],
        ),
        (
            "America/New_York",
            "30 2 * * *",
            "2026-03-08T00:00",
            ["2026-03-08T07:00", "2026-03-09T06:30"],
        ),
        (
            "America/Santiago",
            "0 0 * * *",
            "2026-09-06T00:00",
            ["2026-09-06T04:00", "2026-09-07T03:00"],
        ),
        (
            "Australia/Lord_Howe",
            "15 2 * * *",
            "2026-10-03T12:00",
            ["2026-10-03T15:30", "2026-10-04T15:15"],
        ),
        (
            "Australia/Lord_Howe",
            "0 */6 * * *",
            "2026-10-03T13:00",
            ["2026-10-03T13:30", "2026-10-03T19:00"],
        ),
        (
            "America/New_York",
            "0,30 2,3 * * *",
            "2026-03-08T05:00",
            ["2026-03-08T07:00", "2026-03-08T07:30"],
        ),
        (
            "America/New_York",
            "*/30 1 * * *",
            "2026-11-01T04:00",
            ["2026-11-01T05:00", "2026-11-01T05:30", "2026-11-01T06:00", "2026-11-01T06:30"],
        ),
    ],
)
def test_known_days_on_which_clocks_change(zone, expression, after, expected):
    found = fires(expression, ZoneInfo(zone), utc(after).timestamp())
    assert list(islice(found, len(expected))) == [utc(each) for each in expected]


def test_the_moment_itself_is_not_after_itself():
    at = utc("2026-06-01T06:00").timestamp()
    assert next(fires("0 6 * * *", ZoneInfo("UTC"), at)) == utc("2026-06-02T06:00")
    assert next(fires("0 6 * * *", ZoneInfo("UTC"), at - 0.5)) == utc("2026-06-01T06:00")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", "did you mean 'Europe/Berlin'?"),
        ("berlin", "did you mean 'Europe/Berlin'?"),
        ("New York", "did you mean 'America/New_York'?"),
        ("Nowhere/Atall12345", "unknown; allowed: names such as"),
        ("", "unknown; allowed"),
        ("../../etc/passwd", "unknown"),
    ],
)
def test_an_unknown_time_zone_is_one_line_with_the_nearest(name, hint):
    with pytest.raises(UserError) as caught:
        find_zone(name)
    assert hint in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("expression", "line"),
    [
        ("* * * *", "4 fields; allowed: five"),
        ("0 * * * * *", "6 fields; allowed: five"),
        ("61 * * * *", "bad minute; allowed: five fields"),
        ("0 25 * * *", "bad hour"),
        ("0 0 30 2 *", "bad day-of-month, or none that such a month has"),
        ("@daily", "1 field; did you mean '0 0 * * *'? allowed: five"),
        ("@reboot", "1 field; allowed: five"),
        ("0 0 31 4,6 *", "none that such a month has"),
        ("", "0 fields"),
    ],
)
def test_a_bad_expression_is_one_line_with_what_is_allowed(expression, line):
    with pytest.raises(UserError) as caught:
        check_cron(expression)
    assert line in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "meant"),
    [("UTC+2", "Etc/GMT-2"), ("GMT-05:00", "Etc/GMT+5"), ("+0100", "Etc/GMT-1"), ("Z", "UTC")],
)
def test_an_offset_is_answered_with_the_zone_that_has_it(name, meant):
    """Whose sign is the other way round in the database, so that nobody gets it right by heart."""
    with pytest.raises(UserError, match=rf"unknown; did you mean '{re.escape(meant)}'\?"):
        find_zone(name)


@pytest.mark.parametrize("name", ["localtime", "Factory", "posixrules"])
def test_a_zone_that_each_machine_reads_otherwise_is_refused(name):
    with pytest.raises(UserError, match=r"unknown; .*allowed: names such as"):
        find_zone(name)


@pytest.mark.parametrize("name", ["EST5EDT", "Etc/GMT+5", "EST", "CET", "GMT"])
def test_an_odd_zone_that_the_database_knows_is_taken(name):
    assert find_zone(name).key == name


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("0 0 L * *", "2026-06-30T00:00"),
        ("0 0 LW * *", "2026-06-30T00:00"),
        ("0 0 * * FRI#2", "2026-06-12T00:00"),
        ("0 0 * * 5L", "2026-06-26T00:00"),
        ("0 6 * * mon-fri", "2026-06-02T06:00"),
        ("0 6 * JUL *", "2026-07-01T06:00"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
    ],
)
def test_last_days_nth_days_and_names_fire(expression, first):
    check_cron(expression)
    at = utc("2026-06-01T12:00").timestamp()
    assert next(fires(expression, ZoneInfo("UTC"), at)) == utc(first)
