"""Decimals on their way out: plain digits, never an exponent."""

from decimal import Decimal
from typing import Annotated

from pydantic import PlainSerializer

Plain = Annotated[Decimal, PlainSerializer(lambda value: format(value, "f"), return_type=str)]
