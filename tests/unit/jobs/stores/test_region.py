"""Where a bucket is, by the store's own word."""

import pytest

from jobs.errors import NotFound
from jobs.store.bucket import Store, StoreOptions


def test_the_region_of_a_bucket_is_the_stores_own_word(store, bucket):
    store._client.create_bucket(
        Bucket=f"{bucket}-eu", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    assert (store.region(bucket), store.region(f"{bucket}-eu")) == ("us-east-1", "eu-central-1")
    with pytest.raises(NotFound, match="no-such-bucket"):
        store.region("no-such-bucket")


class Silent:
    """A client of a store that does not say where its buckets are."""

    def head_bucket(self, Bucket: str) -> dict[str, object]:  # noqa: N803
        return {"ResponseMetadata": {"HTTPHeaders": {}}}


def test_a_region_that_the_store_does_not_say_is_unknown(monkeypatch, bucket):
    store = Store(StoreOptions("http://127.0.0.1:9"))
    monkeypatch.setattr(store, "_client", Silent())
    assert store.region(bucket) is None
