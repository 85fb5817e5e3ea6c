"""Answers against labels: how right the answers are, and whether the model knows when it is not.

Pure arithmetic over rows. A label stands for one key and has the form of an answer, or a part of
it; what it leaves out is not judged.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from jobs.rows import Row

BINS = 10
SAME_THING = 0.5  # IoU from which two boxes of one kind are the same thing
Box = Sequence[float]


@dataclass
class Count:
    """Found and there, found and not there, there and not found."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float | None:
        return _share(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float | None:
        return _share(self.right, self.right + self.missed)


@dataclass
class Bin:
    """Answers whose confidence lies between `low` and the next bin's."""

    low: float
    count: int = 0
    confidence: float = 0.0
    right: int = 0


@dataclass
class Report:
    """What `zeroshift evaluate` says.

    choices      for each field with a closed choice: label, then answer, then how often
    kinds        of the things in lists: found, invented, missed, by their kind
    ious         of boxes that were matched
    bins         confidence against truth, ten equal steps; empty without confidence in the rows
    """

    labelled: int = 0
    answered: int = 0
    unanswered: int = 0
    unlabelled: int = 0
    choices: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    kinds: dict[str, Count] = field(default_factory=dict)
    ious: list[float] = field(default_factory=list)
    bins: list[Bin] = field(default_factory=lambda: [Bin(n / BINS) for n in range(BINS)])

    def accuracy(self, name: str) -> float | None:
        pairs = self.choices.get(name, Counter())
        right = sum(count for (label, answer), count in pairs.items() if label == answer)
        return _share(right, sum(pairs.values()))

    @property
    def calibration_error(self) -> float | None:
        """Mean distance between confidence and the share that is right (ECE); None: no figures."""
        total = sum(each.count for each in self.bins)
        if not total:
            return None
        return sum(abs(each.confidence - each.right) for each in self.bins) / total

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "labelled": self.labelled,
            "answered": self.answered,
            "unanswered": self.unanswered,
            "unlabelled": self.unlabelled,
            "fields": {name: self._field(name) for name in self.choices},
            "kinds": {
                kind: {**asdict(each), "precision": each.precision, "recall": each.recall}
                for kind, each in sorted(self.kinds.items())
            },
            "boxes": {
                "matched": len(self.ious),
                "median_iou": median(self.ious) if self.ious else None,
                "mean_iou": sum(self.ious) / len(self.ious) if self.ious else None,
            },
            "reliability": [_bin(each) for each in self.bins if each.count],
            "calibration_error": self.calibration_error,
        }

    def _field(self, name: str) -> dict[str, Any]:
        confusion: dict[str, dict[str, int]] = {}
        for (label, answer), count in sorted(self.choices[name].items()):
            confusion.setdefault(label, {})[answer] = count
        return {"accuracy": self.accuracy(name), "confusion": confusion}


def evaluate(rows: Iterable[Row], labels: Mapping[str, Any], schema: dict[str, Any]) -> Report:
    """Judge `rows` by `labels`, by key; a row without one is judged by its field `label`."""
    report = Report()
    for row in rows:
        label = labels.get(row.key, row.fields.get("label"))
        if label is None:
            report.unlabelled += 1
            continue
        report.labelled += 1
        if row.status == "error":
            report.unanswered += 1
        else:
            report.answered += 1
            _judge(report, row, label, schema)
    return report


def _judge(report: Report, row: Row, label: Any, schema: dict[str, Any]) -> None:
    for name, node in schema.get("properties", {}).items():
        if not isinstance(label, dict) or name not in label:
            continue
        if "enum" in node or node.get("type") == "boolean":
            _judge_choice(report, row, name, label[name])
        elif node.get("type") == "array":
            _judge_list(report, node, row.output.get(name) or [], label[name] or [])


def _judge_choice(report: Report, row: Row, name: str, label: Any) -> None:
    answer = row.output.get(name)
    report.choices.setdefault(name, Counter())[str(label), str(answer)] += 1
    sure = (row.confidence or {}).get(name)
    if sure is not None:
        place = report.bins[min(BINS - 1, int(sure * BINS))]
        place.count += 1
        place.confidence += sure
        place.right += label == answer


def _judge_list(report: Report, node: dict[str, Any], found: list[Any], there: list[Any]) -> None:
    """Things of a list: matched by box where they have one, else by kind alone."""
    kind, box = _names(node.get("items", {}))
    if kind is None:
        return
    left = list(there)
    for thing in found:
        count = report.kinds.setdefault(str(thing.get(kind)), Count())
        match, overlap = _best(thing, left, kind, box)
        if match is None:
            count.wrong += 1
            continue
        left.remove(match)
        count.right += 1
        if overlap is not None:
            report.ious.append(overlap)
    for thing in left:
        report.kinds.setdefault(str(thing.get(kind)), Count()).missed += 1


def _names(items: dict[str, Any]) -> tuple[str | None, str | None]:
    """The keys of an item's kind (its first closed choice) and box (its first list of four)."""
    properties = items.get("properties", {}).items()
    kinds = (name for name, node in properties if "enum" in node)
    boxes = (name for name, node in properties if node.get("maxItems") == 4)
    return next(kinds, None), next(boxes, None)


def _best(
    thing: dict[str, Any], left: list[Any], kind: str, box: str | None
) -> tuple[Any, float | None]:
    same = [each for each in left if each.get(kind) == thing.get(kind)]
    if box is None or not all(each.get(box) for each in [thing, *same]):
        return (same[0], None) if same else (None, None)
    overlaps = [(iou(thing[box], each[box]), number) for number, each in enumerate(same)]
    best, number = max(overlaps, default=(0.0, 0))
    return (same[number], best) if best >= SAME_THING else (None, None)


def iou(one: Box, other: Box) -> float:
    """Intersection over union of two boxes `[x1, y1, x2, y2]`."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(0.0, across) * max(0.0, down)
    both = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)) - shared
    return shared / both if both > 0 else 0.0


def _bin(each: Bin) -> dict[str, Any]:
    return {
        "from": each.low,
        "count": each.count,
        "confidence": each.confidence / each.count,
        "right": each.right / each.count,
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
