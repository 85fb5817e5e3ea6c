"""What a run of a schedule asks, and whether its runs can ever be jobs."""

from jobs.addresses import ROOT, Address
from jobs.errors import UserError
from jobs.manifest.manifest import Budget, Inputs, Manifest, overlap
from jobs.schedules.schedule import Run, Schedule, run_id
from jobs.settings.settings import Settings
from jobs.submit.planning import plan_for


def request_of(settings: Settings, schedule: Schedule, run: Run) -> Manifest:
    """The manifest of a run that has its keys; the same run asks the same job."""
    plan, this = schedule.plan, run.id
    return Manifest(
        name=plan.name,
        inputs=Inputs(keys=run.keys),
        output=f"{plan.output}{this}/",
        model=plan.model,
        task=plan.task,
        labels=plan.labels,
        budget=Budget(max_usd=plan.max_usd),
        idempotency_key=f"schedule {settings.bucket} {plan.name} {this}",
    )


def refuse_rules(settings: Settings, schedule: Schedule) -> None:
    """`UserError` when a rule makes jobs of the same pictures, or of the results."""
    for rule in settings.all_rules:
        for what, text in (("prefix", schedule.plan.prefix), ("output", schedule.plan.output)):
            place = Address.parse(text)
            if place.bucket == settings.bucket and overlap(place.key, rule.prefix):
                raise UserError(
                    f"{what} {text} overlaps the prefix {rule.prefix!r} of rule "
                    f"{rule.known_as!r}; allowed: prefixes apart"
                )


def refuse_jobs(settings: Settings, schedule: Schedule) -> None:
    """`UserError` when no run could ever become a job: its model or its places are wrong."""
    plan, now = schedule.plan, schedule.created_at
    if overlap(plan.prefix, plan.output):
        raise UserError(
            f"output {plan.output} overlaps prefix {plan.prefix}; allowed: places apart"
        )
    _refuse_own_places(settings, schedule)
    keys = (f"{plan.prefix}1.jpg",)
    run = Run(
        id=run_id(now), schedule=plan.name, nominal=now, owner="", claimed_until=now, keys=keys
    )
    plan_for(request_of(settings, schedule, run), settings)


def _refuse_own_places(settings: Settings, schedule: Schedule) -> None:
    for what, text in (("prefix", schedule.plan.prefix), ("output", schedule.plan.output)):
        place = Address.parse(text)
        if place.bucket == settings.bucket and place.key.startswith(ROOT):
            raise UserError(f"{what}: {text} is Zeroshift's own; allowed: outside of {ROOT}")
