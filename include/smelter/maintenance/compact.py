"""Small files become few large ones; rows stay what they are, and are counted before and after.

Safe beside a stream, which only adds files: where one runs, files that it wrote a moment ago are left for the next
time, and those of a partition that it still fills are packed only when there are many. Safe to kill and to repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from smelter.errors import Refused, Unreachable
from smelter.lake.commits import ancestors
from smelter.lake.identities import split_files
from smelter.lake.increments import snapshots_since
from smelter.lake.upkeep import Packed, pack_files, rows_at
from smelter.maintenance.holds import way_back
from smelter.maintenance.steps import Done, Look, Step, Todo, Tools, View, counted
from smelter.maintenance.survey import FEWEST_FILES, Partition, Survey, files_after, survey, time_column

FEWEST_IN_OPEN = 50  # small files of a partition that a stream still fills, before they are packed
GROUP_BYTES = 2_000_000_000  # that are written anew at once; what a conflict costs at most
_SMALLER = (1, 4, 16)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Pack:
    """Files that are packed by one call."""

    where: str | None
    fewest: int
    before: int
    after: int


def look(view: View) -> Look:
    """Are there partitions with so many small files that fewer would do?"""
    found = view.survey
    packs, young = _packs(view, found)
    kept = (f"{counted(young, 'file')} of {view.subject}, a running stream's newest: packed later",) if young else ()
    if not packs and not found.delete_files:
        return Look(kept=kept)
    packs = packs or [Pack(None, FEWEST_FILES, found.files, found.files)]
    fewer = found.files - sum(one.before - one.after for one in packs)
    why = f"{counted(found.small_files, 'small file')} of {found.files:,}"
    if found.delete_files:
        why += f", {counted(found.delete_files, 'delete file')}"
    act = partial(_act, view, packs, has_deletes=bool(found.delete_files))
    said = f"files {found.files:,} → {fewer:,}"
    return Look(Todo(Step.COMPACT, why, said, act, {"files": found.files}, {"files": fewer}), kept)


def _packs(view: View, found: Survey) -> tuple[list[Pack], int]:
    """What would be packed, and how many small files are too young for it."""
    column = time_column(view.subject)
    if not view.subject.is_live or column is None:
        pack = _pack(found, found.partitions, None, None, FEWEST_FILES)
        return ([pack] if pack.before else []), 0
    cutoff = _micros(view.now - timedelta(seconds=view.subject.policy.quiet_seconds))
    still_filled = [one for one in found.partitions if one.newest() >= cutoff]
    closed = [one for one in found.partitions if one.newest() < cutoff]
    begin = min((first for one in still_filled for _, first in one.small), default=cutoff)
    young = sum(len(one.small) - len(one.small_before(cutoff)) for one in still_filled)
    done_with = _pack(found, closed, column, min(begin, cutoff), FEWEST_FILES)
    if not done_with.before and _pack(found, closed, column, cutoff, FEWEST_FILES).before:
        # Partitions are not of days: what a filled one has of long ago lies before the files of those that are closed.
        return [_pack(found, found.partitions, column, cutoff, FEWEST_FILES)], young
    packs = [done_with, _pack(found, still_filled, column, cutoff, FEWEST_IN_OPEN)]
    return [one for one in packs if one.before], young


def _pack(found: Survey, partitions: Sequence[Partition], column: str | None, before: int | None, fewest: int) -> Pack:
    """Iceberg packs a partition with enough small files, or enough bytes in them for a whole one."""
    chosen = [one.small_before(before) for one in partitions]
    packed = [one for one in chosen if len(one) >= fewest or (len(one) > 1 and sum(one) > found.target_bytes)]
    where = None if column is None or before is None else f"{column} < TIMESTAMP '{_text(before)}'"
    return Pack(where, fewest, sum(map(len, packed)), sum(files_after(one, found.target_bytes) for one in packed))


def _act(view: View, packs: Sequence[Pack], tools: Tools, *, has_deletes: bool) -> Done:
    spark, subject = tools.spark(), view.subject
    head = view.table.current_snapshot()
    failed = 0
    for pack in packs:
        tools.reach("before_compaction")
        failed += _pack_in_groups(view, pack, tools, has_deletes=has_deletes).failed
    tools.reach("compacted")
    table = subject.open(view.lake)
    for snapshot in _replacing(table, head):
        was, now = rows_at(
            spark, subject.namespace, subject.name, [snapshot.parent_snapshot_id or 0, snapshot.snapshot_id]
        )
        if was != now:
            raise _lost_rows(view, snapshot, was, now)
    if failed:
        raise _not_packed(view, table, failed, tools.log)
    return Done(f"files {view.survey.files:,} → {survey(table, subject).files:,}")


def _pack_in_groups(view: View, pack: Pack, tools: Tools, *, has_deletes: bool) -> Packed:
    """Somebody else may have changed the files of a group: it stays as it was, and is tried again in smaller groups."""
    target = view.survey.target_bytes
    packed = Packed(0, 0, 0)
    for share in _SMALLER:
        options = {
            "target-file-size-bytes": str(target),
            "min-input-files": str(pack.fewest),
            "max-file-group-size-bytes": str(max(target, GROUP_BYTES // share)),
            "max-concurrent-file-group-rewrites": "1" if view.subject.is_live else "2",
            "partial-progress.enabled": "true",
            "partial-progress.max-commits": "10",
            **({"delete-file-threshold": "1", "remove-dangling-deletes": "true"} if has_deletes else {}),
        }
        packed = pack_files(tools.spark(), view.subject.namespace, view.subject.name, pack.where, options)
        if not packed.failed:
            break
    return packed


def _replacing(table: Table, head: Snapshot | None) -> list[Snapshot]:
    """The snapshots since then that wrote files anew."""
    since = snapshots_since(ancestors(table.metadata), head.snapshot_id) if head is not None else None
    return [one for one in since or [] if one.summary is not None and one.summary.operation is Operation.REPLACE]


def _lost_rows(view: View, snapshot: Snapshot, was: int, now: int) -> Refused:
    return Refused(
        f"compaction of {view.subject} has made {now:,} rows of {was:,}",
        where=f"snapshot {snapshot.snapshot_id}",
        data=f"every row is still in snapshot {snapshot.parent_snapshot_id}",
        next_step=way_back(view.subject, snapshot.parent_snapshot_id or 0),
    )


def _not_packed(view: View, table: Table, failed: int, log: Path) -> Unreachable:
    """Iceberg goes on when a group of files fails, and says why in Spark's log only."""
    _there, lost = split_files(table)
    if lost:
        return Unreachable(
            f"{counted(len(lost), 'data file')} of {view.subject} {'is' if len(lost) == 1 else 'are'} gone",
            where=lost[0].path,
            data=f"{sum(one.records for one in lost):,} rows cannot be read; the rest of the table is as it was",
            next_step="smelt reconcile names the records; bring the files back from a backup",
        )
    return Unreachable(
        f"{counted(failed, 'file')} of {view.subject} could not be packed",
        where=f"{log} says why",
        data="these files are as they were, and every row is there",
        next_step=f"smelt maintain run {view.subject}",
    )


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _text(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).strftime("%Y-%m-%d %H:%M:%S.%f")
