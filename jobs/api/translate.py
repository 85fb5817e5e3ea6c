"""From the body of a `/v1/chat/completions` request to what one of our jobs is asked. Pure.

A body becomes an `Asked`: pictures, text, and the `Shape` that everything asked in one job shares.
What a job can't do is a `BodyError` that names the parameter; nothing is passed over in silence,
but for parameters that change no answer. Texts are joined in their order and stand behind the
pictures, as the worker's prompts have them.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from jobs.api.body_checks import BodyError, Reader, refuse_unsupported
from jobs.api.image_parts import Picture, picture_of
from jobs.manifest.task import check_schema

MOST_PICTURES = 64  # of one prompt: the manifest's own bound
MOST_TOKENS = 32768
FREE_TOKENS = 1024  # of an answer without a schema, which sets no bound of its own
Reply = Literal["json", "text"]
# What the schema of an answer is where the request has none.
SCHEMAS: dict[str, dict[str, Any]] = {"text": {"type": "string"}, "json_object": {"type": "object"}}


@dataclass(frozen=True, slots=True)
class Shape:
    """What all requests of one job have in common.

    sampling   name and value of what the request gives; the manifest's defaults are the rest
    schema     of every answer; the order of its keys is the order of the answer's
    reply      text: the answer is a JSON string, and its text is the message
    detail     how many tokens a picture may take, as in the manifest; None is the model's own
    many       whether a prompt holds several pictures
    """

    model: str
    sampling: tuple[tuple[str, Any], ...]
    schema: dict[str, Any]
    reply: Reply
    detail: str | None
    many: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: a shape, and what is its own."""

    shape: Shape
    pictures: tuple[Picture, ...]
    prompt: str


def translate(body: dict[str, Any], models: Collection[str]) -> Asked:
    """What `body` asks for; `BodyError` when a job can't do it."""
    refuse_unsupported(body)
    read = Reader(body)
    model = read.text("model")
    if model not in models:
        raise BodyError(
            "model_not_found",
            f"The model {model!r} does not exist; see /v1/models.",
            "model",
            status=404,
        )
    reply, schema = _answers(read)
    pictures, texts, details = _messages(read)
    return Asked(
        Shape(model, _sampling(read, schema), schema, reply, _detail(details), len(pictures) > 1),
        pictures,
        "\n\n".join(texts),
    )


def manifest_of(shape: Shape, name: str, index: str, output: str, offer: str) -> dict[str, Any]:
    """The manifest of the job that asks what is in `index`: lines with keys and a prompt."""
    inputs = {"index": index, **({"max_pictures": MOST_PICTURES} if shape.many else {})}
    return {
        "name": name,
        "idempotency_key": index,
        "inputs": inputs,
        "output": output,
        "model": shape.model,
        "task": {"prompt": "{prompt}", "schema": shape.schema},
        "sampling": dict(shape.sampling),
        "image": {"detail": shape.detail},
        "hardware": {"offer": offer},
    }


def _sampling(read: Reader, schema: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    found = {
        "temperature": read.number("temperature", 0, 2),
        "top_p": read.number("top_p", 1e-6, 1),
        "seed": read.whole("seed", 0, 2**63 - 1),
        "max_tokens": read.whole("max_completion_tokens", 1, MOST_TOKENS)
        or read.whole("max_tokens", 1, MOST_TOKENS)
        or (FREE_TOKENS if schema in SCHEMAS.values() else None),
    }
    return tuple((name, value) for name, value in found.items() if value is not None)


def _answers(read: Reader) -> tuple[Reply, dict[str, Any]]:
    wanted = read.part("response_format")
    if wanted is None:
        return "text", SCHEMAS["text"]
    kind = wanted.one_of("type", ("json_schema", "json_object", "text"))
    if kind != "json_schema":
        return ("text" if kind == "text" else "json"), SCHEMAS[kind]
    named = wanted.needed_part("json_schema")
    schema = named.needed_part("schema")
    try:
        check_schema(schema.value)
    except (ValueError, RecursionError) as error:
        raise BodyError("invalid_value", str(error), schema.where) from error
    return "json", schema.value


def _messages(read: Reader) -> tuple[tuple[Picture, ...], list[str], set[str]]:
    """The pictures, the texts, and the pictures' details of all messages."""
    messages = read.parts("messages")
    roles = [each.one_of("role", ("system", "developer", "user")) for each in messages]
    if roles.count("user") != 1 or roles[-1] != "user":
        raise BodyError(
            "unsupported_value",
            "Only one user message, after system messages, is supported: each request is one "
            "question.",
            "messages",
        )
    texts: list[str] = []
    pictures: list[Picture] = []
    details: set[str] = set()
    for message, role in zip(messages, roles, strict=True):
        for part in _content(message):
            if isinstance(part, str):
                texts.append(part)
            elif role != "user":
                raise BodyError("unsupported_value", "Only text is supported.", message.where)
            else:
                image = part.needed_part("image_url")
                pictures.append(picture_of(image.text("url"), f"{image.where}.url"))
                if image.value.get("detail") is not None:
                    details.add(image.one_of("detail", ("auto", "low", "high")))
    _check_question(pictures, texts)
    return tuple(pictures), texts, details


def _content(message: Reader) -> Iterator[str | Reader]:
    """Texts as they are, and pictures as they are described."""
    if isinstance(message.value.get("content"), str):
        yield message.text("content")
        return
    for part in message.parts("content"):
        kind = part.one_of("type", ("text", "image_url"))
        yield part.text("text") if kind == "text" else part


def _check_question(pictures: list[Picture], texts: list[str]) -> None:
    if not pictures:
        raise BodyError(
            "missing_required_parameter", "A request must have an image_url.", "messages"
        )
    if len(pictures) > MOST_PICTURES:
        raise BodyError(
            "invalid_value",
            f"{len(pictures)} images in one request; allowed: up to {MOST_PICTURES}.",
            "messages",
        )
    if not any(text.strip() for text in texts):
        raise BodyError("missing_required_parameter", "A request must have text.", "messages")


def _detail(found: set[str]) -> str | None:
    if len(found) > 1:
        raise BodyError(
            "unsupported_value",
            f"Images with details {', '.join(sorted(found))} in one request; allowed: one.",
            "messages",
        )
    return next(iter(found), None)
