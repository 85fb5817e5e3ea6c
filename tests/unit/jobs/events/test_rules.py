"""A key comes under one rule or none, and it can be said why; rules that clash are refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from jobs.addresses import Address
from jobs.cli.commands import app
from jobs.errors import SettingsError
from jobs.events.rules import Hit, Miss, hit
from jobs.settings.doors import Rule
from jobs.settings.settings import load_settings

RULES = (
    Rule(prefix="in/", model="m", match=("*.jpg",)),
    Rule(prefix="in/line-4/", model="m", name="four"),
)


def at(key):
    return hit(RULES, Address("b", key))


@pytest.mark.parametrize(
    ("key", "rule", "folder", "inner"),
    [
        ("in/a/1.jpg", "in/", "in/a/", "1.jpg"),
        ("in/a/deep/1.jpg", "in/", "in/a/", "deep/1.jpg"),
        ("in/a/_SUCCESS", "in/", "in/a/", "_SUCCESS"),
        ("in/line-4/x/1.png", "four", "in/line-4/x/", "1.png"),
        ("in/line-44/1.jpg", "in/", "in/line-44/", "1.jpg"),
    ],
)
def test_the_longest_prefix_of_a_key_is_its_rule(key, rule, folder, inner):
    found = at(key)
    assert isinstance(found, Hit)
    assert (found.rule.known_as, found.folder.key, found.inner) == (rule, folder, inner)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("out/1.jpg", "no rule has a prefix of it; prefixes: in/, in/line-4/"),
        ("in/1.jpg", "it lies in no folder under in/"),
        ("in/line-4/1.jpg", "rule 'four': it lies in no folder under in/line-4/"),
        ("in/a/", "it is a folder"),
        ("in/a/b/", "it is a folder"),
        ("in//1.jpg", "it lies in no folder"),
        ("in/a/1.png", "none of its patterns *.jpg fits"),
        ("in/a/deep/_SUCCESS", "a marker below the folder closes nothing"),
        ("zeroshift/queue/x", "it lies under zeroshift/, which is our own"),
    ],
)
def test_why_a_key_comes_under_no_rule_is_said(key, reason):
    found = at(key)
    assert isinstance(found, Miss)
    assert reason in found.reason


@given(st.text())
def test_every_key_has_an_answer(key):
    assert isinstance(at(key), Hit | Miss)
    assert isinstance(at(f"in/{key}"), Hit | Miss)


def complaint(tmp_path, text):
    (tmp_path / "zeroshift.toml").write_text(f'bucket = "b"\n{text}')
    with pytest.raises(SettingsError) as caught:
        load_settings({}, tmp_path)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


def table(**values):
    lines = {"prefix": "in/", "model": "m", **values}
    return "[[rules]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in lines.items())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (table() + table(name="b"), "found two rules for 'in/'"),
        (table(name="x") + table(name="x", prefix="b/"), "found two rules 'x'; allowed: each name"),
        (table(output="in/out/{folder}/"), "which overlap: results would start jobs"),
        (table() + table(prefix="o/", output="in/a/{folder}/"), "which overlap"),
        (table(output="{folder}/"), "found output '{folder}/'; allowed: one apart from"),
        (table(output="out/"), "without {folder}; allowed: {folder}, and {rule} beside it"),
        (table(output="out/{folder}/{day}/"), "with {day}; allowed"),
        (table(output="out/{folder.__class__}/"), "with {folder.__class__}; allowed"),
        (table(output="out/{folder:>99999999}/"), "allowed: {folder}"),
        (table(output="out/{folder/"), "found output"),
        (
            table(output="out/{folder}/") + table(prefix="b/", output="out/{folder}/"),
            "allowed: an output for each rule, as with {rule}",
        ),
        (table(prefix="zeroshift/jobs/"), "allowed: one apart from zeroshift/"),
        (table(output="zeroshift/{folder}/"), "allowed: one apart from zeroshift/"),
        (table(prefix="in"), "allowed: "),
        (table(quiet="60"), "unknown key; did you mean 'quiet_s'?"),
        (table(closed_by="done"), "allowed: '_SUCCESS', 'manifest.json' or 'quiet'"),
        (table() + '[inbox]\nprefix = "in/"\nmodel = "m"', "found two rules for 'in/'"),
        (table(output="in2/{folder}/") + '[inbox]\nprefix = "in2/"\nmodel = "m"', "which overlap"),
    ],
)
def test_rules_that_can_not_be_are_refused_in_one_line(tmp_path, text, line):
    assert line in complaint(tmp_path, text)


def test_nested_rules_and_the_inbox_beside_them_are_fine(tmp_path):
    text = table() + table(prefix="in/line-4/") + '[inbox]\nprefix = "inbox/"\nmodel = "m"'
    (tmp_path / "zeroshift.toml").write_text(f'bucket = "b"\n{text}')
    known = load_settings({}, tmp_path).all_rules
    assert [rule.known_as for rule in known] == ["in/", "in/line-4/", "[inbox]"]


@pytest.fixture
def cli(tmp_path, monkeypatch):
    text = table(prefix="inbox/line-4/", name="four") + table(match=["*.jpg"], closed_by="quiet")
    (tmp_path / "zeroshift.toml").write_text(f'bucket = "b"\n{text}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROSHIFT_CONFIG", raising=False)
    return lambda *arguments: CliRunner().invoke(app, ["rules", *arguments])


def test_a_dry_run_says_which_rule_a_key_hits_and_why(cli):
    found = cli("test", "inbox/line-4/x/1.png")
    assert found.exit_code == 0
    assert found.output == (
        "s3://b/inbox/line-4/x/1.png: rule 'four' (the longest prefix of it is inbox/line-4/): a "
        "picture of the batch s3://b/inbox/line-4/x/, closed by _SUCCESS; m, inspection, to "
        "s3://b/results/four/x/\n"
    )


def test_a_dry_run_says_why_there_is_none_and_ends_with_1(cli):
    found = cli("test", "in/a/1.png", "s3://other/x", "--json")
    assert found.exit_code == 1
    assert [(each["rule"], each["why"]) for each in json.loads(found.stdout)] == [
        (None, "rule 'in/': none of its patterns *.jpg fits"),
        (None, "another bucket than b"),
    ]


@pytest.mark.parametrize(
    ("key", "role"),
    [
        ("in/a/_SUCCESS", "closes the batch"),
        ("in/a/manifest.json", "no picture, and does not close it: quiet does"),
        ("inbox/line-4/x/manifest.json", "no picture, and does not close it: _SUCCESS does"),
        ("inbox/line-4/x/_SUCCESS", "closes the batch"),
    ],
)
def test_a_dry_run_tells_markers_from_pictures(cli, key, role):
    assert role in cli("test", key).output


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("inbox/line-4/a\nb/1.png", r"a picture of the batch s3://b/inbox/line-4/a\nb/,"),
        ("inbox/line-4/a/\x1b[31m1.png", r"inbox/line-4/a/\x1b[31m1.png: rule 'four'"),
        ("inbox/line-4/[red]é 日本/1.png", "[red]é 日本/, closed by"),
        ("inbox/line-4//1.png", "it lies in no folder under"),
        ("inbox/line-4/a/" + "é" * 600, "no key has more than 1024 bytes, and this one 1215"),
        ("inbox/line-4/\udcff/1.png", "has half of a surrogate pair; allowed: text"),
        ("", "no rule has a prefix of it"),
    ],
)
def test_a_dry_run_of_an_odd_key_is_one_line_that_steers_no_terminal(cli, key, said):
    output = cli("test", key).output
    assert said in output
    assert output.count("\n") == 1
    assert "\x1b" not in output


def test_rules_are_listed_the_longest_prefix_first(cli):
    lines = cli("list").output.splitlines()
    assert [line.split()[0] for line in lines] == ["prefix", "inbox/line-4/", "in/"]
