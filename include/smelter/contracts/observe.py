"""What do records look like? Observations of JSON values, from which a contract can be drafted."""

from __future__ import annotations

import datetime
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
_SHAPES = (
    ("timestamp", re.compile(rf"{_DATE}T{_CLOCK}(\.[0-9]{{1,6}})?(Z|[+-][0-9]{{2}}:[0-9]{{2}})")),
    ("date", re.compile(_DATE)),
    ("local_time", re.compile(rf"{_DATE} {_CLOCK}")),
    ("local_moment", re.compile(rf"{_DATE}T{_CLOCK}(\.[0-9]{{1,6}})?")),
)
_MOST_VALUES = 1_000


@dataclass
class Seen:
    """Everything that was seen in one place of the records."""

    times: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    values: Counter[str] = field(default_factory=Counter)
    has_many_values: bool = False
    members: dict[str, Seen] = field(default_factory=dict)
    elements: Seen | None = None
    _distinct: set[int] | None = field(default_factory=set)  # hashes of all values, until one comes a second time

    def add(self, value: Any) -> None:
        """Look at one value."""
        self.times += 1
        self.kinds[_kind(value)] += 1
        if isinstance(value, dict):
            for name, member in value.items():
                self.members.setdefault(name, Seen()).add(member)
        elif isinstance(value, list):
            self.elements = self.elements or Seen()
            for element in value:
                self.elements.add(element)
        elif isinstance(value, str | int):
            self._remember(str(value))

    def _remember(self, text: str) -> None:
        if text in self.values or len(self.values) < _MOST_VALUES:
            self.values[text] += 1
        else:
            self.has_many_values = True
        if self._distinct is not None:
            self._distinct.add(hash(text))
            if len(self._distinct) < self.times:
                self._distinct = None

    @property
    def all_distinct(self) -> bool:
        """Was every value a text or a whole number, and none seen twice?"""
        return self._distinct is not None and len(self._distinct) == self.times


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return _kind_of_number(value)
    if isinstance(value, str):
        return _kind_of_text(value)
    return "object" if isinstance(value, dict) else "array"


def _kind_of_number(number: int | float) -> str:
    if isinstance(number, int) and -(2**63) <= number < 2**63:
        return "long"
    if isinstance(number, int) and abs(number) < 10**38:
        return "huge"
    try:
        return "double" if math.isfinite(float(number)) else "too_large"
    except OverflowError:
        return "too_large"


def _kind_of_text(text: str) -> str:
    for kind, shape in _SHAPES:
        if shape.fullmatch(text):
            try:
                moment = datetime.datetime.fromisoformat(text)
                if moment.tzinfo is not None:
                    moment.astimezone(datetime.UTC)  # the zone may lead out of the years 1 to 9999
            except (ValueError, OverflowError):
                return "string"
            return kind
    return "string"
