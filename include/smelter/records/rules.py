"""The rules of a field as questions about a value that has the right type."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from smelter.contracts import FieldRules
from smelter.contracts.rules import family, rule_value
from smelter.contracts.times import seconds_of
from smelter.contracts.types import Type
from smelter.records.leaves import latest_moment, moment_number
from smelter.records.shape import whole_text
from smelter.records.times import SECOND
from smelter.records.tree import shown

IsBroken = Callable[[Any, int], bool]  # the value and the moment of arrival
Rules = list[tuple[str, IsBroken, str]]  # name, question, and what to say of the value


def rules_of(kind: Type, rules: FieldRules | None) -> Rules:
    """The rules of a field, in the order in which they are reported."""
    if rules is None:
        return []
    return [*_length_rules(rules), *_value_rules(kind, rules), *_arrival_rules(kind, rules)]


def _length_rules(rules: FieldRules) -> Rules:
    found: Rules = []
    if (least := rules.min_length) is not None:
        found.append(("min_length", lambda value, _: len(value) < least, f"is shorter than {least}"))
    if (most := rules.max_length) is not None:
        found.append(("max_length", lambda value, _: len(value) > most, f"is longer than {most}"))
    if rules.pattern is not None:
        pattern = re.compile(whole_text(rules.pattern))
        found.append(("pattern", lambda value, _: pattern.search(value) is None, f"does not match {rules.pattern}"))
    return found


def _value_rules(kind: Type, rules: FieldRules) -> Rules:
    found: Rules = []
    if rules.one_of is not None:
        listed = {_comparable(kind, value) for value in rules.one_of}
        names = shown(", ".join(str(value) for value in rules.one_of)).strip('"')
        found.append(("one_of", lambda value, _: value not in listed, f"is not one of {names}"))
    if rules.min is not None:
        least = _comparable(kind, rules.min)
        found.append(("min", lambda value, _: bool(value < least), f"is less than {rules.min}"))
    if rules.max is not None:
        most = _comparable(kind, rules.max)
        found.append(("max", lambda value, _: bool(value > most), f"is more than {rules.max}"))
    return found


def _arrival_rules(kind: Type, rules: FieldRules) -> Rules:
    if rules.not_after_arrival is None:
        return []
    lead, is_date = seconds_of(rules.not_after_arrival), family(kind) == "date"
    message = f"is more than {rules.not_after_arrival} after the arrival of its file"
    if not is_date:
        lead_micros = lead * SECOND
        return [("not_after_arrival", lambda value, at: value > at + lead_micros, message)]
    return [("not_after_arrival", lambda value, at: value > latest_moment(at, lead, is_date=True), message)]


def _comparable(kind: Type, value: Any) -> Any:
    typed = rule_value(kind, value, "rule")
    return moment_number(typed) if family(kind) in ("date", "timestamp") else typed


def describe(kind: Type, rules: FieldRules | None) -> str:
    """A type as a person would say it."""
    name = family(kind)
    if name in ("date", "timestamp") and rules is not None and rules.format is not None:
        return f"a {name} written {rules.format}{f' in {rules.zone}' if rules.zone else ''}"
    if name == "timestamp":
        zone = "Z" if rules is None or rules.zone is None else f" in {rules.zone}"
        return f"a timestamp such as 2026-01-31T12:00:00{zone}"
    return {"date": "a date such as 2026-01-31", "binary": "bytes in base64"}.get(name, str(kind))
