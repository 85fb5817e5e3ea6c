"""A rule chooses a batch's pictures and gives its job what it says."""

import pytest

from jobs.addresses import JobPaths, inbox_root
from jobs.errors import ManifestError
from jobs.settings.doors import Rule
from jobs.submit.submission import load_manifest, submit


def test_the_longest_prefix_takes_a_folder_and_the_outer_rule_leaves_it_alone(
    make_doors, make_rule, put, close, inputs
):
    outer = make_rule(output="out/{folder}/")
    inner = make_rule(prefix="inbox/line-4/night/", output="night/{folder}/")
    put("line-4/1.png", "line-4/night/x/2.png", "line-4/night/3.png")
    close("line-4")
    close("line-4/night/x")
    taken = [inputs(each) for each in make_doors(rules=(outer, inner)).look()]
    assert taken == [["1.png"], ["2.png"]]


def test_patterns_choose_the_pictures_of_a_rule(make_doors, put, close, inputs):
    put("a/1.png", "a/2.JPG", "a/notes.txt", "a/deep/3.png")
    close("a")
    [submitted] = make_doors(match=("*.png", "*.JPG")).look()
    assert sorted(inputs(submitted)) == ["1.png", "2.JPG", "3.png"]


def test_a_folder_is_remembered_under_our_own_root(store, bucket, make_doors, put, close):
    put("a/1.png")
    close("a")
    make_doors().look()
    names = {found.address.name for found in store.list(inbox_root(bucket))}
    assert "settled.json" in names
    assert len(names) == 2


def test_what_a_rule_gives_is_in_its_jobs(store, bucket, make_doors, put, close):
    put("a/1.png")
    close("a")
    doors = make_doors(task="inspection", labels={"line": "4"}, max_usd="7.5", max_runtime_s=60)
    [submitted] = doors.look()
    manifest = load_manifest(store, JobPaths.of(bucket, submitted.record.job_id))
    assert (manifest.labels, str(manifest.budget.max_usd)) == ({"line": "4"}, "7.5")
    assert manifest.budget.max_runtime_s == 60


def test_a_rule_without_a_name_is_known_by_its_prefix():
    assert Rule(prefix="in/line 4/", model="m").output_of("x") == "results/in-line-4/x/"


@pytest.mark.parametrize("output", ["inbox/a/", "inbox/"])
def test_a_job_whose_results_would_start_jobs_is_refused(
    store, bucket, make_settings, make_rule, make_manifest, put_pictures, output
):
    put_pictures(1)
    manifest = make_manifest(output=f"s3://{bucket}/{output}")
    with pytest.raises(ManifestError, match="results would start jobs"):
        submit(store, make_settings(rules=(make_rule(),)), manifest)
