"""Are these rows fit to publish? Measured in one pass, judged by Great Expectations, with the rows that failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from smelter.contracts.checks import Check
from smelter.errors import Refused
from smelter.lake.spark_errors import cause_of
from smelter.quality.examples import examples_of
from smelter.quality.expectations import expect
from smelter.quality.measure import Measure, measure
from smelter.quality.verdict import Example, Question, Result, Verdict
from smelter.quality.words import sentence, wanted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def judge(rows: DataFrame, checks: Sequence[Check], question: Question) -> Verdict:
    """What the checks find in the rows, which the caller has cached: read once, and again only for failures."""
    if not checks:
        return Verdict((), 0, question.at)
    with _spark_errors(question):
        count, measures = measure(rows, checks, question)
        judged = expect(checks, measures, question)
        failed = {number: check for number, check in enumerate(checks) if check.name not in judged.good}
        examples = examples_of(rows, failed, question)
    results = [
        _result(check, measures[number], count, number not in failed, examples.get(number, ()))
        for number, check in enumerate(checks)
    ]
    return Verdict(tuple(results), count, question.at, judged.validation)


@contextmanager
def _spark_errors(question: Question) -> Iterator[None]:
    """What one row can still break, such as a sum that is too large, in one sentence."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JJavaError) as problem:
        raise Refused(
            f"the checks of {question.dataset} cannot be done: {cause_of(problem)}",
            where=", ".join(filter(None, (question.contract, question.source))),
            data="nothing was published, and no bookmark moved",
            next_step=f"mend `quality` in the contract, then: smelt contract apply {question.dataset}",
        ) from problem


def _result(check: Check, measured: Measure, rows: int, ok: bool, examples: tuple[Example, ...]) -> Result:
    return Result(
        name=check.name,
        check=check.check,
        column=", ".join(check.columns_named),
        on_failure=check.on_failure,
        ok=ok,
        found=measured.found,
        wanted=wanted(check),
        sentence=sentence(check, measured, rows),
        rows=rows,
        failing=measured.failing,
        examples=examples,
    )
