"""Rows, checks and questions, with what does not matter left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from smelter.contracts.checks import Check
from smelter.quality.expectations import expect
from smelter.quality.gate import judge
from smelter.quality.measure import Measure
from smelter.quality.verdict import Question, Result, Verdict
from smelter.quality.words import sentence, wanted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
COLUMNS = (
    "id string, n int, price decimal(10,2), ratio double, small float, at timestamp, day date, kind string, "
    "tags array<string>, properties map<string,string>, _source string, _position bigint"
)
GOOD: dict[str, Any] = {
    "id": "a1",
    "n": 1,
    "price": Decimal("1.50"),
    "ratio": 0.5,
    "small": 0.1,
    "at": NOW - timedelta(minutes=10),
    "day": NOW.date(),
    "kind": "x",
    "tags": ["t"],
    "properties": {"k": "v"},
    "_source": "file:///landing/a.json",
}
QUESTION = Question("things", "things@1", "increment", "run-1", NOW, ("id",), "snapshots 1 to 2")


def rows_of(spark: SparkSession, *changes: dict[str, Any]) -> DataFrame:
    """One good row for each mapping, with what it changes; `_position` counts them."""
    rows = [{**GOOD, "_position": place, **change} for place, change in enumerate(changes)]
    names = [part.split()[0] for part in COLUMNS.replace("map<string,string>", "map").split(", ")]
    return spark.createDataFrame([tuple(row[name] for name in names) for row in rows], COLUMNS).coalesce(1)


def check_of(kind: str, name: str = "it", **words: Any) -> Check:
    return Check.model_validate({"name": name, "check": kind, **words})


def the_result(rows: DataFrame, check: Check, **asked: Any) -> Result:
    """What one check finds."""
    (result,) = judge(rows, [check], replace(QUESTION, **asked)).results
    return result


def failing(rows: DataFrame, *checks: Check, **asked: Any) -> list[list[int]]:
    """For each check the positions of the rows that fail it; all in one question."""
    named = [check.model_copy(update={"name": f"check {number}"}) for number, check in enumerate(checks)]
    results = judge(rows, named, replace(QUESTION, **asked)).results
    for result in results:
        assert result.failing == len(result.examples) == result.found
        assert result.ok == (not result.examples)
    return [[example.position for example in result.examples] for result in results]


def verdict_of(checks: Sequence[Check], measures: Sequence[Measure], question: Question = QUESTION) -> Verdict:
    """A verdict on measures, without rows and without Spark."""
    judged = expect(checks, measures, question)
    results = [
        Result(
            name=check.name,
            check=check.check,
            column=", ".join(check.columns_named),
            on_failure=check.on_failure,
            ok=check.name in judged.good,
            found=measured.found,
            wanted=wanted(check),
            sentence=sentence(check, measured, 100),
            rows=100,
            failing=measured.failing,
        )
        for check, measured in zip(checks, measures, strict=True)
    ]
    return Verdict(tuple(results), 100, question.at, judged.validation)
