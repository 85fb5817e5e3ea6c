"""Decimals on their way in and out: seconds to the millisecond, plain digits and no exponent."""

from decimal import Decimal
from typing import Annotated

from pydantic import PlainSerializer

Plain = Annotated[Decimal, PlainSerializer(lambda value: format(value, "f"), return_type=str)]


def exact(seconds: float) -> Decimal:
    """Seconds as a decimal, to the millisecond."""
    return Decimal(repr(round(seconds, 3)))
