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
from smelter.records.no_time import why_no_time
from smelter.records.shape import FLOAT32_OVERFLOW, NumberText
from smelter.records.times import TimeReader

WRONG = object()
_NUMBERS = (NumberText, int)
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
        number = exact_decimal(str(value), kind) if type(value) in _NUMBERS else None
        return WRONG if number is None else number

    return read


def _time(reader: TimeReader) -> Reader:
    def read(value: Any) -> Any:
        moment = reader.read(value) if type(value) is str else None
        return WRONG if moment is None else moment

    return read


def _integer(low: int, high: int) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is int:
            return value if low <= value <= high else WRONG
        if type(value) is not NumberText or len(value) > _LONGEST_INTEGER or not value.lstrip("-").isdecimal():
            return WRONG
        number = int(value)
        return number if low <= number <= high else WRONG

    return read


def _float(overflow: float) -> Reader:
    def read(value: Any) -> Any:
        if type(value) not in _NUMBERS:
            return WRONG
        number = float(str(value))
        return number if abs(number) < overflow else WRONG

    return read


def why_wrong(kind: Type, rules: FieldRules | None) -> Callable[[Any], str]:
    """What a person needs to hear about a value that is not of the type, if it is not clear from the value."""
    if isinstance(kind, Decimal):
        return lambda value: _why_no_decimal(value, kind) if type(value) in _NUMBERS else ""
    assert isinstance(kind, Scalar)
    if kind.name in ("date", "timestamp"):
        format_, zone = (rules.format, rules.zone) if rules is not None else (None, None)
        reader = TimeReader(format_, zone, kind.name == "date")
        return lambda value: why_no_time(value, reader) if type(value) is str else ""
    if kind.name in INTEGERS:
        return lambda value: _why_no_integer(value, kind.name) if type(value) in _NUMBERS else ""
    if kind.name in ("float", "double"):
        return lambda value: f"too large for {kind.name}" if type(value) in _NUMBERS else ""
    return lambda _value: ""


def _why_no_decimal(value: NumberText | int, kind: Decimal) -> str:
    wider = exact_decimal(str(value), Decimal(38, 38 - (kind.precision - kind.scale)))
    if wider is not None:
        return f"more than {kind.scale} digits after the point"
    return f"more than {kind.precision - kind.scale} digits before the point, or too many in all"


def _why_no_integer(value: NumberText | int, name: str) -> str:
    if str(value).lstrip("-").isdecimal():
        return f"beyond the range of {name}"
    return "an integer has neither point nor exponent"
