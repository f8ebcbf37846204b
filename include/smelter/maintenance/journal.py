"""What was done to each table, for good: rows of `ops.maintenance`. A table that fails again and again is set aside.

Safe to kill and to repeat: a row is appended when a table is finished; whoever is killed before has no row, and what
was done to the table is done all the same.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, EqualTo
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, ListType, LongType, NestedField, StringType, StructType, TimestamptzType

from smelter.errors import SmelterError
from smelter.lake.catalog import catalog_errors
from smelter.lake.home import OPS, Lake
from smelter.lake.tables import ensure_table, find_table
from smelter.maintenance.faults import faults_of

JOURNAL = "maintenance"
LAKE = "lake"  # instead of a table's name: what was done for the lake as a whole
MOST_FAILURES = 5
DONE, FAILED, POSTPONED, PLANNED, RETRY = "done", "failed", "postponed", "planned", "retry"


@dataclass(frozen=True)
class StepDone:
    """One step, as it went."""

    step: str
    outcome: str  # done, failed, postponed, planned
    why: str
    said: str
    seconds: float = 0.0
    bytes_freed: int = 0
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One table in one run."""

    run: str
    table: str
    at: datetime
    outcome: str
    seconds: float = 0.0
    problem: str | None = None
    bytes_freed: int = 0
    steps: tuple[StepDone, ...] = ()
    kept: tuple[str, ...] = ()  # what was not touched, and why


def record(lake: Lake, entry: Entry) -> None:
    """Append one row."""
    table = ensure_table(lake, OPS, JOURNAL, _schema(), (), {})
    with catalog_errors(str(lake.root)), warnings.catch_warnings(action="ignore"):
        table.append(pa.Table.from_pylist([_row(entry)], schema=table.schema().as_arrow()))


def history(lake: Lake, table: str | None = None) -> list[Entry]:
    """What was done to a table, or to all, oldest first."""
    journal = find_table(lake, OPS, JOURNAL)
    if journal is None or journal.current_snapshot() is None:
        return []
    where: BooleanExpression = AlwaysTrue() if table is None else EqualTo(term="table", value=table)
    with faults_of(f"{OPS}.{JOURNAL}", f"smelt maintain snapshots {OPS}.{JOURNAL}: an earlier one may be whole"):
        rows = journal.scan(row_filter=where).to_arrow().sort_by("at").to_pylist()
    return [_entry(row) for row in rows]


def tables_aside(lake: Lake) -> dict[str, str]:
    """Tables that nobody tries any more, and why; none as long as the journal cannot be read: that keeps no table from
    its turn, and the journal's own turn tells it."""
    try:
        return set_aside(history(lake))
    except SmelterError:
        return {}


def set_aside(entries: Sequence[Entry]) -> dict[str, str]:
    """Tables that failed so often in a row that nobody tries any more, with the last reason."""
    row: dict[str, list[str]] = {}
    for entry in entries:
        if entry.outcome == POSTPONED or entry.table == LAKE:
            continue  # its turn did not come: that says nothing of the table
        failures = row.setdefault(entry.table, [])
        if entry.outcome == FAILED:
            failures.append(entry.problem or "")
        else:
            failures.clear()
    return {table: problems[-1] for table, problems in row.items() if len(problems) >= MOST_FAILURES}


def retry(lake: Lake, table: str, run: str) -> None:
    """From now on the table is looked after again."""
    record(lake, Entry(run, table, datetime.now(UTC), RETRY))


def _schema() -> Schema:
    texts = ("step", "outcome", "why", "said")
    fields = [NestedField(20 + at, name, StringType(), required=True) for at, name in enumerate(texts)]
    step = StructType(
        *fields,
        NestedField(24, "seconds", DoubleType(), required=True),
        NestedField(25, "bytes_freed", LongType(), required=True),
        NestedField(26, "before", StringType(), required=True, doc="Numbers as JSON."),
        NestedField(27, "after", StringType(), required=True, doc="Numbers as JSON."),
    )
    return Schema(
        NestedField(1, "run", StringType(), required=True, doc="The name that smelt maintain restore takes."),
        NestedField(2, "table", StringType(), required=True),
        NestedField(3, "at", TimestamptzType(), required=True),
        NestedField(4, "outcome", StringType(), required=True, doc="done, failed, postponed or retry"),
        NestedField(5, "seconds", DoubleType(), required=True),
        NestedField(6, "problem", StringType(), required=False, doc="Why it failed."),
        NestedField(7, "bytes_freed", LongType(), required=True),
        NestedField(8, "steps", ListType(10, step, element_required=True), required=True),
        NestedField(9, "kept", ListType(11, StringType(), element_required=True), required=True, doc="And why."),
    )


def _row(entry: Entry) -> dict[str, Any]:
    names = ("step", "outcome", "why", "said", "seconds", "bytes_freed")
    steps = [
        {name: getattr(one, name) for name in names}
        | {"before": json.dumps(dict(one.before)), "after": json.dumps(dict(one.after))}
        for one in entry.steps
    ]
    told = ("run", "table", "at", "outcome", "seconds", "problem", "bytes_freed")
    return {name: getattr(entry, name) for name in told} | {"steps": steps, "kept": list(entry.kept)}


def _entry(row: Mapping[str, Any]) -> Entry:
    steps = tuple(
        StepDone(**{**one, "before": json.loads(one["before"]), "after": json.loads(one["after"])})
        for one in row["steps"]
    )
    return Entry(**{**row, "steps": steps, "kept": tuple(row["kept"])})
