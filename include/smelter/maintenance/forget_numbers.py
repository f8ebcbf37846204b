"""A number that somebody typed as tables have it, so that an engine compares it with what is there."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

from smelter.maintenance.person import Value

BOUNDS = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
_MOST_DIGITS = 38


def number_of(number: Decimal, kind: str) -> Value:
    """A number as one of the kind; one that the kind cannot have raises ValueError or ArithmeticError."""
    if kind == "float":
        return single(float(number))
    if kind == "double":
        return _finite(float(number))
    if kind in BOUNDS and not BOUNDS[kind][0] <= number <= BOUNDS[kind][1]:
        raise ValueError(number)
    plain = _plain(number)
    return int(plain) if kind in BOUNDS and plain == plain.to_integral_value() else plain


def single(number: float) -> float:
    """The number of 32 bits that is next to it: no column of such numbers has 0.1 itself."""
    (found,) = struct.unpack("f", struct.pack("f", number))
    return _finite(float(found))


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError(number)
    return number


def _plain(number: Decimal) -> Decimal:
    """Without an exponent: DuckDB 1.5.5 takes the decimal 1E+20 for a small number."""
    if abs(number.adjusted()) > _MOST_DIGITS:
        raise ValueError(number)
    plain = Decimal(format(number, "f"))
    _, digits, exponent = plain.as_tuple()
    if max(len(digits), -int(exponent)) > _MOST_DIGITS:
        raise ValueError(number)
    return plain
