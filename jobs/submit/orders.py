"""From what was asked to what the worker is told: the order of a job."""

from typing import Any

from infra.planner.plan import Plan
from jobs.manifest.manifest import Manifest
from jobs.order import Order, PictureLimits, Sampling
from jobs.record import Record
from jobs.schema.worst_case import default_max_tokens
from jobs.tasks import resolve_task
from jobs.tasks.task import Task
from jobs.thumbs import side_for

USUAL = PictureLimits()


def make_order(
    record: Record,
    manifest: Manifest,
    plan: Plan,
    limits: PictureLimits = USUAL,
    now: float | None = None,
) -> Order:
    task = resolve_task(manifest.task)
    return Order(
        job_id=record.job_id,
        model=str(plan.model.folder),
        engine=_engine(manifest, plan),
        replicas=plan.nodes,
        cpus=plan.cpus,
        prompt=task.prompt,
        prompt_fields=task.fields,
        answer_schema=task.schema,
        answer_format=manifest.answer.answer_format(),
        box_field=task.box_field,
        checks=task.checks,
        sampling=_sampling(manifest, task),
        retry=manifest.answer.retry,
        confidence=manifest.answer.confidence,
        thumbs=manifest.answer.report,
        thumbs_side=side_for(record.counts.total * manifest.pictures_per_prompt),
        grammar_check=manifest.answer.sample(record.counts.total),
        min_pixels=manifest.image.min_pixels,
        max_pixels=manifest.image.max_pixels,
        image_tokens=manifest.image.most_tokens,
        frames=manifest.image.frames,
        video=manifest.image.video,
        together=manifest.image.together,
        max_pictures=manifest.pictures_per_prompt,
        limits=limits,
        shards=record.shards,
        written_at=now,
    )


def _engine(manifest: Manifest, plan: Plan) -> dict[str, Any]:
    """The planner's settings, with room for as many pictures as one prompt may hold."""
    limits = dict(plan.engine.get("limit_mm_per_prompt", {}))
    limits["image"] = max(limits.get("image", 1), manifest.pictures_per_prompt)
    return {**plan.engine, "limit_mm_per_prompt": limits}


def _sampling(manifest: Manifest, task: Task) -> Sampling:
    """What the manifest says, then what the task wants, then the defaults."""
    given = manifest.sampling.model_dump(exclude_unset=True)
    chosen = {**manifest.sampling.model_dump(), **task.sampling, **given}
    chosen["max_tokens"] = chosen["max_tokens"] or default_max_tokens(task.schema)
    return Sampling(**chosen)
