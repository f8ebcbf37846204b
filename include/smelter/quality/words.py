"""A check in words: what is wanted, and what was found where it does not hold."""

from __future__ import annotations

from smelter.contracts.checks import Check
from smelter.contracts.times import seconds_of
from smelter.quality.measure import Measure

_LISTED = 5


def wanted(check: Check) -> str:
    """What holds for good rows."""
    column, columns = check.column or "", ", ".join(check.columns or ())
    return {
        "not_null": f"every row has {column}",
        "unique": f"no two rows have the same {columns}",
        "in_set": f"every {column} is one of {_listed(check)}",
        "between": f"every {column} is {_range(check)}",
        "row_count": f"there are {_range(check)} rows",
        "null_share": f"at most {_percent(check.share)} of the rows have no {column}",
        "freshness": f"the newest {column} is at most {check.max_age} old",
        "regex": f"every {column} matches {check.pattern}",
        "exists_in": f"every {column} is in {check.dataset}.{check.field}",
        "sql": f"every row has {check.expression}",
    }[check.check]


def sentence(check: Check, measured: Measure, rows: int) -> str:
    """Which check, the number found and what was wanted; for a check that holds and for one that does not."""
    return f"{check.name}: {_found(check, measured, rows)}; wanted: {wanted(check)}"


def bounds(check: Check) -> tuple[float | None, float | None]:
    """The smallest and the largest measure that is good."""
    if check.check == "row_count":
        return _number(check.min), _number(check.max)
    if check.check == "null_share":
        return None, check.share
    if check.check == "freshness":
        return None, seconds_of(check.max_age or "1s")
    return None, 0


def shown(check: str, found: float | None) -> str:
    """A measure as people read it."""
    if found is None:
        return "nothing"
    if check == "null_share":
        return _percent(found)
    return age(found) if check == "freshness" else f"{found:,.0f}"


def age(seconds: float) -> str:
    """`45 s`, `3.5 min`, `2.0 h` or `4.1 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if abs(seconds) >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"


def _found(check: Check, measured: Measure, rows: int) -> str:
    if check.check == "row_count":
        return f"{rows:,} rows"
    if check.check == "null_share":
        return f"{_percent(measured.found or 0)} of {rows:,} rows ({measured.failing:,}) have none"
    if check.check == "freshness":
        return f"the newest is {age(measured.found)} old" if measured.found is not None else "there is no time at all"
    return f"{measured.failing:,} of {rows:,} rows fail"


def _range(check: Check) -> str:
    if check.min is None:
        return f"at most {check.max}"
    return f"at least {check.min}" if check.max is None else f"{check.min} to {check.max}"


def _listed(check: Check) -> str:
    values = check.values or ()
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(str(value) for value in values[:_LISTED]) + more


def _percent(share: float) -> str:
    return f"{share * 100:.4g}%"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
