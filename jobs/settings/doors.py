"""Groups of settings about what starts a job by itself: `[events]` and the tables `[[rules]]`.

A rule says which folders of the bucket are batches, when a batch is closed, and what is asked about
it; `[events]` says how the bucket tells us that something has arrived. What one rule alone can't
know, that it overlaps another, is found by `refuse_clashes`.
"""

import re
from collections.abc import Iterable
from string import Formatter
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from jobs.addresses import ROOT
from jobs.manifest.forms import Labels, Url, Usd, Variable, Within
from jobs.manifest.manifest import overlap
from jobs.manifest.task import PresetName
from jobs.settings.groups import Group, Inbox, example

PLACES = ("folder", "rule")


class Events(Group):
    """How the bucket tells what has arrived. Without any of it the prefixes are listed."""

    queue_url: Url | None = Field(
        default=None,
        description="Address of the SQS queue that gets the bucket's notifications, straight, by "
        "SNS or by EventBridge. Not set: no queue is read.",
        json_schema_extra=example("https://sqs.eu-central-1.amazonaws.com/111122223333/pictures"),
    )
    dead_letter_url: Url | None = Field(
        default=None,
        description="Address of the SQS queue for messages that nobody can read, each with the "
        "reason. Not set: they stay in the queue, for its own redrive policy.",
        json_schema_extra=example("https://sqs.eu-central-1.amazonaws.com/111122223333/unread"),
    )
    endpoint_url: Url | None = Field(
        default=None,
        description="Address of a service that speaks SQS. Not set: AWS.",
        json_schema_extra=example("http://127.0.0.1:9324"),
    )
    wait_s: int = Field(
        default=5,
        ge=0,
        le=20,
        description="Seconds that a look at the queue waits for a message. Longer is cheaper, "
        "and a controller that is told to end waits as long.",
    )
    visibility_s: int = Field(
        default=120,
        ge=10,
        le=43200,
        description="Seconds that a message is hidden from others while it is in hand; renewed "
        "four times in that time, so that it may take longer.",
    )
    list_every_s: float = Field(
        default=300.0,
        ge=0,
        description="Seconds between two listings of all the prefixes where there is a queue: "
        "events can be lost. Without a queue they are listed at every look, as poll_s says.",
    )
    token_variable: Variable | None = Field(
        default=None,
        description="Name of the environment variable that holds the bearer token of the webhook. "
        "The token itself is never a setting.",
        json_schema_extra=example("WEBHOOK_TOKEN"),
    )
    token_file: str | None = Field(
        default=None,
        min_length=1,
        description="File that holds the webhook's bearer token, instead of a variable.",
        json_schema_extra=example("/run/secrets/webhook-token"),
    )
    signing_variable: Variable | None = Field(
        default=None,
        description="Name of the environment variable that holds the key with which senders sign "
        "(HMAC-SHA256 over time and body).",
        json_schema_extra=example("WEBHOOK_KEY"),
    )
    signing_file: str | None = Field(
        default=None,
        min_length=1,
        description="File that holds that key, instead of a variable.",
        json_schema_extra=example("/run/secrets/webhook-key"),
    )
    replay_window_s: float = Field(
        default=300.0,
        gt=0,
        description="Seconds that the time of a signed request may differ from ours. What is "
        "replayed within them starts nothing twice.",
    )
    max_body_bytes: int = Field(
        default=1024 * 1024,
        ge=1,
        description="Bytes of a webhook's body. Stores send some thousand at most.",
    )

    @property
    def are_used(self) -> bool:
        """Whether events come at all, by a queue or by a webhook."""
        secrets = (self.token_variable, self.token_file, self.signing_variable, self.signing_file)
        return self.queue_url is not None or any(secrets)


