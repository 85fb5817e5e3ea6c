"""Settings come from two places, and a wrong one is named with the place it came from."""

import re
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import BaseModel

from jobs.errors import SettingsError
from jobs.settings.settings import Settings, load_settings
from jobs.settings.template import settings_template

BUCKET = {"ZEROSHIFT_BUCKET": "b"}


def complaint(environ: dict[str, str], folder: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ, folder)
    line = str(caught.value)
    assert len(line.splitlines()) == 1
    return line


def write(folder: Path, text: str, name: str = "zeroshift.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_bucket_is_enough(tmp_path):
    settings = load_settings(BUCKET, tmp_path)
    assert settings == Settings(bucket="b")
    assert settings.local.usd_per_hour == Decimal("3.60")
    assert settings.inbox.prefix is None


def test_constructing_settings_reads_no_environment(monkeypatch):
    monkeypatch.setenv("ZEROSHIFT_REGION", "elsewhere")
    assert Settings(bucket="b").region == "us-east-1"


def test_the_environment_of_the_process_is_the_default(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZEROSHIFT_BUCKET", "from-process")
    assert load_settings().bucket == "from-process"


def test_the_environment_beats_the_file_setting_by_setting(tmp_path):
    write(tmp_path, 'bucket = "file"\nregion = "file"\n[local]\ncpus = 8\nmax_nodes = 3\n')
    settings = load_settings({**BUCKET, "ZEROSHIFT_LOCAL__CPUS": "4"}, tmp_path)
    assert (settings.bucket, settings.region) == ("b", "file")
    assert (settings.local.cpus, settings.local.max_nodes) == (4, 3)


def test_another_file_can_be_named(tmp_path):
    write(tmp_path, 'bucket = "other"', "other.toml")
    assert load_settings({"ZEROSHIFT_CONFIG": "other.toml"}, tmp_path).bucket == "other"


def test_a_named_file_that_is_missing_is_an_error(tmp_path):
    line = complaint({**BUCKET, "ZEROSHIFT_CONFIG": "nowhere.toml"}, tmp_path)
    assert "nowhere.toml: can't be read: No such file" in line


def test_an_empty_variable_is_not_set(tmp_path):
    assert load_settings({**BUCKET, "ZEROSHIFT_ENDPOINT_URL": ""}, tmp_path).endpoint_url is None


def test_tags_of_a_cluster_are_no_settings(tmp_path):
    tags = {"ZEROSHIFT_CLUSTER": "c", "ZEROSHIFT_NODE": "n"}
    assert load_settings({**BUCKET, **tags}, tmp_path).bucket == "b"


def test_a_missing_bucket_says_where_to_set_it(tmp_path):
    line = complaint({}, tmp_path)
    assert line == (
        "bucket: missing; it is required; set it in zeroshift.toml or as ZEROSHIFT_BUCKET"
    )


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("ZEROSHIFT_BUKET", "ZEROSHIFT_BUCKET"),
        ("ZEROSHIFT_INBOX_MODEL", "ZEROSHIFT_INBOX__MODEL"),
        ("zeroshift_bukket", "ZEROSHIFT_BUCKET"),
    ],
)
def test_a_misspelt_variable_suggests_the_nearest_one(variable, nearest, tmp_path):
    line = complaint({variable: "x"}, tmp_path)
    assert f"environment: {variable}: unknown variable; did you mean {nearest}?" in line


def test_a_misspelt_bucket_is_one_problem(tmp_path):
    write(tmp_path, 'buckt = "b"')
    line = complaint({}, tmp_path)
    assert line.startswith("zeroshift.toml: buckt: unknown key; did you mean 'bucket'? allowed: ")
    assert "missing" not in line


def test_a_misspelt_key_in_a_group_suggests_the_nearest_one(tmp_path):
    write(tmp_path, "[local]\ncpu = 3")
    assert complaint(BUCKET, tmp_path) == (
        "zeroshift.toml: local.cpu: unknown key; did you mean 'cpus'? "
        "allowed: usd_per_hour, cpus, region, max_nodes"
    )


