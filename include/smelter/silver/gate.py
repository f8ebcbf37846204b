"""May an increment be published? The contract's checks, the verdict written down, and who overrides it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from smelter.contracts import Contract
from smelter.contracts.faults import printable
from smelter.errors import Refused
from smelter.lake.home import Lake
from smelter.lake.increments import Slice
from smelter.quality.gate import judge
from smelter.quality.others import rows_of
from smelter.quality.records import record
from smelter.quality.verdict import Decision, Question, Result, Scope, Verdict
from smelter.silver.definition import silver_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN = 3


@dataclass(frozen=True)
class Increment:
    """Rows that would be published."""

    lake: Lake
    spark: SparkSession
    contract: Contract
    rows: DataFrame
    part: Slice
    place: tuple[int, int]  # which slice of how many


@dataclass(frozen=True)
class Passed:
    """A verdict with which an increment may be published."""

    lake: Lake
    question: Question
    verdict: Verdict
    reason: str  # why it is published although a check says stop

    def note(self) -> None:
        """Write the verdict down; after the commit, so that what is called published is."""
        decision = Decision.OVERRIDDEN if self.reason else Decision.PUBLISHED
        record(self.lake, self.question, self.verdict, decision, self.reason or None)


def pass_or_refuse(increment: Increment, at: datetime, *, scope: Scope, anyway: str) -> Passed:
    """Judge the rows; a check that says stop is written down and refused, unless there is a reason to publish."""
    contract = increment.contract
    question = _question(increment, at, scope)
    verdict = judge(increment.rows, contract.quality, question)
    if verdict.stopped and not anyway:
        record(increment.lake, question, verdict, Decision.STOPPED)
        raise _stopped(verdict, contract.dataset, increment.place)
    return Passed(increment.lake, question, verdict, anyway if verdict.stopped else "")


def nothing_to_judge(increment: Increment, at: datetime) -> Passed:
    """An increment whose rows have all left bronze again passes, whatever the checks say of no rows."""
    return Passed(increment.lake, _question(increment, at, "increment"), Verdict((), 0, at), "")


def _question(increment: Increment, at: datetime, scope: Scope) -> Question:
    contract, part = increment.contract, increment.part
    return Question(
        dataset=contract.dataset,
        contract=contract.label,
        scope=scope,
        run=f"silver:{uuid.uuid4().hex[:12]}",
        at=at,
        key=silver_of(contract).key,
        source=f"bronze snapshots {part.start or 'from the first'} to {part.end}",
        others=lambda other: rows_of(increment.lake, other, increment.spark),
    )


def kept_before(dataset: str, place: tuple[int, int]) -> str:
    """What is true of silver if a slice is not published."""
    number, of = place
    if number == 1:
        return f"nothing was published; silver.{dataset} and its bookmark are as they were"
    return (
        f"slice {number} of {of} was not published; silver.{dataset} and its bookmark have the {number - 1} before it"
    )


def _stopped(verdict: Verdict, dataset: str, place: tuple[int, int]) -> Refused:
    """Which checks failed, with the numbers and a few of the rows, and what can be done."""
    said = "\n  ".join(line for one in verdict.stopped for line in (one.sentence, *_examples(one)))
    return Refused(
        f"{len(verdict.stopped)} of {len(verdict.results)} checks failed, so the rows were not published:\n  {said}",
        where=f"rows of bronze.{dataset} that silver does not have yet",
        data=f"{kept_before(dataset, place)}; the verdict is in ops.quality",
        next_step="mend the source or the check; or take it upon yourself: "
        f'smelt silver {dataset} --publish-anyway "REASON"',
    )


def _examples(result: Result) -> list[str]:
    """A few of the rows, as `smelt trace` takes them; all that were kept are in `ops.quality`."""
    shown = [f"  {printable(one.source)}:{one.position}  {printable(one.found)}" for one in result.examples[:_SHOWN]]
    more = result.failing - len(shown)
    return [*shown, f"  and {more:,} more"] if shown and more > 0 else shown
