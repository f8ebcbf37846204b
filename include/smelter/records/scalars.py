"""One JSON value to the value of a scalar type, or WRONG: the strict reading of each type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from smelter.contracts import FieldRules
from smelter.contracts.rules import INTEGERS
from smelter.contracts.types import Decimal, Scalar, Type
from smelter.records.leaves import exact_decimal
from smelter.records.shape import FLOAT32_OVERFLOW
from smelter.records.times import TimeReader
from smelter.records.tree import Number

WRONG = object()
_LONGEST_INTEGER = 20
Reader = Callable[[Any], Any]


def scalar_reader(kind: Type, rules: FieldRules | None) -> Reader:
    """The reader of a type. Times become numbers: microseconds, or days."""
    if isinstance(kind, Decimal):
        return _decimal(kind)
    assert isinstance(kind, Scalar)
    if kind.name in ("date", "timestamp"):
        format_, zone = (rules.format, rules.zone) if rules is not None else (None, None)
        return _time(TimeReader(format_, zone, kind.name == "date"))
    if kind.name in INTEGERS:
        return _integer(*INTEGERS[kind.name])
    if kind.name in ("float", "double"):
        return _float(FLOAT32_OVERFLOW if kind.name == "float" else math.inf)
    return {"string": _string, "boolean": _boolean, "binary": _binary}[kind.name]


def _string(value: Any) -> Any:
    return value if type(value) is str else WRONG


def _boolean(value: Any) -> Any:
    return value if type(value) is bool else WRONG


def _binary(value: Any) -> Any:
    try:
        return msgspec.convert(value, bytes) if type(value) is str else WRONG
    except msgspec.ValidationError:
        return WRONG


def _decimal(kind: Decimal) -> Reader:
    def read(value: Any) -> Any:
        number = exact_decimal(value, kind) if type(value) is Number else None
        return WRONG if number is None else number

    return read


def _time(reader: TimeReader) -> Reader:
    def read(value: Any) -> Any:
        moment = reader.read(value) if type(value) is str else None
        return WRONG if moment is None else moment

    return read


def _integer(low: int, high: int) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not Number or len(value) > _LONGEST_INTEGER or not value.lstrip("-").isdecimal():
            return WRONG
        number = int(value)
        return number if low <= number <= high else WRONG

    return read


def _float(overflow: float) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not Number:
            return WRONG
        number = float(value)
        return number if abs(number) < overflow else WRONG

    return read