def test_a_key_that_pydantic_takes_for_an_argument_is_unknown_too(tmp_path):
    write(tmp_path, '_env_file = "x"')
    assert "_env_file: unknown key" in complaint(BUCKET, tmp_path)


@pytest.mark.parametrize(
    ("variable", "value", "line"),
    [
        ("LOCAL__CPUS", "two", 'found "two"; allowed: a whole number'),
        ("POLL_S", "0", 'found "0"; allowed: greater than 0'),
        ("ADDRESSING", "dns", "found \"dns\"; allowed: 'auto', 'path' or 'virtual'"),
        ("INBOX", "{", "not JSON; allowed: an object"),
        ("INBOX__PREFIX", "inbox/", "found prefix without model; allowed: both or neither"),
    ],
)
def test_a_wrong_variable_is_named(variable, value, line, tmp_path):
    found = complaint({**BUCKET, f"ZEROSHIFT_{variable}": value}, tmp_path)
    assert found.startswith("environment: ZEROSHIFT_")
    assert found.endswith(line)


def test_results_inside_the_inbox_are_refused(tmp_path):
    write(tmp_path, '[inbox]\nprefix = "in/"\nmodel = "m"\nresults_prefix = "in/results/"')
    assert "which overlap; allowed: prefixes apart" in complaint(BUCKET, tmp_path)


@pytest.mark.parametrize(
    ("text", "place"),
    [("bucket =\nregion = 1", "(at line 1, column 9)"), ("poll_s = 1\npoll_s = 2\n", "(at line 2")],
)
def test_what_is_not_toml_is_refused_with_its_place(text, place, tmp_path):
    write(tmp_path, text)
    line = complaint(BUCKET, tmp_path)
    assert "zeroshift.toml: not TOML: " in line
    assert place in line


def test_the_template_with_a_bucket_gives_the_defaults(tmp_path):
    write(tmp_path, settings_template("b"))
    assert load_settings({}, tmp_path) == Settings(bucket="b")


def test_the_values_in_the_template_are_the_defaults_and_the_examples_are_valid(tmp_path):
    text = re.sub(r"(?m)^#(?=\w)", "", settings_template())
    write(tmp_path, text)
    settings = load_settings({}, tmp_path)
    for path, value in flat(settings):
        default = dict(flat(Settings(bucket="b")))[path]
        assert value is not None
        assert default in (None, value) or path == "bucket"


GROUPS = ("inbox", "pictures", "local", "prices")


def test_every_setting_is_in_the_template_under_a_description():
    text = settings_template()
    values = tomllib.loads(re.sub(r"(?m)^#(?=\w)", "", text))
    names = {name for name, _ in flat(Settings(bucket="b"))}
    listed = {n for n, v in values.items() if not isinstance(v, dict)}
    groups = {group: inner for group, inner in values.items() if isinstance(inner, dict)}
    listed |= {f"{group}.{n}" for group, inner in groups.items() for n in inner}
    assert listed == names
    assert all(re.search(rf"(?m)^# .+\n#{name.split('.')[-1]} = ", text) for name in names)


def flat(model: BaseModel, head: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, value in model:
        inner = flat(value, f"{head}{name}.") if isinstance(value, BaseModel) else None
        found += inner if inner is not None else [(f"{head}{name}", value)]
    return found


@pytest.mark.parametrize("where", ["file", "environment"])
def test_settings_that_are_nested_too_deeply_are_one_line(tmp_path, where):
    deep = "[" * 30_000
    if where == "file":
        write(tmp_path, f"rules = {deep}")
        line = complaint(BUCKET, tmp_path)
    else:
        line = complaint({**BUCKET, "ZEROSHIFT_RULES": deep}, tmp_path)
    assert "nested too deeply" in line


@pytest.mark.parametrize("bucket", ["a bad one", "s3://b", "a/b", " ", ""])
def test_no_template_has_a_bucket_that_would_not_load(bucket):
    with pytest.raises(SettingsError, match=r"bucket: found .*; allowed: a bucket's name alone"):
        settings_template(bucket)
