"""A good value for any type and its rules, as JSON text."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from smelter.contracts import FieldRules
from smelter.contracts.rules import rule_value
from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type
from smelter.errors import Refused
from smelter.producer import moments, numbers, texts
from smelter.producer.moments import TIMES, At
from smelter.producer.patterns import PatternTexts

Maker: TypeAlias = Callable[[At], str]  # "" means that the field is left out
_ABSENT, _NULL = 0.08, 0.12  # of optional fields: left out, or null
_USUAL_ENTRIES = 3


@dataclass(frozen=True)
class Draw:
    """Where randomness comes from, and how often values at the edge of their type are wanted."""

    rng: random.Random
    edges: float = 0.0


def impossible(name: str, why: str) -> Refused:
    """The error for a field of which no good value can be made."""
    return Refused(
        f"no good value can be made for the field `{name}`: {why}",
        data="no record that needs it was written",
        next_step="mend the rules of the field in its contract, or choose another --start",
    )


def maker_of(name: str, rules: FieldRules, draw: Draw, times_after: int = 0) -> Maker:
    """Makes values of a field; a time is `times_after` steps before the record's own."""
    if rules.one_of is not None:
        choices = listed_values(rules)
        if not choices:
            raise impossible(name, "no value of `one_of` keeps the other rules")
        return lambda _at: choices[int(draw.rng.random() * len(choices))]
    if rules.pattern is not None:
        return _pattern_maker(name, rules, draw)
    if rules.kind in TIMES:
        return _time_maker(name, rules, draw, times_after)
    return _typed_maker(name, rules.kind, rules, draw)


def optional(maker: Maker, draw: Draw) -> Maker:
    """The same values, sometimes null or left out."""

    def make(at: At) -> str:
        share = draw.rng.random()
        if share < _NULL:
            return "" if share < _ABSENT else "null"
        return maker(at)

    return make


def entries(kind: Array | Map, name: str, size: int, draw: Draw) -> Maker:
    """Makes arrays or maps with exactly `size` entries."""
    return _collection(kind, name, size, size, draw)


def listed_values(rules: FieldRules) -> list[str]:
    """The values of `one_of` that keep the other rules too, as JSON texts."""
    shown = [_listed(rules, value) for value in rules.one_of or () if _keeps_rules(rules, value)]
    return [text for text in shown if text is not None]


def _listed(rules: FieldRules, value: object) -> str | None:
    kind = rules.kind
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind == Scalar("date"):
        moment = moments.rule_us(kind, value, "one_of")
        text = moments.writer_of(kind, rules).write(moment, moment, moment)
        return texts.quoted(text) if text is not None else None
    return texts.quoted(value) if isinstance(value, str) else numbers.listed_number(kind, value)


def _keeps_rules(rules: FieldRules, value: object) -> bool:
    if isinstance(value, str) and rules.kind == Scalar("string"):
        return PatternTexts(rules.pattern or r"(?s:.*)", rules.min_length or 0, rules.max_length).fits(value)
    own = rule_value(rules.kind, value, "one_of")
    is_high_enough = rules.min is None or bool(own >= rule_value(rules.kind, rules.min, "min"))
    return is_high_enough and (rules.max is None or bool(own <= rule_value(rules.kind, rules.max, "max")))


def _pattern_maker(name: str, rules: FieldRules, draw: Draw) -> Maker:
    matching = PatternTexts(rules.pattern or "", rules.min_length or 0, rules.max_length)

    def make(_at: At) -> str:
        text = matching.draw(draw.rng)
        if text is None:
            raise impossible(name, f"no text was found that matches `{rules.pattern}` and has an allowed length")
        return texts.quoted(text)

    return make


def _time_maker(name: str, rules: FieldRules, draw: Draw, times_after: int) -> Maker:
    writer = moments.writer_of(rules.kind, rules)
    low, highest = moments.bounds_us(rules)
    is_bound_to_arrival = rules.not_after_arrival is not None

    def make(at: At) -> str:
        high = min(highest, at.arrival_us) if is_bound_to_arrival else highest
        moment = at.clock_us - times_after * at.step_us
        if not low <= moment <= high:
            away = int(draw.rng.random() * min(max(high - low, 0), moments.DAY_US))
            moment = high - away if moment > high else low + away
        text = writer.write(moment, low, high)
        if text is None:
            raise impossible(
                name, "its rules leave no time for a file that arrives at " + moments.rfc3339(at.arrival_us)
            )
        return f'"{text}"' if '"' not in text and "\\" not in text else texts.quoted(text)

    return make


