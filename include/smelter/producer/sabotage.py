"""Records with one fault each, and what must become of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from smelter.contracts import Contract
from smelter.contracts.types import Scalar
from smelter.producer import breaks, moments
from smelter.producer.moments import TIMES, At
from smelter.producer.plan import PER_RECORD, Faults, Reason
from smelter.producer.recipes import Recipe, at_moment, written
from smelter.producer.texts import quoted
from smelter.producer.values import Draw

_EXTRAS = ("debug", "trace_id", "utm_source", "schema_hint", "client")
_EXTRA_VALUES = ("true", '"abc"', "17", "null", '{"a":[1]}')
# Balanced brackets and quotes, no comma outside of brackets: in an array, each is one element.
_GARBAGE = (
    "<html><body><h1>502 Bad Gateway</h1><p>request {0}</p></body></html>",
    "{{'user_id': 'user-{0}', 'event_type': 'page_view'}}",
    '{{"request":{0},}}',
    '{{"amount":NaN,"request":{0}}}',
    "undefined",
    '{{"request":}}',
)


class Made(NamedTuple):
    """One record as it is written, or the letter of a cut, and what must become of it."""

    text: str
    fault: str | None = None
    reason: Reason | None = None
    field: str | None = None

    @property
    def is_garbage(self) -> bool:
        """True if the text is no JSON."""
        return self.reason is Reason.NOT_JSON


class Saboteur:
    """Makes the records of files, spoiling each one at most once, at the rates that it was given."""

    def __init__(self, contract: Contract, recipe: Recipe, faults: Faults, draw: Draw) -> None:
        self._contract, self._recipe, self._draw = contract, recipe, draw
        self._rng = draw.rng
        self._keys = {name: quoted(source_name) for name, source_name in contract.source_names.items()}
        self._required = [name for name, rules in contract.fields.items() if rules.required]
        self._bound_to_arrival = [name for name, rules in contract.fields.items() if rules.not_after_arrival]
        self._breakers = [
            (name, breaker)
            for name, rules in contract.fields.items()
            for breaker in breaks.breakers_of(contract.source_names[name], rules, draw)
        ]
        self._earlier: list[Made] = []  # of the same file
        self._kinds = _kinds_by_share(faults)
        self._spoil: dict[str, Callable[[At], Made | None]] = {
            "invalid": self._invalid, "missing": self._missing, "nulls": self._nulls, "wrong_type": self._wrong_type,
            "extra": self._extra, "duplicate": self._duplicate, "late": self._late,
            "out_of_order": self._out_of_order, "future": self._future, "garbage": self._garbage,
        }  # fmt: skip

    def make_file(self, slots: range, moment_us: Callable[[int], int], arrival_us: int) -> list[Made]:
        """The records of one file, in the order in which they are written."""
        self._earlier = made = []
        for number in slots:
            at = at_moment(number, moment_us(number), arrival_us, self._rng)
            made.append(self._make(at) if self._kinds else Made(self._recipe.text(at)))
        return _swapped(made) if self._kinds else made

    def _make(self, at: At) -> Made:
        share = self._rng.random()
        kind = next((name for name, below in self._kinds if share < below), None)
        spoilt = self._spoil[kind](at) if kind is not None else None
        return spoilt or Made(self._recipe.text(at))

    def _with(self, at: At, name: str, text: str, fault: str, reason: Reason) -> Made:
        parts = self._recipe.parts(at)
        parts[self._keys[name]] = text
        return Made(written(parts), fault, reason, self._contract.source_names[name])

    def _invalid(self, at: At) -> Made | None:
        for name, breaker in self._rng.sample(self._breakers, len(self._breakers)):
            text = breaker(at)
            if text is not None:
                return self._with(at, name, text, "invalid", Reason.RULE_BROKEN)
        return None

    def _missing(self, at: At) -> Made | None:
        if not self._required:
            return None
        name = self._rng.choice(self._required)
        parts = self._recipe.parts(at)
        del parts[self._keys[name]]
        return Made(written(parts), "missing", Reason.MISSING_FIELD, self._contract.source_names[name])

    def _nulls(self, at: At) -> Made | None:
        if not self._required:
            return None
        return self._with(at, self._rng.choice(self._required), "null", "nulls", Reason.MISSING_FIELD)

    def _wrong_type(self, at: At) -> Made | None:
        name = self._rng.choice(list(self._contract.fields))
        text = breaks.wrong_type(self._contract.fields[name], self._draw)
        return self._with(at, name, text, "wrong_type", Reason.WRONG_TYPE)

    def _extra(self, at: At) -> Made | None:
        name = self._rng.choice(_EXTRAS)
        while name in self._contract.fields or name in self._contract.source_names.values():
            name += "_x"
        text = written({**self._recipe.parts(at), quoted(name): self._rng.choice(_EXTRA_VALUES)})
        if self._contract.unknown_fields == "ignore":
            return Made(text, "extra")
        return Made(text, "extra", Reason.UNKNOWN_FIELD, name)

    def _duplicate(self, _at: At) -> Made | None:
        good = [made for made in self._earlier[-20:] if made.reason is None]
        return Made(self._rng.choice(good).text, "duplicate") if good else None

    def _late(self, at: At) -> Made | None:
        name = self._event_time()
        if name is None:
            return None
        low, _ = moments.bounds_us(self._contract.fields[name])
        hours_ago = at.arrival_us - moments.HOUR_US - self._rng.randrange(71 * moments.HOUR_US)
        clock_us = max(hours_ago, low)
        if clock_us > at.arrival_us - moments.HOUR_US:
            return None
        return Made(self._recipe.text(at._replace(clock_us=clock_us)), "late")

    def _out_of_order(self, at: At) -> Made | None:
        return Made(self._recipe.text(at), "out_of_order")

    def _future(self, at: At) -> Made | None:
        if not self._bound_to_arrival:
            return None
        name = self._rng.choice(self._bound_to_arrival)
        text = breaks.too_late(self._contract.fields[name], at, self._draw)
        return self._with(at, name, text, "future", Reason.RULE_BROKEN) if text is not None else None

    def _garbage(self, at: At) -> Made | None:
        return Made(self._rng.choice(_GARBAGE).format(at.number), "garbage", Reason.NOT_JSON)

    def _event_time(self) -> str | None:
        silver = self._contract.silver
        if silver is not None and silver.event_time is not None:
            return silver.event_time
        times = [name for name, rules in self._contract.fields.items() if rules.kind in TIMES]
        return next((name for name in times if self._contract.fields[name].kind == Scalar("timestamp")), None)


def _kinds_by_share(faults: Faults) -> list[tuple[str, float]]:
    """Each kind of fault with the upper end of its share of [0, 1); rates beyond 1 in sum are scaled down."""
    rates = [(name, getattr(faults, name)) for name in PER_RECORD if getattr(faults, name) > 0]
    most = max(1.0, sum(rate for _, rate in rates))
    return list(zip([name for name, _ in rates], accumulate(rate / most for _, rate in rates), strict=True))


def _swapped(made: list[Made]) -> list[Made]:
    """Each record that is out of order changes places with a neighbour; alone in its file it stays a plain one."""
    if len(made) == 1:
        return [made[0]._replace(fault=None)] if made[0].fault == "out_of_order" else made
    at = 0
    while at < len(made):
        is_swapped = made[at].fault == "out_of_order"
        other = at + 1 if at + 1 < len(made) else at - 1
        if is_swapped:
            made[at], made[other] = made[other], made[at]
        at += 2 if is_swapped else 1
    return made
