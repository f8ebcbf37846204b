"""Does a changed rule let more values pass, or fewer?"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from smelter.contracts.model import FieldRules
from smelter.contracts.rules import rule_value
from smelter.contracts.times import seconds_of

RULES = ("one_of", "min", "max", "pattern", "min_length", "max_length", "not_after_arrival")


class Direction(StrEnum):
    """What a changed rule means for values that are stored."""

    LOOSER = "looser: every stored value is still right"
    STRICTER = "stricter: for new records only, what is stored stays as it is"
    OTHER = "another rule: for new records only, what is stored stays as it is"


def direction(rule: str, old: FieldRules, new: FieldRules) -> Direction:
    """Where a rule that differs has moved."""
    before, after = getattr(old, rule), getattr(new, rule)
    if after is None or before is None:
        return Direction.LOOSER if after is None else Direction.STRICTER
    if rule == "pattern":
        return Direction.OTHER
    if rule == "one_of":
        return _of_lists(old, new)
    before, after = (_comparable(rule, rules) for rules in (old, new))
    is_floor = rule.startswith("min")
    return Direction.LOOSER if (after <= before if is_floor else after >= before) else Direction.STRICTER


def tightened(old: FieldRules, new: FieldRules) -> tuple[str, ...]:
    """The rules that stored values may break."""
    changed = (rule for rule in RULES if getattr(old, rule) != getattr(new, rule))
    return tuple(rule for rule in changed if direction(rule, old, new) is not Direction.LOOSER)


def _of_lists(old: FieldRules, new: FieldRules) -> Direction:
    before, after = ({rule_value(rules.kind, value, "one_of") for value in rules.one_of or ()} for rules in (old, new))
    if before <= after:
        return Direction.LOOSER
    return Direction.STRICTER if after <= before else Direction.OTHER


def _comparable(rule: str, rules: FieldRules) -> Any:
    value = getattr(rules, rule)
    if rule in ("min", "max"):
        return rule_value(rules.kind, value, rule)
    return seconds_of(value) if rule == "not_after_arrival" else value
