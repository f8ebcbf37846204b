"""What checks have found, for good: rows of `ops.quality`, and Great Expectations' results for its report."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThan

from smelter.lake.catalog import catalog_errors
from smelter.lake.home import OPS, QUALITY, Lake
from smelter.lake.tables import ensure_quality_table, find_table
from smelter.quality.results import keep_result
from smelter.quality.verdict import Decision, Example, Question, Result, Verdict

_TOLD = tuple(Result.__dataclass_fields__)
_STOPPED = Decision.STOPPED.value


@dataclass(frozen=True)
class PastResult:
    """What one check found in one run."""

    run: str
    at: datetime
    scope: str
    contract: str
    decision: Decision
    reason: str | None
    result: Result


def record(lake: Lake, question: Question, verdict: Verdict, decision: Decision, reason: str | None = None) -> None:
    """Append one row for each check to `ops.quality`, and keep the result for the report.

    A run that is recorded twice is there twice: whoever is killed between a publication and its record loses the
    record, never the publication, so record a failure before saying it and a publication after it.
    """
    if not verdict.results:
        return
    rows = [_row(question, verdict, result, decision, reason) for result in verdict.results]
    table = ensure_quality_table(lake)
    with catalog_errors(str(lake.root)), warnings.catch_warnings(action="ignore"):
        table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
    keep_result(lake, question, verdict, decision, reason)


def past_results(lake: Lake, dataset: str) -> list[PastResult]:
    """Everything that checks of a dataset have found, oldest first."""
    table = find_table(lake, OPS, QUALITY)
    if table is None:
        return []
    rows = table.scan(row_filter=EqualTo(term="dataset", value=dataset)).to_arrow().to_pylist()
    return sorted((_past(row) for row in rows), key=lambda past: past.at)


def stopped_since(lake: Lake, dataset: str, moment: datetime | None) -> tuple[str, ...]:
    """The checks that stopped the newest run after a moment; none if no run was stopped since."""
    table = find_table(lake, OPS, QUALITY)
    if table is None:
        return ()
    wanted: BooleanExpression = And(EqualTo(term="dataset", value=dataset), EqualTo(term="decision", value=_STOPPED))
    if moment is not None:
        wanted = And(wanted, GreaterThan(term="at", value=moment.isoformat()))
    stops = [past for past in map(_past, table.scan(row_filter=wanted).to_arrow().to_pylist()) if _stops(past.result)]
    newest = max(stops, key=lambda past: past.at, default=None)
    return tuple(past.result.name for past in stops if newest is not None and past.run == newest.run)


def _stops(result: Result) -> bool:
    return not result.ok and result.on_failure == "stop"


def _row(
    question: Question, verdict: Verdict, result: Result, decision: Decision, reason: str | None
) -> dict[str, Any]:
    asked = {name: getattr(question, name) for name in ("run", "dataset", "contract", "scope", "source")}
    return {**asked, **asdict(result), "at": verdict.at, "decision": decision.value, "reason": reason}


def _past(row: dict[str, Any]) -> PastResult:
    told = {name: row[name] for name in _TOLD}
    told["examples"] = tuple(Example(**example) for example in row["examples"])
    return PastResult(
        row["run"],
        row["at"],
        row["scope"],
        row["contract"],
        Decision(row["decision"]),
        row["reason"],
        Result(**told),
    )
