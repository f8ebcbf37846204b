"""Which rules go with which type, and are their values of that type?"""

from __future__ import annotations

import datetime
import decimal
import re
from typing import TYPE_CHECKING, Any

from smelter.contracts.times import TimeFormat, moment_of
from smelter.contracts.types import Array, Decimal, Map, Scalar, Type

if TYPE_CHECKING:
    from smelter.contracts.model import FieldRules

INTEGERS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
_ORDERED = frozenset({"int", "long", "float", "double", "decimal", "date", "timestamp"})
_COUNTED = frozenset({"string", "binary", "array", "map"})
_LISTED = frozenset({"string", "int", "long", "decimal", "date", "boolean"})
_ALLOWED = {
    "one_of": _LISTED,
    "min": _ORDERED,
    "max": _ORDERED,
    "pattern": frozenset({"string"}),
    "min_length": _COUNTED,
    "max_length": _COUNTED,
    "not_after_arrival": frozenset({"timestamp", "date"}),
    "zone": frozenset({"timestamp"}),
    "format": frozenset({"timestamp", "date"}),
}


def family(kind: Type) -> str:
    """The name that rules know a type by: `decimal`, `array`, or the scalar's own."""
    if isinstance(kind, Scalar):
        return kind.name
    return {Decimal: "decimal", Array: "array", Map: "map"}.get(type(kind), "struct")


def check_rules(field: FieldRules) -> None:
    """Refuse a rule that has no meaning for the field's type, or a value that is not of the type."""
    name = family(field.kind)
    for rule, types in _ALLOWED.items():
        if getattr(field, rule) is not None and name not in types:
            raise ValueError(f"`{rule}` has no meaning for {field.type}; it goes with {', '.join(sorted(types))}")
    for rule in ("min", "max"):
        if getattr(field, rule) is not None:
            rule_value(field.kind, getattr(field, rule), rule)
    _check_order(field)
    for value in field.one_of or ():
        _check_listed(field, value)
    _check_times(field)


def rule_value(kind: Type, value: Any, rule: str) -> Any:
    """The value of a rule as the type's own Python value; raises ValueError if it is not of that type."""
    try:
        return _as_type(kind, value)
    except (ValueError, decimal.InvalidOperation, OverflowError) as problem:
        raise ValueError(f"`{rule}: {value}` is not a value of {kind}") from problem


def _as_type(kind: Type, value: Any) -> Any:
    name = family(kind)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == "string" and isinstance(value, str):
        return value
    if name == "boolean" and isinstance(value, bool):
        return value
    if name in INTEGERS and isinstance(value, int) and is_number:
        low, high = INTEGERS[name]
        if low <= value <= high:
            return value
    if name in ("float", "double") and is_number:
        return float(value)
    if name == "decimal" and is_number:
        return decimal.Decimal(str(value))
    if name == "date" and isinstance(value, str):
        return datetime.date.fromisoformat(value)
    if name == "timestamp" and isinstance(value, str):
        return moment_of(value)
    raise ValueError


def _check_listed(field: FieldRules, value: Any) -> None:
    """Refuse a listed value that another rule of the same field would refuse."""
    typed = rule_value(field.kind, value, "one_of")
    if field.min is not None and typed < rule_value(field.kind, field.min, "min"):
        raise ValueError(f"`one_of: {value}` is less than `min: {field.min}`")
    if field.max is not None and typed > rule_value(field.kind, field.max, "max"):
        raise ValueError(f"`one_of: {value}` is more than `max: {field.max}`")
    if isinstance(typed, str):
        if not (field.min_length or 0) <= len(typed) <= (field.max_length if field.max_length is not None else len(typed)):
            raise ValueError(f"`one_of: {value}` breaks the field's own min_length or max_length")
        if field.pattern is not None and re.fullmatch(field.pattern, typed) is None:
            raise ValueError(f"`one_of: {value}` does not match the field's own pattern")


def _check_order(field: FieldRules) -> None:
    if field.min is not None and field.max is not None:
        low, high = rule_value(field.kind, field.min, "min"), rule_value(field.kind, field.max, "max")
        if low > high:
            raise ValueError(f"`min: {field.min}` is more than `max: {field.max}`: no value could pass")
    if field.min_length is not None and field.max_length is not None and field.min_length > field.max_length:
        raise ValueError(f"`min_length: {field.min_length}` is more than `max_length: {field.max_length}`")


def _check_times(field: FieldRules) -> None:
    if field.format is None:
        return
    has_time = TimeFormat.parse(field.format).has_time
    if field.kind == Scalar("timestamp") and field.zone is None:
        raise ValueError("`format` has no zone in it, so say which one it is: `zone: America/New_York`")
    if field.kind == Scalar("timestamp") and not has_time:
        raise ValueError(f"`format: {field.format}` has no time of day; the type is timestamp")
    if field.kind == Scalar("date") and has_time:
        raise ValueError(f"`format: {field.format}` has a time of day; the type is date")
