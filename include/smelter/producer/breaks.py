"""A value that breaks one rule, or is of the wrong type, and is right in every other way."""

from __future__ import annotations

import contextlib
import decimal
import json
import re
from collections.abc import Callable
from typing import TypeAlias

from smelter.contracts import FieldRules
from smelter.contracts.rules import family
from smelter.contracts.types import Array, Map, Scalar
from smelter.errors import Refused
from smelter.producer import moments, numbers, texts
from smelter.producer.moments import TIMES, At
from smelter.producer.values import Draw, entries, listed_values, maker_of

Breaker: TypeAlias = Callable[[At], str | None]  # None: this rule cannot be broken
_LONGEST_BREAK = 10_000  # a longer text or list would only be slow
_ATTEMPTS = 50
_NO_MATCH = ("", "!", "~~~", "not a match", "0", "x", "\u00a7 1", " ", "a\nb")
_WRONG = {
    "string": ("42", "true", "[]", "{}"),
    "boolean": ('"true"', "1", "[]"),
    "int": ('"12"', "true", "{}"),
    "long": ('"12"', "true", "{}"),
    "float": ('"1.5"', "false", "[]"),
    "double": ('"1.5"', "false", "[]"),
    "decimal": ('"12.50"', "true", "{}"),
    "date": ("20260101", "true"),
    "timestamp": ("1767225600", "1767225600.5", "false"),
    "binary": ("1", "[1,2]", "{}"),
    "array": ('"[]"', "{}", "7"),
    "map": ('"{}"', "[]", "7"),
    "struct": ('"{}"', "[]", "7"),
}


def wrong_type(rules: FieldRules, draw: Draw) -> str:
    """A value of a JSON type that the field does not take."""
    return draw.rng.choice(_WRONG[family(rules.kind)])


def breakers_of(name: str, rules: FieldRules, draw: Draw) -> list[Breaker]:
    """One function for each rule of the field; `not_after_arrival` has its own fault."""
    found: list[Breaker] = []
    if rules.one_of is not None:
        found.append(_unlisted(name, rules, draw))
    found += [_beyond(rules, direction, draw) for direction in (-1, 1) if _bound(rules, direction) is not None]
    if rules.pattern is not None:
        found.append(_mismatch(rules, draw))
    if rules.min_length:
        found.append(_sized(name, rules, rules.min_length - 1, draw))
    if rules.max_length is not None and rules.max_length < _LONGEST_BREAK:
        found.append(_sized(name, rules, rules.max_length + 1, draw))
    return found


def too_late(rules: FieldRules, at: At, draw: Draw) -> str | None:
    """A time that lies further after the file's arrival than `not_after_arrival` lets pass."""
    limit = moments.limit_us(rules, at)
    smallest = 2 * moments.DAY_US if rules.kind == Scalar("date") else 2 * moments.HOUR_US
    moment = limit + smallest + draw.rng.randrange(3 * moments.DAY_US)
    text = moments.writer_of(rules.kind, rules).write(moment, limit + 1, moments.LATEST_US)
    return texts.quoted(text) if text is not None else None


def _bound(rules: FieldRules, direction: int) -> str | int | float | bool | None:
    return rules.min if direction < 0 else rules.max


def _unlisted(name: str, rules: FieldRules, draw: Draw) -> Breaker:
    listed = {_value(text) for text in listed_values(rules)}
    free = maker_of(name, rules.model_copy(update={"one_of": None}), draw)

    def make(at: At) -> str | None:
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(Refused):  # a pattern that cannot be walked
                text = free(at)
                if _value(text) not in listed:
                    return text
        return None

    return make


def _value(text: str) -> object:
    return json.loads(text, parse_float=decimal.Decimal)  # 1.50 equals 1.5, and has the same hash


def _beyond(rules: FieldRules, direction: int, draw: Draw) -> Breaker:
    kind = rules.kind
    if kind in TIMES:
        return lambda _at: _time_beyond(rules, direction, draw)
    if isinstance(kind, Scalar) and kind.name in ("float", "double"):
        bound = _bound(rules, direction)
        assert bound is not None
        text = numbers.outside_float(float(bound), direction, kind)
        return lambda _at: text
    steps = numbers.steps_of(kind, rules)
    return lambda _at: numbers.outside_exact(steps, direction, draw.rng)


def _time_beyond(rules: FieldRules, direction: int, draw: Draw) -> str | None:
    low, high = moments.bounds_us(rules)
    away = 3 * moments.DAY_US + draw.rng.randrange(30 * moments.DAY_US)
    writer = moments.writer_of(rules.kind, rules)
    if direction < 0:
        text = writer.write(low - away, moments.EARLIEST_US, low - 1)
    else:
        text = writer.write(high + away, high + 1, moments.LATEST_US)
    return texts.quoted(text) if text is not None else None


def _mismatch(rules: FieldRules, draw: Draw) -> Breaker:
    pattern = re.compile(rules.pattern or "")
    failing = [texts.quoted(text) for text in _NO_MATCH if pattern.fullmatch(text) is None]
    return lambda _at: draw.rng.choice(failing) if failing else None


def _sized(name: str, rules: FieldRules, size: int, draw: Draw) -> Breaker:
    if isinstance(rules.kind, Array | Map):
        return entries(rules.kind, name, size, draw)
    if rules.kind == Scalar("binary"):
        return lambda _at: texts.bytes_in_base64(draw.rng, size, size)
    return lambda _at: texts.quoted(texts.plain_text(draw.rng, size, size))
