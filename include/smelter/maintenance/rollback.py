"""A table that is made from others becomes what it was before; whoever makes it goes on from there.

Safe to kill and to repeat: one commit. How far silver and gold have read is told by their own snapshots, so a table
that is rolled back reads again what came since.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from pyiceberg.table.snapshots import Snapshot

from smelter.errors import Refused
from smelter.lake.commits import TOKEN, ancestors, told
from smelter.lake.forgotten import forgot_since
from smelter.lake.home import BRONZE, DEAD_LETTERS, GOLD, OPS, QUALITY, RESOLUTIONS, SILVER, Lake
from smelter.lake.increments import snapshots_since
from smelter.lake.lease import DEFAULT_WAIT_SECONDS, lease
from smelter.lake.recoveries import RECOVER
from smelter.lake.rollback import find_snapshot, is_of_another_life, roll_back
from smelter.lake.tables import datasets, row_count
from smelter.maintenance.forget_examples import forget_examples
from smelter.maintenance.journal import DONE, Entry, StepDone, record
from smelter.maintenance.subjects import Subject

_NEVER = {
    f"{DEAD_LETTERS}.{RESOLUTIONS}": ("it tells which letters are in bronze", "smelt dlq undo RUN takes a run back"),
    f"{OPS}.ledger": ("it tells which files are in bronze", "smelt reconcile says whether it is whole"),
    f"{OPS}.forgotten": ("it tells who must not come back", "smelt reconcile says whether it is whole"),
}


@dataclass(frozen=True)
class RolledBack:
    """What a rollback does, or would do."""

    table: str
    from_snapshot: int
    to_snapshot: int
    to_time: datetime
    rows_before: int
    rows_after: int
    next: str


def refuse_unless_derived(subject: Subject, *, reingest: bool) -> None:
    """What the stream wrote is not rolled back like that: it believes that its rows are there."""
    why, way_out = _NEVER.get(str(subject), ("", ""))
    if why:
        raise Refused(f"{subject} is never rolled back: {why}", data="nothing was changed", next_step=way_out)
    is_streamed = subject.namespace in (BRONZE, DEAD_LETTERS)
    if is_streamed and not reingest:
        raise Refused(
            f"{subject} is written by a stream, which believes that its rows are there",
            data="nothing was changed",
            next_step=f"smelt maintain rollback {subject} --to … --and-reingest reads again what would leave",
        )
    if reingest and not is_streamed:
        raise Refused(
            f"nothing of {subject} comes from files: --and-reingest is for bronze and dead letters",
            data="nothing was changed",
            next_step=f"smelt maintain rollback {subject} --to …",
        )


def what_would_be(lake: Lake, subject: Subject, to: int | datetime) -> RolledBack:
    """What a rollback would do; changes nothing."""
    table = subject.open(lake)
    target, head = find_snapshot(table, to), table.current_snapshot()
    if head is None or head.snapshot_id == target.snapshot_id:
        raise Refused(
            f"{subject} is at snapshot {target.snapshot_id} already",
            data="nothing was changed",
            next_step=f"smelt maintain snapshots {subject} lists the others",
        )
    if subject.namespace in (SILVER, GOLD) and is_of_another_life(table, target):
        raise Refused(
            f"{subject} was built anew since snapshot {target.snapshot_id}, perhaps by other rules: its next run would "
            "go on from rows that these rules did not make",
            data="nothing was changed",
            next_step=f"smelt {subject.namespace} {subject.dataset or subject.name} --rebuild",
        )
    return RolledBack(
        str(subject),
        head.snapshot_id,
        target.snapshot_id,
        moment_of(target),
        row_count(table),
        int(told(target, "total-records") or 0),
        _next(lake, subject, moment_of(target)),
    )


def is_done(lake: Lake, subject: Subject, to: int | datetime) -> bool:
    """Is there nothing after that snapshot but what a recovery read again?"""
    table = subject.open(lake)
    since = snapshots_since(ancestors(table.metadata), find_snapshot(table, to).snapshot_id)
    again = f"{subject.name}:{RECOVER}:"
    return since is not None and all((told(one, TOKEN) or "").startswith(again) for one in since)


def as_it_is(lake: Lake, subject: Subject) -> RolledBack:
    """A rollback that somebody killed, and that has come to its end since."""
    table = subject.open(lake)
    head = table.current_snapshot()
    assert head is not None
    rows, number = row_count(table), head.snapshot_id
    return RolledBack(str(subject), number, number, moment_of(head), rows, rows, f"smelt reconcile {subject.name}")


def rollback(
    lake: Lake,
    subject: Subject,
    to: int | datetime,
    run: str,
    wait_seconds: float = DEFAULT_WAIT_SECONDS,
    say: Callable[[str], None] = lambda _line: None,
) -> RolledBack:
    """Make an earlier snapshot the table, under its lease, and write that down."""
    started = time.monotonic()
    what = f"smelt maintain rollback {subject}"
    with lease(lake, subject.namespace, subject.name, what, wait_seconds, say):
        found = what_would_be(lake, subject, to)
        table = subject.open(lake)
        roll_back(table, find_snapshot(table, found.to_snapshot))
    if str(subject) == f"{OPS}.{QUALITY}":  # what checks showed of people who were forgotten since is in it again
        for dataset in datasets(lake):
            forget_examples(lake, dataset, {}, wait_seconds, say)
    note(lake, run, found, time.monotonic() - started)
    return found


def note(lake: Lake, run: str, found: RolledBack, seconds: float) -> None:
    """Write a rollback down."""
    said = f"snapshot {found.from_snapshot} → {found.to_snapshot}"
    numbers = {"rows": found.rows_before}, {"rows": found.rows_after}
    step = StepDone("rollback", DONE, "asked for", said, seconds, 0, *numbers)
    record(lake, Entry(run, found.table, datetime.now(UTC), DONE, seconds, steps=(step,)))


def moment_of(snapshot: Snapshot) -> datetime:
    """When it was made."""
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)


def _next(lake: Lake, subject: Subject, moment: datetime) -> str:
    dataset = subject.dataset or subject.name
    if subject.namespace in (SILVER, GOLD) and forgot_since(lake, dataset, moment):
        return f"smelt silver {dataset}, then smelt gold {dataset}: who was forgotten since is in it until then"
    if subject.namespace == SILVER:
        return f"smelt silver {dataset} reads again what came since; then smelt gold {dataset}"
    if subject.namespace == GOLD:
        return f"smelt gold {dataset} computes again what changed since"
    return f"smelt maintain history {subject}"
