"""Groups of settings of `zeroshift serve`: `[api]`, and `[webhook]` for what is told to others."""

from typing import Self

from pydantic import Field, model_validator

from jobs.manifest.forms import Url, Variable
from jobs.settings.groups import Group, example
from jobs.webhook_urls import check_url

MIB = 1024 * 1024


class Api(Group):
    """The HTTP API: what it serves, and bounds on what it takes."""

    models: tuple[str, ...] = Field(
        default=("zeroshift/parts-inspector",),
        description="Models that /v1/models lists and batches may name. A model that is a folder "
        "of the serving machine may be named by a job, too, only when it is listed.",
    )
    offer: str = Field(
        default="local",
        min_length=1,
        description="Offer that batches run on; a job's manifest says its own.",
    )
    image_hosts: tuple[str, ...] = Field(
        default=(),
        description="Hosts that pictures of a batch are fetched from by https, as "
        "images.example.com. Empty: none; data URLs and s3:// addresses need no host.",
    )
    image_s: float = Field(
        default=30.0, gt=0, description="Seconds that fetching one picture may take."
    )
    max_upload_bytes: int = Field(
        default=512 * MIB,
        ge=1,
        description="Bytes of an uploaded file. It streams to the bucket, so memory does not "
        "grow with it.",
    )
    max_line_bytes: int = Field(
        default=64 * MIB,
        ge=1024,
        description="Bytes of one line of a batch. One line is held in memory, with its pictures.",
    )
    max_requests: int = Field(
        default=50_000, ge=1, description="Lines of a batch. The default is OpenAI's own bound."
    )
    max_body_bytes: int = Field(
        default=4 * MIB,
        ge=1024,
        description="Bytes of any other request. A manifest that names its keys takes the most.",
    )
    requests_per_minute: int = Field(
        default=600,
        ge=1,
        description="Requests a minute of one key, after a burst of as many. Listeners to a "
        "job's events make one request.",
    )


class Webhook(Group):
    """Who is told that a job has ended, at least once, signed."""

    url: Url | None = Field(
        default=None,
        description="Address that is told of every job. Not set: only what a manifest names.",
        json_schema_extra=example("https://hooks.example.com/zeroshift"),
    )
    allowed: tuple[str, ...] = Field(
        default=(),
        description="Addresses that a manifest's webhook may begin with, each with a slash after "
        "its host. Empty: none, since a request to anywhere could be asked of us.",
    )
    secret_variable: Variable = Field(
        default="WEBHOOK_SECRET",
        description="Name of the environment variable with the key that messages are signed with. "
        "The key itself is never a setting.",
    )

    @model_validator(mode="after")
    def _whole_hosts(self) -> Self:
        for prefix in self.allowed:
            scheme, slashes, rest = prefix.partition("://")
            if scheme not in ("https", "http") or not slashes or "/" not in rest.lstrip("/"):
                raise ValueError(f"found allowed {prefix!r}; allowed: https://HOST/ with a slash")
            check_url(prefix)
        return self

    def check(self, url: str) -> None:
        """`ValueError` with what is allowed, when `url` may not be told of a job."""
        if url == self.url:
            return
        check_url(url)
        if not url.startswith(self.allowed):
            allowed = ", ".join(self.allowed) or "none; see the setting webhook.allowed"
            raise ValueError(f"found {url!r}; allowed: what begins with {allowed}")

    def allows(self, url: str) -> bool:
        try:
            self.check(url)
        except ValueError:
            return False
        return True