class Rule(Group):
    """A table `[[rules]]`: every folder under the prefix is a batch, and becomes a job."""

    prefix: Within = Field(
        description="Prefix in the bucket, with its last slash. Of nested ones the longest wins.",
    )
    name: str | None = Field(default=None, min_length=1, description="Default: the prefix.")
    match: tuple[str, ...] = Field(
        default=(),
        description="Patterns such as *.jpg for the part of the key below the folder; * passes "
        "slashes too. Empty: everything but markers.",
    )
    closed_by: Literal["_SUCCESS", "manifest.json", "quiet"] = Field(
        default="_SUCCESS",
        description="What closes a batch: an object of that name, or that nothing has come for "
        "quiet_s. A manifest.json also says what is asked.",
    )
    quiet_s: float = Field(
        default=60.0,
        ge=1,
        description="Seconds without a new object, by the store's clock, that close a quiet batch, "
        "and what came late to one that was closed.",
    )
    max_wait_s: float | None = Field(
        default=None,
        ge=1,
        description="Seconds after the first object in which a quiet batch is closed, even if more "
        "keeps coming. Not set: no bound.",
    )
    model: str = Field(min_length=1, description="Model that is asked: it decides the cost.")
    task: PresetName = Field(default="inspection", description="Preset that is asked.")
    output: Within = Field(
        default="results/{rule}/{folder}/",
        description="Prefix for results, with {folder} and, if wanted, {rule}, its name. It must "
        "lie apart from the prefix of every rule.",
    )
    labels: Labels = Field(default={}, description="Labels of its jobs.")
    max_usd: Usd | None = Field(default=None, description="budget.max_usd of each job.")
    max_runtime_s: int | None = Field(
        default=None, gt=0, description="budget.max_runtime_s of each job."
    )
    max_batches_per_day: int = Field(
        default=100,
        ge=1,
        description="Jobs that one folder may make in 24 hours. What comes then waits, with an "
        "alarm: something may be feeding itself.",
    )

    @property
    def known_as(self) -> str:
        return self.name or self.prefix

    @property
    def output_root(self) -> str:
        """The part of `output` before its first place: everything it writes lies under it."""
        return self.output.partition("{")[0]

    def output_of(self, folder: str) -> str:
        """The prefix for the results of a batch."""
        rule = re.sub(r"[^\w-]+", "-", self.known_as).strip("-")
        return self.output.format(folder=folder, rule=rule)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if overlap(self.prefix, ROOT):
            raise ValueError(f"found prefix {self.prefix!r}; allowed: one apart from {ROOT}")
        _check_places(self.output)
        if overlap(self.output_root, ROOT):
            raise ValueError(f"found output {self.output!r}; allowed: one apart from {ROOT}")
        return self


def _check_places(output: str) -> None:
    try:
        parts = [part for part in Formatter().parse(output) if part[1] is not None]
    except ValueError as error:
        raise ValueError(
            f"found output {output!r}: {str(error).lower()}; allowed: {{folder}}, and {{rule}} "
            "beside it"
        ) from error
    places = [str(name) for _, name, _, _ in parts]
    odd = [f"{n}{spec}{how or ''}" for _, n, spec, how in parts if n not in PLACES or spec or how]
    if odd or "folder" not in places:
        found = f"output {output!r}" + (f" with {{{odd[0]}}}" if odd else " without {folder}")
        raise ValueError(f"found {found}; allowed: {{folder}}, and {{rule}} beside it")


def refuse_clashes(rules: Iterable[Rule]) -> None:
    """`ValueError` when two rules want the same keys, or one's results would start another's."""
    known = list(rules)
    for number, one in enumerate(known):
        for other in known[number + 1 :]:
            if one.prefix == other.prefix:
                raise ValueError(
                    f"found two rules for {one.prefix!r}; allowed: each prefix once, or one within "
                    "the other, where the longest wins"
                )
            if one.known_as == other.known_as:
                raise ValueError(f"found two rules {one.known_as!r}; allowed: each name once")
            if one.output_of("x") == other.output_of("x"):
                raise ValueError(
                    f"found output {one.output!r} of {one.known_as!r} and of {other.known_as!r}; "
                    "allowed: an output for each rule, as with {rule}"
                )
        for other in known:
            if overlap(one.output_root, other.prefix):
                raise ValueError(
                    f"found output {one.output!r} of {one.known_as!r} and prefix {other.prefix!r}, "
                    "which overlap: results would start jobs; allowed: prefixes apart"
                )


def inbox_rule(inbox: Inbox) -> Rule | None:
    """The group `[inbox]` as the rule that it is short for; None: nothing is watched."""
    if inbox.prefix is None or inbox.model is None:
        return None
    return Rule(
        name="[inbox]",
        prefix=inbox.prefix,
        model=inbox.model,
        task=inbox.task,
        output=_escaped(inbox.results_prefix) + "{folder}/",
    )


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _checked(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    refuse_clashes(rules)
    return rules


Rules = Annotated[tuple[Rule, ...], AfterValidator(_checked)]
