"""What a store itself tells a real `zeroshift serve` becomes one job a batch; so do bursts."""

import contextlib
import http.client
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

from jobs.addresses import Address, JobPaths
from jobs.events.doors import Doors
from jobs.queue import queued
from jobs.settings.doors import Events, Rule
from jobs.submit.submission import load_manifest

ROOT = Path(__file__).parents[4]
TOKEN = "token-of-sixteen-bytes"
ODD = ["1.png", "a b+c é 100%25 日本&=.png", 'q"uo\\te\t.png', "a\u2028b\U0001f600.png"]


@pytest.fixture
def server(request):
    """Stores that another process can reach."""
    return request.getfixturevalue(getattr(request, "param", "moto"))


@pytest.fixture
def served(store, bucket, model, tmp_path):
    """`serve --no-work` as a process, with one rule; its process and port."""
    (tmp_path / "zeroshift.toml").write_text(
        f'bucket = "{bucket}"\nendpoint_url = "{store.options.endpoint_url}"\n'
        f'[events]\ntoken_variable = "EVENTS_TOKEN"\n[[rules]]\nprefix = "inbox/"\n'
        f'model = "{model}"\n'
    )
    environ = {name: value for name, value in os.environ.items() if "ZEROSHIFT" not in name}
    process = subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", "serve", "--no-work", "--port", "0"],
        env={**environ, "PYTHONPATH": str(ROOT), "EVENTS_TOKEN": TOKEN},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    drained = threading.Thread(target=lambda: list(process.stderr), daemon=True)
    try:
        first = process.stderr.readline()
        found = re.search(r"at http://127.0.0.1:(\d+) ", first)
        assert found, first + process.stderr.read()
        drained.start()
        yield process, int(found[1])
    finally:
        process.kill()
        process.wait()
        if drained.is_alive():
            drained.join(10)
        process.stderr.close()


def post(port, body):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as one:
        one.request("POST", "/events", body, {"Authorization": f"Bearer {TOKEN}"})
        answer = one.getresponse()
        return answer.status, answer.read()


def clients(store):
    """The store's own S3 and its topics, as docs/events.md has them."""
    where = {"endpoint_url": store.options.endpoint_url, "region_name": "default"}
    sns = boto3.client("sns", **where)
    # A password goes into a topic by TLS alone; here nothing but loopback is in between.
    sns.meta.events.register(
        "before-sign.*",
        lambda request, **_: request.headers.add_header("X-Forwarded-Proto", "https"),
    )
    return boto3.client("s3", config=Config(s3={"addressing_style": "path"}), **where), sns


def subscribe(store, bucket, *ports):
    s3, sns = clients(store)
    topics = [
        sns.create_topic(
            Name=f"{bucket}-{number}",
            Attributes={"push-endpoint": f"http://any:{TOKEN}@127.0.0.1:{port}/events"},
        )["TopicArn"]
        for number, port in enumerate(ports)
    ]
    told = [
        {"Id": f"n{number}", "TopicArn": topic, "Events": ["s3:ObjectCreated:*"]}
        for number, topic in enumerate(topics)
    ]
    s3.put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"TopicConfigurations": told}
    )
    return s3


def keys_of(store, bucket):
    """The keys of each job, below the inbox."""
    manifests = [load_manifest(store, JobPaths.of(bucket, job)) for job in queued(store, bucket)]
    return sorted(
        sorted(key.partition("/inbox/")[2] for key in each.inputs.keys) for each in manifests
    )


@pytest.mark.ceph
@pytest.mark.parametrize("server", ["ceph"], indirect=True)
def test_what_ceph_tells_becomes_one_job_a_batch_however_often_it_is_told(store, bucket, served):
    """Two notifications for each object, a copy onto itself, a second marker, a part upload."""
    port = served[1]
    s3 = subscribe(store, bucket, port, port)
    for folder in ("a b", "c%2B"):
        for name in ODD:
            s3.put_object(Bucket=bucket, Key=f"inbox/{folder}/{name}", Body=b"x")
        upload = s3.create_multipart_upload(Bucket=bucket, Key=f"inbox/{folder}/big.png")
        part = {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
        tag = s3.upload_part(**part, PartNumber=1, Body=b"y")["ETag"]
        s3.complete_multipart_upload(
            **part, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": tag}]}
        )
        s3.put_object(Bucket=bucket, Key=f"inbox/{folder}/_SUCCESS", Body=b"")
        source = {"Bucket": bucket, "Key": f"inbox/{folder}/1.png"}
        s3.copy_object(
            **source, CopySource=source, MetadataDirective="REPLACE", Metadata={"n": "1"}
        )
        s3.delete_object(**source)
        s3.put_object(Bucket=bucket, Key=f"inbox/{folder}/_SUCCESS", Body=b"")
    # It pushes while the put waits for it: what is to come has come.
    names = sorted([*ODD, "big.png"])
    assert keys_of(store, bucket) == [
        [f"{folder}/{name}" for name in names] for folder in ("a b", "c%2B")
    ]


def notice(bucket, key):
    return (
        f'{{"action": "PutObject", "bucket": "{bucket}", "object": {{"key": "{key}", "size": 1}}}}'
    )


def test_what_was_answered_200_is_a_job_or_a_note_though_the_server_is_killed_at_once(
    store, bucket, served, model, make_settings
):
    process, port = served
    for key in ("inbox/a/1.png", "inbox/a/_SUCCESS"):
        store.write(Address(bucket, key), b"")
    assert post(port, notice(bucket, "inbox/a/_SUCCESS"))[0] == 200
    process.kill()
    process.wait()
    assert keys_of(store, bucket) == [["a/1.png"]]
    rules = (Rule(prefix="inbox/", model=model),)
    Doors(store, make_settings(rules=rules, events=Events(token_variable="T"))).look()
    assert len(queued(store, bucket)) == 1


def test_a_burst_at_the_webhook_is_one_job_a_batch_and_others_are_answered_meanwhile(
    store, bucket, served
):
    port = served[1]
    for folder in range(5):
        for name in ("1.png", "_SUCCESS"):
            store.write(Address(bucket, f"inbox/{folder}/{name}"), b"")
    said = []

    def burst():
        for number in range(20):
            said.append(post(port, notice(bucket, f"inbox/{number % 5}/1.png"))[0])

    threads = [threading.Thread(target=burst) for _ in range(20)]
    for each in threads:
        each.start()
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as one:
        one.request("GET", "/v1/jobs")
        assert one.getresponse().status == 200
    for each in threads:
        each.join()
    assert said == [200] * 400
    assert keys_of(store, bucket) == [[f"{folder}/1.png"] for folder in range(5)]