def _typed_maker(name: str, kind: Type, rules: FieldRules | None, draw: Draw) -> Maker:
    rng, edges = draw.rng, draw.edges
    shortest = (rules.min_length if rules is not None else None) or 0
    longest = rules.max_length if rules is not None else None
    if isinstance(kind, Struct):
        return _struct(kind, name, draw)
    if isinstance(kind, Array | Map):
        return _collection(kind, name, shortest, longest, draw)
    if kind == Scalar("string"):
        return _clockless(texts.json_texts(rng, shortest, longest, edges))
    if kind == Scalar("binary"):
        return lambda _at: texts.bytes_in_base64(rng, shortest, longest)
    if kind == Scalar("boolean"):
        return lambda _at: "true" if rng.random() < 0.5 else "false"
    return _clockless(_numbers(name, kind, rules, draw))


def _numbers(name: str, kind: Type, rules: FieldRules | None, draw: Draw) -> Callable[[], str]:
    if isinstance(kind, Scalar) and kind.name in ("float", "double"):
        low, high = numbers.float_bounds(kind, rules)
        if not low <= high:
            raise impossible(name, f"`min` and `max` leave no value of {kind}")
        return numbers.float_numbers(kind, rules, draw.rng, draw.edges)
    assert isinstance(kind, Scalar | Decimal)
    steps = numbers.steps_of(kind, rules)
    if steps.low > steps.high:
        raise impossible(name, f"`min` and `max` leave no value of {kind}")
    return numbers.exact_numbers(steps, draw.rng, draw.edges)


def _clockless(draw: Callable[[], str]) -> Maker:
    return lambda _at: draw()


def _nested(name: str, kind: Type, draw: Draw) -> Maker:
    """A value inside another, where there are no rules."""
    if kind not in TIMES:
        return _typed_maker(name, kind, None, draw)
    writer = moments.writer_of(kind, None)
    return lambda at: f'"{writer.write(at.clock_us, moments.EARLIEST_US, moments.LATEST_US)}"'


def _collection(kind: Array | Map, name: str, shortest: int, longest: int | None, draw: Draw) -> Maker:
    def size() -> int:
        return texts.size_between(draw.rng, shortest, longest, _USUAL_ENTRIES)

    return _array(_nested(name, kind.element, draw), size) if isinstance(kind, Array) else _map(kind, name, size, draw)


def _array(element: Maker, size: Callable[[], int]) -> Maker:
    return lambda at: "[" + ",".join([element(at) for _ in range(size())]) + "]"


def _map(kind: Map, name: str, size: Callable[[], int], draw: Draw) -> Maker:
    value = _any_scalar(name, draw) if kind.value == Scalar("string") else _nested(name, kind.value, draw)

    def make(at: At) -> str:
        keys = [f"{draw.rng.choice(texts.WORDS)}_{number}" for number in range(size())]
        return "{" + ",".join([f'"{key}":{value(at)}' for key in keys]) + "}"

    return make


def _any_scalar(name: str, draw: Draw) -> Maker:
    """A `map<string,string>` takes any scalar and keeps its text."""
    kinds: tuple[Type, ...] = (Scalar("string"), Scalar("string"), Scalar("int"), Decimal(8, 2), Scalar("boolean"))
    makers = [_nested(name, kind, draw) for kind in kinds]
    return lambda at: draw.rng.choice(makers)(at)


def _struct(kind: Struct, name: str, draw: Draw) -> Maker:
    members: list[tuple[str, Maker]] = []
    for member in kind.members:
        maker = _nested(f"{name}.{member.name}", member.type, draw)
        members.append((texts.quoted(member.name), maker if member.required else optional(maker, draw)))

    def make(at: At) -> str:
        shown = [(key, maker(at)) for key, maker in members]
        return "{" + ",".join([f"{key}:{text}" for key, text in shown if text]) + "}"

    return make
