"""Numbers of every type, within their rules or just outside of them; always as the text of a JSON number."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from smelter.contracts import FieldRules
from smelter.contracts.rules import INTEGERS, rule_value
from smelter.contracts.types import Decimal, Scalar, Type

USUAL = 100  # how far numbers without a rule usually go
_FLOAT_LIMIT = 3.4e38
_DOUBLE_LIMIT = 1.7e308


@dataclass(frozen=True)
class Steps:
    """A type of exact numbers: whole multiples of 10^-scale from `lowest` to `highest`, and what the rules leave."""

    scale: int
    lowest: int
    highest: int
    low: int
    high: int
    is_ruled: tuple[bool, bool]

    def text(self, steps: int) -> str:
        """The number with exactly `scale` digits after the point."""
        if self.scale == 0:
            return str(steps)
        digits = str(abs(steps)).rjust(self.scale + 1, "0")
        return f"{'-' if steps < 0 else ''}{digits[: -self.scale]}.{digits[-self.scale :]}"

    def window(self) -> tuple[int, int]:
        """Where ordinary values lie: small ones, near the bounds that there are."""
        usual = USUAL if self.scale == 0 else 100 * 10**self.scale
        has_low, has_high = self.is_ruled
        if has_low and has_high:
            return self.low, self.high
        if has_high:
            return max(self.low, min(0, self.high - usual)), self.high
        first = self.low if has_low else max(self.low, 0)
        return first, min(self.high, first + usual)


def steps_of(kind: Type, rules: FieldRules | None) -> Steps:
    """The exact numbers of an int, a long or a decimal, with the bounds of its rules."""
    if isinstance(kind, Decimal):
        scale, highest = kind.scale, 10**kind.precision - 1
        lowest = -highest
    else:
        assert isinstance(kind, Scalar)
        scale = 0
        lowest, highest = INTEGERS[kind.name]
    low, high = lowest, highest
    if rules is not None and rules.min is not None:
        low = max(low, math.ceil(Fraction(rule_value(kind, rules.min, "min")) * 10**scale))
    if rules is not None and rules.max is not None:
        high = min(high, math.floor(Fraction(rule_value(kind, rules.max, "max")) * 10**scale))
    is_ruled = (rules is not None and rules.min is not None, rules is not None and rules.max is not None)
    return Steps(scale, lowest, highest, low, high, is_ruled)


def exact_numbers(steps: Steps, rng: random.Random, edges: float) -> Callable[[], str]:
    """Draws numbers of the type, small ones more often; with probability `edges` the ends of the range."""
    first, last = steps.window()
    skew = 1 if all(steps.is_ruled) else 3
    ends = [end for end in (steps.low, steps.high, 0) if steps.low <= end <= steps.high]

    def draw() -> str:
        if edges and rng.random() < edges:
            return steps.text(rng.choice(ends))
        return steps.text(min(last, first + int(rng.random() ** skew * (last - first + 1))))

    return draw


def listed_number(kind: Type, value: object) -> str | None:
    """The text of a value of `one_of`, or None if the type cannot hold it."""
    number = rule_value(kind, value, "one_of")
    if isinstance(number, int):
        return str(number)
    steps = Fraction(number) * 10 ** steps_of(kind, None).scale
    known = steps_of(kind, None)
    fits = steps.denominator == 1 and known.lowest <= steps <= known.highest
    return known.text(steps.numerator) if fits else None


def float_bounds(kind: Scalar, rules: FieldRules | None) -> tuple[float, float]:
    """The bounds of a float or a double, narrowed by its rules."""
    limit = _FLOAT_LIMIT if kind.name == "float" else _DOUBLE_LIMIT
    low = -limit if rules is None or rules.min is None else max(-limit, float(rules.min))
    high = limit if rules is None or rules.max is None else min(limit, float(rules.max))
    return low, high


def float_numbers(kind: Scalar, rules: FieldRules | None, rng: random.Random, edges: float) -> Callable[[], str]:
    """Draws floats that stay within bounds also after they are rounded to their type."""
    low, high = float_bounds(kind, rules)
    has_low, has_high = rules is not None and rules.min is not None, rules is not None and rules.max is not None
    first = low if has_low else max(low, min(0.0, high - USUAL))
    last = high if has_high else min(high, first + USUAL)
    skew = 1 if has_low and has_high else 3
    is_short = kind.name == "float"

    def draw() -> str:
        if edges and rng.random() < edges:
            return _float_text(rng.choice((low, high)), low, high, is_short)
        share = rng.random() ** skew
        return _float_text(first * (1 - share) + last * share, low, high, is_short)

    return draw


def _float_text(wanted: float, low: float, high: float, is_short: bool) -> str:
    tidy = round(wanted * 4) / 4 if is_short else round(wanted, 2)  # quarters are exact in 32 bits
    for value in (tidy, wanted, low, high):
        stored = _in_32_bits(value) if is_short else value
        if low <= value <= high and low <= stored <= high:
            return repr(stored)
    return repr(low)


def _in_32_bits(value: float) -> float:
    stored: float = struct.unpack("f", struct.pack("f", value))[0]
    return stored


def outside_float(bound: float, direction: int, kind: Scalar) -> str | None:
    """A number beyond the bound, far enough to stay there in 32 bits; None if the type ends before it."""
    low, high = float_bounds(kind, None)
    beyond = bound + direction * max(1.0, abs(bound) / 2)
    return repr(beyond) if low <= beyond <= high and beyond != bound else None


def outside_exact(steps: Steps, direction: int, rng: random.Random) -> str | None:
    """A number beyond the lower (-1) or upper (1) bound; None if the type ends there."""
    bound, end = (steps.low, steps.lowest) if direction < 0 else (steps.high, steps.highest)
    room = abs(end - bound)
    return steps.text(bound + direction * rng.randint(1, min(room, USUAL))) if room else None
