"""A task: what is asked about each picture, the form of its answers, and its own checks."""

import re
from dataclasses import dataclass, field
from typing import Any

# {name} stands for a field of the index; {{name}} is the text {name}; other braces are text.
PLACEHOLDER = re.compile(r"(?<!\{)\{([A-Za-z_][A-Za-z0-9_]*)\}(?!\})")
LARGEST_PIXEL = 16384


@dataclass(frozen=True, slots=True)
class Task:
    """A question and the form of its answers.

    schema       JSON Schema that every answer meets, in the order the model writes its keys
    box_field    the key whose values are `[x1, y1, x2, y2]` in the model's own space, to be mapped
                 back to the original; None when no key is known to be one
    checks       names of checks beyond the schema; the worker knows what they look at
    sampling     what the task wants where the manifest does not say; else greedy
    """

    name: str
    prompt: str
    schema: dict[str, Any]
    box_field: str | None = None
    checks: tuple[str, ...] = ()
    sampling: dict[str, Any] = field(default_factory=dict)

    @property
    def boxes(self) -> bool:
        """Whether answers hold boxes to map back."""
        return self.box_field is not None

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the index that the prompt takes."""
        return placeholders(self.prompt)


def placeholders(prompt: str) -> tuple[str, ...]:
    """The names in single braces, each once, in their order."""
    return tuple(dict.fromkeys(PLACEHOLDER.findall(prompt)))


def of_object(**properties: Any) -> dict[str, Any]:
    """A closed object schema with all of these properties required, in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def text(longest: int) -> dict[str, Any]:
    """Bounded, so that no answer runs on to the end of the context."""
    return {"type": "string", "maxLength": longest}


def choice(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def list_of(items: dict[str, Any], most: int, least: int = 0) -> dict[str, Any]:
    bounds = {"minItems": least} if least else {}
    return {"type": "array", "items": items, **bounds, "maxItems": most}


# Bounded: an integer without a bound once ran on to 163153153.
PIXEL = {"type": "integer", "minimum": 0, "maximum": LARGEST_PIXEL}
BOX = {"type": "array", "items": PIXEL, "minItems": 4, "maxItems": 4}
