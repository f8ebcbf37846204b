"""Which rows failed? Up to twenty for each check, by their identity, so that they can be traced. One job for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from smelter.contracts.checks import Check
from smelter.quality.conditions import ROW_CHECKS, ROW_CHECKS_AMONG_OTHERS, fails, found_text, kinds_of
from smelter.quality.others import doubled, strangers
from smelter.quality.verdict import Example, Question

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MOST = 20
_IDENTITY = ("_source", "_position")


def examples_of(rows: DataFrame, failed: Mapping[int, Check], question: Question) -> dict[int, tuple[Example, ...]]:
    """The first failing rows of each check, in the order of their identity; nothing is read if no row failed."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.window import Window

    alone = {number: check for number, check in failed.items() if check.check in ROW_CHECKS}
    among = {number: check for number, check in failed.items() if check.check in ROW_CHECKS_AMONG_OTHERS}
    parts = [_alone(rows, alone)] if alone else []
    parts += [_among(rows, number, check, question) for number, check in among.items()]
    if not parts:
        return {}
    failing = parts[0]
    for part in parts[1:]:
        failing = failing.unionAll(part)
    place = F.row_number().over(Window.partitionBy("number").orderBy(*_IDENTITY))
    first = failing.select("*", place.alias("place")).where(F.col("place") <= MOST)
    found: dict[int, list[Example]] = {}
    for row in sorted(first.collect(), key=lambda row: row["place"]):
        found.setdefault(row["number"], []).append(Example(row["_source"], row["_position"], row["found"]))
    return {number: tuple(examples) for number, examples in found.items()}


def _alone(rows: DataFrame, checks: Mapping[int, Check]) -> DataFrame:
    """Each row once for every check that it fails by itself."""
    from pyspark.sql import functions as F  # noqa: N812

    kinds = kinds_of(rows)
    failures = F.array(
        *(
            F.when(
                fails(check, kinds), F.struct(F.lit(number).alias("number"), found_text(check, kinds).alias("found"))
            )
            for number, check in checks.items()
        )
    )
    each = rows.select(*_IDENTITY, F.explode(F.array_compact(failures)).alias("failure"))
    return each.select("failure.number", *_IDENTITY, "failure.found")


def _among(rows: DataFrame, number: int, check: Check, question: Question) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    found = doubled(rows, check) if check.check == "unique" else strangers(rows, check, question)
    return found.select(F.lit(number).alias("number"), *_IDENTITY, found_text(check, kinds_of(rows)).alias("found"))
