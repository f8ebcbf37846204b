"""What do records look like? Observations of JSON values, from which a contract can be drafted."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_LOCAL_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)")
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

    def add(self, value: Any) -> None:
        """Look at one value."""
        self.times += 1
        kind = _kind(value)
        self.kinds[kind] += 1
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

    @property
    def all_distinct(self) -> bool:
        """Was no value seen twice?"""
        return bool(self.values) and not self.kinds["null"] and max(self.values.values()) == 1


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "long" if -(2**63) <= value < 2**63 else "double"
    if isinstance(value, str):
        return _kind_of_text(value)
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "double"


def _kind_of_text(text: str) -> str:
    shapes = (("timestamp", _RFC3339), ("date", _DATE), ("local_time", _LOCAL_TIME))
    for kind, shape in shapes:
        if shape.fullmatch(text):
            try:
                datetime.datetime.fromisoformat(text)
            except ValueError:
                return "string"
            return kind
    return "string"
