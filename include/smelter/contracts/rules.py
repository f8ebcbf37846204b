"""Which rules go with which type, and are their values of that type?"""

from __future__ import annotations

import decimal
import math
import re
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smelter.contracts.misfit import Misfit
from smelter.contracts.times import TimeFormat, day_of, moment_of
from smelter.contracts.types import Array, Decimal, Map, Scalar, Type

if TYPE_CHECKING:
    from smelter.contracts.model import FieldRules

INTEGERS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
ORDERED = frozenset({"int", "long", "float", "double", "decimal", "date", "timestamp"})
_COUNTED = frozenset({"string", "binary", "array", "map"})
LISTED = frozenset({"string", "int", "long", "decimal", "date", "boolean"})
COUNTABLE = ORDERED | LISTED | {"binary"}  # whose values can be compared with each other
_ALLOWED = {
    "one_of": LISTED,
    "min": ORDERED,
    "max": ORDERED,
    "pattern": frozenset({"string"}),
    "min_length": _COUNTED,
    "max_length": _COUNTED,
    "not_after_arrival": frozenset({"timestamp", "date"}),
    "zone": frozenset({"timestamp"}),
    "format": frozenset({"timestamp", "date"}),
}
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")


def family(kind: Type) -> str:
    """The name that rules know a type by: `decimal`, `array`, or the scalar's own."""
    if isinstance(kind, Scalar):
        return kind.name
    return {Decimal: "decimal", Array: "array", Map: "map"}.get(type(kind), "struct")


def rule_misfits(field: FieldRules) -> Iterator[Misfit]:
    """Every rule that has no meaning for the field's type, whose value is not of the type, or that fights another."""
    name = family(field.kind)
    meaningless = {rule for rule, types in _ALLOWED.items() if getattr(field, rule) is not None and name not in types}
    for rule in sorted(meaningless):
        goes_with = ", ".join(sorted(_ALLOWED[rule]))
        yield Misfit((rule,), f"`{rule}` has no meaning for {field.type}; it goes with {goes_with}")
    if not meaningless:
        yield from _bounds(field)
        yield from _lengths(field)
        yield from _listed(field)
        yield from _times(field)


def rule_value(kind: Type, value: Any, rule: str) -> Any:
    """The value of a rule as the type's own Python value; raises ValueError if it is not of that type."""
    try:
        return _as_type(kind, value)
    except (ValueError, decimal.InvalidOperation, OverflowError) as problem:
        raise ValueError(
            f"`{rule}: {_written(value)}` is not a value of {kind}; it is {_description(kind)}"
        ) from problem


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _description(kind: Type) -> str:
    if isinstance(kind, Decimal):
        before = kind.precision - kind.scale
        return f"a number with at most {before} digits before the point and {kind.scale} after it"
    name = family(kind)
    if name in INTEGERS:
        low, high = INTEGERS[name]
        return f"a whole number from {low} to {high}"
    return {
        "string": "a text (in quotes, if it looks like something else)",
        "boolean": "true or false",
        "float": "a number that fits in 32 bits",
        "double": "a number",
        "date": "written 2020-01-31",
        "timestamp": "written 2020-01-31T12:00:00Z, with a zone",
    }[name]


def _as_type(kind: Type, value: Any) -> Any:
    name = family(kind)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(kind, Decimal) and (is_number or (isinstance(value, str) and _NUMBER.fullmatch(value))):
        return _fitting(kind, decimal.Decimal(str(value)))
    if name == "string" and isinstance(value, str):
        return value
    if name == "boolean" and isinstance(value, bool):
        return value
    if name in INTEGERS and isinstance(value, int) and is_number:
        low, high = INTEGERS[name]
        if low <= value <= high:
            return value
    if name in ("float", "double") and is_number:
        struct.pack("<f" if name == "float" else "<d", value)  # a number beyond the type raises OverflowError
        if math.isfinite(value):
            return float(value)
    if name == "date" and isinstance(value, str):
        return day_of(value)
    if name == "timestamp" and isinstance(value, str):
        return moment_of(value)
    raise ValueError


def _fitting(kind: Decimal, number: decimal.Decimal) -> decimal.Decimal:
    """The number, if the type can hold it without rounding."""
    with decimal.localcontext(prec=10_000):
        whole = number.scaleb(kind.scale)
        if whole != whole.to_integral_value() or abs(whole) >= decimal.Decimal(10) ** kind.precision:
            raise ValueError
    return number


def _bounds(field: FieldRules) -> Iterator[Misfit]:
    limits = {}
    for rule in ("min", "max"):
        if (value := getattr(field, rule)) is not None:
            try:
                limits[rule] = rule_value(field.kind, value, rule)
            except ValueError as problem:
                yield Misfit((rule,), str(problem))
    if len(limits) == 2 and limits["min"] > limits["max"]:
        yield Misfit(("min",), f"`min: {field.min}` is more than `max: {field.max}`: no value could pass")


def _lengths(field: FieldRules) -> Iterator[Misfit]:
    low, high = field.min_length, field.max_length
    if low is not None and high is not None and low > high:
        yield Misfit(("min_length",), f"`min_length: {low}` is more than `max_length: {high}`: no value could pass")


def _listed(field: FieldRules) -> Iterator[Misfit]:
    """Listed values that are not of the type, are listed twice, or that another rule of the field would refuse."""
    seen = set()
    for place, value in enumerate(field.one_of or ()):
        try:
            typed = rule_value(field.kind, value, "one_of")
        except ValueError as problem:
            yield Misfit(("one_of", place), str(problem))
            continue
        if typed in seen:
            yield Misfit(("one_of", place), f"`one_of: {_written(value)}` is listed twice")
        seen.add(typed)
        yield from (Misfit(("one_of", place), f"`one_of: {_written(value)}` {why}") for why in _refusals(field, typed))


def _refusals(field: FieldRules, typed: Any) -> Iterator[str]:
    for rule in ("min", "max"):
        try:
            bound = rule_value(field.kind, getattr(field, rule), rule)
        except ValueError:  # there is none, or it was told already
            continue
        if typed < bound if rule == "min" else typed > bound:
            yield f"is {'less' if rule == 'min' else 'more'} than `{rule}: {getattr(field, rule)}`"
    if isinstance(typed, str):
        if field.min_length is not None and len(typed) < field.min_length:
            yield f"is shorter than `min_length: {field.min_length}`"
        if field.max_length is not None and len(typed) > field.max_length:
            yield f"is longer than `max_length: {field.max_length}`"
        if field.pattern is not None and re.fullmatch(field.pattern, typed) is None:
            yield f"does not match `pattern: {field.pattern}`"


def _times(field: FieldRules) -> Iterator[Misfit]:
    if field.format is None:
        return
    has_time = TimeFormat.parse(field.format).has_time
    if field.kind == Scalar("timestamp") and field.zone is None:
        yield Misfit(("format",), "`format` has no zone in it, so say which one it is: `zone: America/New_York`")
    if field.kind == Scalar("timestamp") and not has_time:
        yield Misfit(("format",), f"`format: {field.format}` has no time of day; the type is timestamp")
    if field.kind == Scalar("date") and has_time:
        yield Misfit(("format",), f"`format: {field.format}` has a time of day; the type is date")
