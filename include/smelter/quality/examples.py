"""Which rows failed? Up to twenty for each check, by their identity, so that they can be traced. One job for all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import DataFrame

from smelter.contracts.checks import Check
from smelter.quality.conditions import ROW_CHECKS, ROW_CHECKS_AMONG_OTHERS, fails, found_text, kinds_of
from smelter.quality.others import doubled, strangers
from smelter.quality.verdict import Example, Question

MOST = 20
_IDENTITY = ("_source", "_position")


def examples_of(rows: DataFrame, failed: Mapping[int, Check], question: Question) -> dict[int, tuple[Example, ...]]:
    """The first failing rows of each check, in the order of their identity; nothing is read if no row failed."""
    parts = [_first(_alone(rows, number, check)) for number, check in failed.items() if check.check in ROW_CHECKS]
    parts += [
        _first(_among(rows, number, check, question))
        for number, check in failed.items()
        if check.check in ROW_CHECKS_AMONG_OTHERS
    ]
    if not parts:
        return {}
    found: dict[int, list[Example]] = {}
    for row in sorted(reduce(DataFrame.unionAll, parts).collect(), key=lambda row: (row["_source"], row["_position"])):
        found.setdefault(row["number"], []).append(Example(row["_source"], row["_position"], row["found"]))
    return {number: tuple(examples) for number, examples in found.items()}


def _first(failing: DataFrame) -> DataFrame:
    """Each task keeps its own few: nothing is sorted but those, however many rows fail."""
    return failing.orderBy(*_IDENTITY).limit(MOST)


def _alone(rows: DataFrame, number: int, check: Check) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    kinds = kinds_of(rows)
    failing = rows.where(fails(check, kinds))
    return failing.select(F.lit(number).alias("number"), *_IDENTITY, found_text(check, kinds).alias("found"))


def _among(rows: DataFrame, number: int, check: Check, question: Question) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    found = doubled(rows, check) if check.check == "unique" else strangers(rows, check, question)
    return found.select(F.lit(number).alias("number"), *_IDENTITY, found_text(check, kinds_of(rows)).alias("found"))
