"""Inspection: a verdict, and every defect with its kind, where it is, and how severe if asked."""

from collections.abc import Sequence

from jobs.tasks.task import BOX, Task, choice, list_of, of_object

KINDS = ("scratch", "hole", "stain", "dent")
SEVERITIES = ("minor", "major", "critical")
MOST_DEFECTS = 8


def inspection(kinds: Sequence[str] = KINDS, severity: bool = False) -> Task:
    """By default word for word, and key for key, what the bundled model was trained on."""
    said = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
    graded = {"severity": choice(*SEVERITIES)} if severity else {}
    grade = f" its severity ({', '.join(SEVERITIES[:-1])} or {SEVERITIES[-1]})" if severity else ""
    asked = f"its kind ({said}){',' + grade if severity else ''} and its bbox in pixels."
    defect = of_object(kind=choice(*kinds), **graded, bbox=BOX)
    return Task(
        name="inspection",
        prompt=(
            "Inspect this machined part. Answer with a verdict, ok or defective, and every "
            f"defect: {asked}"
        ),
        schema=of_object(verdict=choice("ok", "defective"), defects=list_of(defect, MOST_DEFECTS)),
        box_field="bbox",
        checks=("verdict_matches_defects",),
    )
