"""A second opinion: a slow, plain judge of one record that shares no code with the producer or `smelter.records`."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import re
import struct
from typing import Any
from zoneinfo import ZoneInfo

from smelter.contracts import Contract, FieldRules
from smelter.contracts.types import Array, Decimal, Map, Struct, Type

UTC = datetime.UTC
Verdict = tuple[str, str | None]
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
_INTEGERS = {"int": 2**31, "long": 2**63}


class Number(str):
    """A JSON number with its exact text."""


class WrongTypeError(Exception):
    """The value is not of the type."""


def _no_constant(text: str) -> Any:
    raise ValueError(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), f"a key appears twice in {pairs}"
    return dict(pairs)


def read(text: str) -> Any:
    return json.loads(
        text, parse_int=Number, parse_float=Number, parse_constant=_no_constant, object_pairs_hook=_unique
    )


def problems(contract: Contract, text: str, arrival: datetime.datetime) -> list[Verdict]:
    """Everything that is wrong with a record, as (reason, field under the source's name)."""
    try:
        record = read(text)
    except ValueError:
        return [("not_json", None)]
    found: list[Verdict] = []
    names = contract.source_names
    if contract.unknown_fields == "dead_letter":
        found += [("unknown_field", key) for key in record if key not in names.values()]
    for name, rules in contract.fields.items():
        value = record.get(names[name])
        if value is None:
            found += [("missing_field", names[name])] if rules.required else []
            continue
        try:
            own = typed(rules.kind, value, rules)
        except WrongTypeError:
            found.append(("wrong_type", names[name]))
            continue
        found += [] if keeps_rules(rules, own, arrival) else [("rule_broken", names[name])]
    return found


def typed(kind: Type, value: Any, rules: FieldRules | None = None) -> Any:
    if isinstance(kind, Array):
        _want(isinstance(value, list))
        return [typed(kind.element, item) for item in value]
    if isinstance(kind, Map):
        _want(isinstance(value, dict))
        if str(kind.value) == "string":
            _want(all(isinstance(item, str | bool) for item in value.values()))
            return value
        return {key: typed(kind.value, item) for key, item in value.items()}
    if isinstance(kind, Struct):
        _want(isinstance(value, dict) and value.keys() <= {member.name for member in kind.members})
        for member in kind.members:
            _want(value.get(member.name) is not None or not member.required)
        types = {member.name: member.type for member in kind.members}
        return {key: typed(types[key], item) for key, item in value.items() if item is not None}
    if isinstance(kind, Decimal):
        return _decimal(kind, value)
    return _scalar(kind.name, value, rules)


def _scalar(name: str, value: Any, rules: FieldRules | None) -> Any:
    if name == "boolean":
        _want(isinstance(value, bool))
        return value
    if name in _INTEGERS:
        _want(isinstance(value, Number) and re.fullmatch(r"-?\d+", value) is not None)
        _want(-_INTEGERS[name] <= int(value) < _INTEGERS[name])
        return int(value)
    if name in ("float", "double"):
        _want(isinstance(value, Number))
        if name == "float":
            struct.pack("f", float(value))
        return float(value)
    _want(type(value) is str)
    if name == "binary":
        return base64.b64decode(value, validate=True)
    return value if name == "string" else _time(name, value, rules)


def _time(name: str, value: str, rules: FieldRules | None) -> Any:
    zone, form = (rules.zone, rules.format) if rules is not None else (None, None)
    if name == "date":
        return datetime.datetime.strptime(value, form or "%Y-%m-%d").date()
    if form is None and zone is None:
        assert _RFC3339.fullmatch(value), value
        return datetime.datetime.fromisoformat(value).astimezone(UTC)
    naive = datetime.datetime.strptime(value, form) if form else datetime.datetime.fromisoformat(value)
    assert naive.tzinfo is None
    local = naive.replace(tzinfo=ZoneInfo(str(zone)))
    again = local.astimezone(UTC).astimezone(local.tzinfo).replace(tzinfo=None)
    assert again == naive, f"{value} does not exist in {zone}"
    return local.astimezone(UTC)


def _decimal(kind: Decimal, value: Any) -> decimal.Decimal:
    _want(isinstance(value, Number))
    whole, _, fraction = value.lstrip("-").partition(".")
    _want(whole.isdigit() and len(fraction) <= kind.scale)
    _want(len(whole.lstrip("0")) <= kind.precision - kind.scale)
    return decimal.Decimal(value)


def keeps_rules(rules: FieldRules, own: Any, arrival: datetime.datetime) -> bool:
    checks = [
        rules.one_of is None or own in [_rule(own, value) for value in rules.one_of],
        rules.min is None or own >= _rule(own, rules.min),
        rules.max is None or own <= _rule(own, rules.max),
        rules.pattern is None or re.fullmatch(rules.pattern, own) is not None,
        rules.min_length is None or len(own) >= rules.min_length,
        rules.max_length is None or len(own) <= rules.max_length,
        rules.not_after_arrival is None or _moment(own) <= arrival + _duration(rules.not_after_arrival),
    ]
    return all(checks)


def _rule(own: Any, value: Any) -> Any:
    if isinstance(own, datetime.datetime):
        return datetime.datetime.fromisoformat(value)
    if isinstance(own, datetime.date):
        return datetime.date.fromisoformat(value)
    return decimal.Decimal(str(value)) if isinstance(own, decimal.Decimal) else value


def _moment(own: Any) -> datetime.datetime:
    return own if isinstance(own, datetime.datetime) else datetime.datetime.combine(own, datetime.time(), UTC)


def _duration(text: str) -> datetime.timedelta:
    return datetime.timedelta(seconds=int(text[:-1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[text[-1]])


def _want(is_right: bool) -> None:
    if not is_right:
        raise WrongTypeError
