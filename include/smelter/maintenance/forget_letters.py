"""Is a dead letter about the person? Its text is read as far as it can be read; where it cannot, it is searched.

Better one letter too many than one person who is not forgotten: a field that is missing, nested or of a wrong type may
stand anywhere in the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum, auto
from functools import cached_property
from typing import Any, Final
from zoneinfo import ZoneInfo

from smelter.contracts import Contract
from smelter.contracts.model import FieldRules
from smelter.contracts.rules import family
from smelter.maintenance.forget_numbers import single
from smelter.maintenance.forget_search import LOST, is_lossy, readings, stands_in
from smelter.maintenance.person import Comparison, Condition, Op, Value, Verdict, comparisons, decide

_WORDS: Final = {True: "true", False: "false"}


class _Unreadable(Exception):
    """The text is not a value of the field's type."""


class How(Enum):
    """How a letter tells that it is about the person."""

    NOT = auto()
    UNTOLD = auto()  # it may be, and nobody can tell: what decides could not be read, and cannot be searched
    READ = auto()
    SEARCHED = auto()  # not all could be read, and its text holds the values somewhere


@dataclass(frozen=True)
class LetterReader:
    """Reads letters of one dataset by one condition."""

    contract: Contract
    condition: Condition

    def how(self, text: str, data: bytes | None = None) -> How:
        """Does the condition hold for the record whose text this is, as far as that can be told?

        `data`: its bytes, where the text may lack some of them.
        """
        letter = _Letter(text, data)
        heard = {id(one): self._told(one, letter) for one in comparisons(self.condition)}
        if decide(self.condition, lambda one: heard[id(one)].verdict) is True:
            is_read = decide(self.condition, lambda one: heard[id(one)].is_read and heard[id(one)].verdict)
            return How.READ if is_read else How.SEARCHED
        may_be = decide(self.condition, lambda one: heard[id(one)].verdict is not False)
        return How.UNTOLD if may_be and text else How.NOT

    def _told(self, one: Comparison, letter: _Letter) -> _Told:
        """What a letter says of one comparison: by a value of the field, or by a look at the whole text."""
        rules, values = self.contract.fields[one.field], letter.record.get(self.contract.source_names[one.field], [])
        if one.op in (Op.IS_NULL, Op.IS_NOT_NULL):
            value = next((str(value) for value in values if value is not None), None)
            return _Told(one.holds(value), bool(letter.record))
        verdicts, is_clear = [], bool(values)
        for value in values:
            try:
                verdicts.append(one.holds(_read(value, rules, is_lossy=letter.is_lossy)))
            except _Unreadable:
                is_clear = False
        if any(verdicts) or is_clear:
            return _Told(any(verdicts), is_read=True)
        return _Told(_searched(one, rules, letter.readings) if one.names_values else None, is_read=False)


@dataclass(frozen=True)
class _Letter:
    """A letter's text, and its bytes where there are some."""

    text: str
    data: bytes | None

    @cached_property
    def record(self) -> Mapping[str, list[Any]]:
        return _members(self.text)

    @cached_property
    def is_lossy(self) -> bool:
        return is_lossy(self.text, self.data)

    @cached_property
    def readings(self) -> tuple[str, ...]:
        return readings(self.text, self.data)


@dataclass(frozen=True)
class _Told:
    """What a letter says of one comparison, and whether a value of the field said it."""

    verdict: Verdict
    is_read: bool


def _searched(one: Comparison, rules: FieldRules, texts: tuple[str, ...]) -> Verdict:
    return stands_in(texts, one.values, lambda number: _READERS[family(rules.kind)](number, rules))


def _members(text: str) -> Mapping[str, list[Any]]:
    """The members of a JSON object, each with all of its values, numbers as they are written; none of anything else."""
    try:
        pairs = json.loads(text, object_pairs_hook=_Members, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return {}
    found: dict[str, list[Any]] = {}
    for name, value in pairs if isinstance(pairs, _Members) else ():
        found.setdefault(name, []).append(value)
    return found


class _Members(list[tuple[str, Any]]):
    """The pairs of an object: a record may name a field twice."""


def _read(value: Any, rules: FieldRules, *, is_lossy: bool = False) -> Value:
    """A value as one of the field's type; a number where a text is wanted counts by its text, and the other way."""
    if value is None or isinstance(value, list) or (is_lossy and LOST in str(value)):
        raise _Unreadable
    text = _WORDS[value] if isinstance(value, bool) else str(value)
    reader = _READERS.get(family(rules.kind))
    if reader is None:
        raise _Unreadable
    try:
        return reader(text, rules)
    except (ValueError, ArithmeticError):
        raise _Unreadable from None


def _moment(text: str, rules: FieldRules) -> datetime:
    moment = datetime.strptime(text, rules.format) if rules.format else datetime.fromisoformat(text)  # noqa: DTZ007
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=ZoneInfo(rules.zone) if rules.zone else UTC)


def _day(text: str, rules: FieldRules) -> date:
    return datetime.strptime(text, rules.format).date() if rules.format else date.fromisoformat(text)  # noqa: DTZ007


def _truth(text: str, _rules: FieldRules) -> bool:
    if text.lower() not in _WORDS.values():
        raise ValueError(text)
    return text.lower() == "true"


def _number(text: str, _rules: FieldRules) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(text)
    return number


_READERS: dict[str, Callable[[str, FieldRules], Value]] = {
    "string": lambda text, _rules: text,
    "boolean": _truth,
    "timestamp": _moment,
    "date": _day,
    **dict.fromkeys(("int", "long", "decimal"), _number),
    "float": lambda text, _rules: single(float(text)),
    "double": lambda text, _rules: float(text),
}
