"""Great Expectations judges the measures: one row, one column and one expectation for each check, on pandas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smelter.contracts.checks import Check
from smelter.errors import Unreachable
from smelter.quality.gx import great_expectations, new_context, quiet
from smelter.quality.measure import Measure
from smelter.quality.verdict import Question
from smelter.quality.words import bounds, wanted

_SEVERITIES = {"stop": "critical", "warn": "warning"}


@dataclass(frozen=True)
class Judged:
    """The names of the checks that hold, and the whole result as Great Expectations itself reads it again."""

    good: frozenset[str]
    validation: str


def expect(checks: Sequence[Check], measures: Sequence[Measure], question: Question) -> Judged:
    """What Great Expectations says of these measures, one for each check and in the same order."""
    gx = great_expectations()
    import pandas

    names = [check.name for check in checks]
    frame = pandas.DataFrame([[one.found for one in measures]], columns=names, dtype="float64")
    with quiet():
        suite = gx.ExpectationSuite(name=question.dataset, expectations=[_expectation(gx, check) for check in checks])
        asset = new_context().data_sources.add_pandas(question.scope).add_dataframe_asset(f"silver.{question.dataset}")
        batch = asset.add_batch_definition_whole_dataframe(question.run).get_batch({"dataframe": frame})
        result = batch.validate(suite)
    _refuse_unjudged(result)
    result.meta["run_id"] = {"run_name": question.run, "run_time": question.at.isoformat()}
    good = frozenset(one.expectation_config.kwargs["column"] for one in result.results if one.success)
    return Judged(good, json.dumps(result.to_json_dict(), default=float, ensure_ascii=False))


def _expectation(gx: Any, check: Check) -> Any:
    low, high = bounds(check)
    return gx.expectations.ExpectColumnMaxToBeBetween(
        column=check.name,
        min_value=low,
        max_value=high,
        severity=_SEVERITIES[check.on_failure],
        description=wanted(check),
        meta={"check": check.check, "on_failure": check.on_failure},
    )


def _refuse_unjudged(result: Any) -> None:
    for one in result.results:
        if one.exception_info and one.exception_info.get("raised_exception"):
            raise Unreachable(
                f"Great Expectations could not judge: {one.exception_info.get('exception_message')}",
                data="nothing was published, and no bookmark moved",
                next_step="smelt doctor",
            )
