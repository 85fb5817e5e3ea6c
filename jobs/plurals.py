"""Numbers with their nouns: `1 picture`, `1,234 pictures`."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """`number` and the noun that fits it; `many` is `one` with an s unless it is given."""
    return f"{number:,} {plural(number, one, many)}"


def plural(number: int, one: str, many: str | None = None) -> str:
    """The noun, or verb, that fits `number`."""
    return one if number == 1 else (many or f"{one}s")
