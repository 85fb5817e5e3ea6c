"""Where it runs: settings from the environment and `zeroshift.toml`, read once at the entry.

The environment (`ZEROSHIFT_BUCKET`, `ZEROSHIFT_LOCAL__CPUS`) beats the file. The file is
`zeroshift.toml` in the working folder, or what `ZEROSHIFT_CONFIG` names. Credentials for the store
are not settings: they come from the usual AWS chain.
"""

import os
import tempfile
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from jobs.errors import SettingsError
from jobs.manifest.forms import Url, form
from jobs.problems import Problem, one_line, problems_of, shown_path
from jobs.settings.api import Api, Webhook
from jobs.settings.budgets import Budgets
from jobs.settings.doors import Events, Rule, Rules, inbox_rule, refuse_clashes
from jobs.settings.groups import Inbox, LocalOffer, OwnOffers, Pictures, Prices, example
from jobs.settings.sources import (
    DELIMITER,
    FILE,
    PREFIX,
    config_file,
    given_as,
    merged,
    read_file,
    read_variables,
    unknown_keys,
    unknown_variables,
)

Letters = Annotated[str, *form(r"[A-Za-z]{2}", "two letters, as EU, DE or US")]


class Settings(BaseSettings):
    """Where Zeroshift runs. Constructing it reads nothing; `load_settings` does."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        env_prefix=PREFIX,
        env_nested_delimiter=DELIMITER,
        env_ignore_empty=True,
    )

    bucket: Annotated[str, *form(r"[^/\s:]+", "a bucket's name alone, as my-bucket")] = Field(
        description="Bucket that holds Zeroshift's state under zeroshift/, and the inbox: its name "
        "alone. Required. Change it only while no job runs: the jobs stay behind.",
        json_schema_extra=example("my-bucket"),
    )
    endpoint_url: Url | None = Field(
        default=None,
        description="Address of an S3-compatible store. Not set: AWS.",
        json_schema_extra=example("http://127.0.0.1:9000"),
    )
    region: str = Field(
        default="us-east-1",
        min_length=1,
        description="Region of the bucket. Most stores other than AWS's take the default.",
    )
    addressing: Literal["auto", "path", "virtual"] = Field(
        default="auto",
        description="Whether the bucket stands in the path or in the host name. auto: path with an "
        "endpoint_url, where host names of buckets rarely resolve, else virtual.",
    )
    checksums: Literal["auto", "when_supported", "when_required"] = Field(
        default="auto",
        description="When the client adds checksums to requests. auto: when_required with an "
        "endpoint_url, as older stores reject them, else when_supported.",
    )
    idle_window_s: Annotated[float, Field(ge=0)] | Literal["auto"] = Field(
        default="auto",
        description="Seconds that an idle cluster waits for the next job before it goes down. "
        "auto: what was learned from the jobs so far, and else as long as waiting costs less than "
        "the restart that it saves (docs/policy.md). A number is always waited; 0 never waits.",
    )
    poll_s: float = Field(
        default=1.0,
        gt=0,
        description="Seconds between two looks of the controller at the bucket. Raise it when "
        "requests to the store cost more than a late start.",
    )
    cluster_lease_s: float = Field(
        default=60.0,
        gt=0,
        description="Seconds after which a cluster ends itself, and its job is free for another "
        "controller, when the controller is gone or can't reach the bucket. Raise it when the "
        "bucket is away for longer now and then; what a killed controller leaves runs so long.",
    )
    cluster_lifetime_s: float = Field(
        default=86400.0,
        gt=0,
        description="Seconds after which a cluster ends itself whatever it does, in the middle of "
        "a job too: the most that a fault of ours can cost. One past half of it takes no new job.",
    )
    max_setbacks: int = Field(
        default=3,
        ge=0,
        description="Faults of infrastructure that a job survives: a head that ended, a driver "
        "that was killed, a start that failed, a stall. It then waits 5, 20, 80 s and goes on from "
        "its committed shards; after a driver's death on a sound cluster it goes on at once. 0 "
        "fails it at the first.",
    )
    max_preemptions: int = Field(
        default=20,
        ge=0,
        description="Times that a job gives its shards back because a provider takes a node away "
        "after notice. Apart from max_setbacks, and generous, since each costs little and is "
        "nobody's fault; without an end, a job could live on notices alone.",
    )
    max_no_capacity_s: float = Field(
        default=86400.0,
        ge=0,
        description="Seconds that a job waits for an offer that has a node to give, with pauses of "
        "15 s to 10 minutes; a wait costs nothing and is no setback. A day, since capacity often "
        "comes back at night. 0 fails the job when every offer has refused once.",
    )
    stall_s: float = Field(
        default=1800.0,
        gt=0,
        description="Seconds without a committed shard, once the engine answers, that count as a "
        "stall. Raise it when one shard takes longer, or make shards smaller.",
    )
    max_denied: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of a sample of the inputs that may be denied to us before the job fails "
        "without a cluster.",
    )
    shard_size: int | None = Field(
        default=None,
        ge=1,
        description="Pictures in a shard, which is what is redone after a fault. Not set: the "
        "planner chooses by the size of the job.",
        json_schema_extra=example(64),
    )
    work_dir: Path = Field(
        default_factory=lambda: Path(tempfile.gettempdir()),
        description="Folder for the logs and sockets of a cluster, each in a folder of its own "
        "that goes with it. Default: the system's temporary folder. Keep it short: the path of a "
        "socket is limited to 107 bytes.",
    )
    jurisdiction: Letters | None = Field(
        default=None,
        description="Where you are, as two letters: EU or the code of a country, such as DE or "
        "US; members of the European Union count as EU. Licences that exclude a jurisdiction are "
        "held against it. Not set: models under such a licence are refused.",
        json_schema_extra=example("EU"),
    )
    offers: OwnOffers = Field(
        default=(),
        description="Offers of your own beside the catalogue's, better written as tables "
        "[[offers]] at the end of this file: provider, instance, gpu, gpus, regions, eu, "
        "usd_per_hour, granularity_s, minimum_s and more (docs/catalogue.md).",
    )
    budgets: Budgets = Field(
        default=(),
        description="What may be spent in a month, a day or an hour, by all jobs or by those with "
        "a label, better written as tables [[budgets]] at the end of this file: usd, per, label, "
        "kind, webhook (docs/cost-commands.md).",
    )
    rules: Rules = Field(
        default=(),
        description="Which folders of the bucket become jobs by themselves, better written as "
        "tables [[rules]] at the end of this file: prefix, model, task, closed_by, output and more "
        "(docs/events.md).",
    )
    inbox: Inbox = Field(default=Inbox(), description="")
    events: Events = Field(default=Events(), description="")
    pictures: Pictures = Field(default=Pictures(), description="")
    local: LocalOffer = Field(default=LocalOffer(), description="")
    prices: Prices = Field(default=Prices(), description="")
    api: Api = Field(default=Api(), description="")
    webhook: Webhook = Field(default=Webhook(), description="")

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        """The rules, and the one that `[inbox]` is short for."""
        short = inbox_rule(self.inbox)
        return self.rules if short is None else (*self.rules, short)

    @model_validator(mode="after")
    def _rules_apart(self) -> Self:
        refuse_clashes(self.all_rules)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def load_settings(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """The settings of this process; `SettingsError` in one line that names the key and its source.

    environ   variables; default: those of the process
    folder    where `zeroshift.toml` is looked for; default: the working folder
    """
    environ = os.environ if environ is None else environ
    file = config_file(environ, Path.cwd() if folder is None else folder)
    given = read_file(file) if file else {}
    variables = read_variables(Settings, environ)
    unknown = unknown_variables(Settings, environ) | unknown_keys(Settings, given, file)
    values = merged(given, variables)
    known = {key: value for key, value in values.items() if key in Settings.model_fields}
    try:
        settings, invalid = Settings(**known), []
    except ValidationError as error:
        found = problems_of(error, Settings)
        # A misspelt key is one mistake, not a missing key and an unknown one.
        left = [p for p in found if not (p.missing and p.where[0] in unknown.values())]
        settings, invalid = None, [_located(problem, environ, file) for problem in left]
    if settings is None or unknown:
        raise SettingsError(one_line([*unknown, *invalid]))
    return settings


def _located(problem: Problem, environ: Mapping[str, str], file: Path | None) -> str:
    """The problem under the name that the value was given by."""
    # A row of a list has no variable of its own: the whole list has one.
    keys = [str(part) for part in takewhile(lambda part: isinstance(part, str), problem.where)]
    variable = given_as(keys, environ)
    if problem.missing and not variable:
        own = len(keys) == len(problem.where)
        other = f" or as {PREFIX}{DELIMITER.join(keys).upper()}" if own else ""
        return f"{problem}; set it in {FILE}{other}"
    if variable:
        rest = problem.where[variable.count(DELIMITER) + 1 :]
        place = f": {shown_path(rest)}" if rest else ""
        return f"environment: {variable}{place}: {problem.text}"
    return f"{file.name if file else FILE}: {problem}"
