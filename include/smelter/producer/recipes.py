"""Whole good records for any contract."""

from __future__ import annotations

import datetime
import decimal
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from smelter.contracts import Contract, FieldRules
from smelter.contracts.rules import INTEGERS
from smelter.contracts.types import Scalar
from smelter.producer import numbers
from smelter.producer.moments import TIMES, At
from smelter.producer.plan import EPOCH, SAMPLE_START, SECOND_US
from smelter.producer.shopping import Shopping
from smelter.producer.texts import quoted, unique_id
from smelter.producer.values import Draw, Maker, maker_of, optional

_ID_DIGITS = 32
_SAMPLE_STEP_US = 10_000
_EDGES = 0.15


@dataclass(frozen=True)
class Recipe:
    """How the records of one contract are made: a maker for each key, in the order of the contract."""

    makers: tuple[tuple[str, Maker], ...]

    def parts(self, at: At) -> dict[str, str]:
        """One good record: the JSON text of each value by the JSON text of its key."""
        made = {}
        for key, maker in self.makers:
            text = maker(at)
            if text:
                made[key] = text
        return made

    def text(self, at: At) -> str:
        """One good record as compact JSON."""
        return written(self.parts(at))


def written(parts: dict[str, str]) -> str:
    """The compact JSON object of these keys and values."""
    return "{" + ",".join([f"{key}:{text}" for key, text in parts.items()]) + "}"


def recipe_of(contract: Contract, draw: Draw, run: str) -> Recipe:
    """The recipe of a contract; `run` goes into every id, so that no two runs share one."""
    shaped = Shopping(draw, run).makers(contract)
    times = [name for name, rules in contract.fields.items() if rules.kind in TIMES]
    makers: list[tuple[str, Maker]] = []
    for name, rules in contract.fields.items():
        maker = shaped.get(name) or _identity(contract, name, run)
        if maker is None:
            times_after = len(times) - 1 - times.index(name) if name in times else 0
            maker = maker_of(contract.source_names[name], rules, draw, times_after)
            maker = maker if rules.required else optional(maker, draw)
        makers.append((quoted(contract.source_names[name]), maker))
    return Recipe(tuple(makers))


def good_record_text(
    contract: Contract, rng: random.Random, arrival: datetime.datetime = SAMPLE_START, edges: float = _EDGES
) -> bytes:
    """One good record for a file that arrives at `arrival`; `edges` is the share of values at the end of their type."""
    arrival_us = (arrival - EPOCH) // datetime.timedelta(microseconds=1)
    at = At(rng.getrandbits(32), arrival_us - SECOND_US, arrival_us, _step_us(rng))
    return recipe_of(contract, Draw(rng, edges), str(rng.getrandbits(32))).text(at).encode()


def record_maker(contract: Contract, seed: int) -> Callable[[int], dict[str, Any]]:
    """Good records by number, under the source's names; the same number gives the same record.

    Numbers with a point are `decimal.Decimal`, so that their digits are exact; write them with `str`, not with `json`.
    All of them are good in a file that arrives at `SAMPLE_START` or later.
    """
    rng = random.Random()
    recipe = recipe_of(contract, Draw(rng), f"{seed}:{contract.dataset}")
    arrival_us = (SAMPLE_START - EPOCH) // datetime.timedelta(microseconds=1)

    def make(index: int) -> dict[str, Any]:
        rng.seed(f"{seed}:{contract.dataset}:{index}")
        at = At(index, arrival_us - SECOND_US - index * _SAMPLE_STEP_US, arrival_us, _step_us(rng))
        record: dict[str, Any] = json.loads(recipe.text(at), parse_float=decimal.Decimal)
        return record

    return make


def _step_us(rng: random.Random) -> int:
    """How far apart the times of one record are: one to forty minutes."""
    return int((60 + rng.random() * 2340) * SECOND_US)


def at_moment(index: int, clock_us: int, arrival_us: int, rng: random.Random) -> At:
    """Where a record stands, with a step of its own between its times."""
    return At(index, clock_us, arrival_us, _step_us(rng))


def _identity(contract: Contract, name: str, run: str) -> Maker | None:
    """Unique values for the field that alone is silver's key, if its type and rules have room for them."""
    if contract.silver is None or contract.silver.key != (name,):
        return None
    rules = contract.fields[name]
    if rules.one_of is not None or rules.pattern is not None:
        return None
    if rules.kind == Scalar("string"):
        return _id_texts(rules, run)
    if isinstance(rules.kind, Scalar) and rules.kind.name in INTEGERS:
        return _id_numbers(rules)
    return None


def _id_texts(rules: FieldRules, run: str) -> Maker | None:
    shortest, longest = rules.min_length or 0, rules.max_length
    if longest is not None and longest < _ID_DIGITS // 2:
        return None

    def make(at: At) -> str:
        return f'"{unique_id(run, at.number).ljust(shortest, "0")[:longest]}"'

    return make


def _id_numbers(rules: FieldRules) -> Maker | None:
    steps = numbers.steps_of(rules.kind, rules)
    first = steps.low if rules.min is not None else min(max(steps.low, 1), steps.high)
    room = steps.high - first + 1
    return (lambda at: str(first + at.number % room)) if room > 0 else None
