"""What came into a table since somebody last read it: slices of its history, planned without a JVM.

A slice is a range of snapshots, of which the appended rows are read; or, for a reader that has no bookmark, a part of
one snapshot. Rows may leave a table too: what was removed by us never comes back through a slice, and a removal that
is not ours stops the reader, because nobody knows what it meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from pyiceberg.conversions import from_bytes
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.types import TimestamptzType
from pyiceberg.utils.datetime import micros_to_timestamptz

from smelter.errors import Refused
from smelter.lake.bookmarks import Bookmark
from smelter.lake.commits import INGESTED_AT, ancestors, told
from smelter.lake.removal import FORGOT, REMOVAL, REMOVED, RETIRED
from smelter.postgres import CATALOG_NAME

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

IDENTITY = ("_source", "_position", "_ingested_at")  # a source that was taken out and read again is another one
_TAKES_ROWS_OUT = (Operation.DELETE, Operation.OVERWRITE)


@dataclass(frozen=True)
class Slice:
    """A part of a table's history that is read at once."""

    start: int | None  # the snapshot that is already in; without one, the table is read as it is
    bookmark: Bookmark  # where the reader is when it has this slice
    rows: int  # as the summaries tell, before anything is left out
    has_removals: bool = False  # rows have left since: only those that are still there count
    since: datetime | None = None
    is_in_order: bool = True  # every row was ingested later than all that the reader has
    left: tuple[str, ...] | None = ()  # batches whose rows left meanwhile; None: any row may have
    forgot: tuple[str, ...] = ()  # runs that let records go for good, and noted which in ops.forgotten

    @property
    def end(self) -> int:
        """The last snapshot of the slice."""
        return self.bookmark.snapshot


def read_again(slices: Sequence[Slice]) -> list[Slice]:
    """The same slices for a reader that lost its place: it may have read them before, and missed what left since."""
    found = [
        replace(one, is_in_order=False, bookmark=replace(one.bookmark, is_again=one.bookmark.through is not None))
        for one in slices
    ]
    return [*found[:-1], replace(found[-1], left=None)] if found else []


@dataclass(frozen=True)
class Backlog:
    """Everything that a reader has before it, in the order in which it must be read."""

    slices: tuple[Slice, ...]
    begins_anew: str = ""  # why a reader that had a bookmark begins from the first row

    @property
    def rows(self) -> int:
        """How many rows there are, at most."""
        return sum(one.rows for one in self.slices)


def backlog_of(table: Table, bookmark: Bookmark | None, most_rows: int) -> Backlog:
    """What a reader with this bookmark has before it; slices hold about `most_rows` each, and whole snapshots."""
    past = list(ancestors(table.metadata))
    if bookmark is not None:
        _refuse_another(table, bookmark, past)
    if not past:
        return Backlog(())
    head = past[0]
    if bookmark is None:
        return Backlog(tuple(_whole(table, head, None, most_rows)))
    since = snapshots_since(past, bookmark.snapshot)
    if since is None:
        why = f"the snapshot that it had read ({bookmark.snapshot}) was expired"
        return Backlog(tuple(read_again(list(_whole(table, head, None, most_rows)))), begins_anew=why)
    has_removals = _has_removals(table, since)
    slices: list[Slice] = []
    if bookmark.through is not None:
        read = next(one for one in past if one.snapshot_id == bookmark.snapshot)
        rest = list(_whole(table, read, bookmark.through, most_rows))
        slices += read_again(rest) if bookmark.is_again else rest
        bookmark = slices[-1].bookmark if slices else replace(bookmark, through=None)
    slices += _ranges(since, bookmark, has_removals, most_rows)
    return Backlog(tuple(slices))


def read_slice(spark: SparkSession, namespace: str, name: str, part: Slice) -> DataFrame:
    """The rows of a slice, with the columns that the table has now.

    Without a start the table is read as it is, not as it was at the end of the slice: that snapshot may have other
    columns. Rows that came since are read again by the next slice, and a merge of known rows changes nothing.
    Iceberg's range read brings removed rows back, hence the second look at what is there.
    """
    from pyspark.sql import functions as F  # noqa: N812

    source = f"{CATALOG_NAME}.{namespace}.{name}"
    if part.start is None:
        rows = spark.table(source)
        if part.since is not None:
            rows = rows.where(F.col("_ingested_at") > F.lit(part.since))
        if part.bookmark.through is not None:
            rows = rows.where(F.col("_ingested_at") <= F.lit(part.bookmark.through))
        return rows
    bounds = {"start-snapshot-id": str(part.start), "end-snapshot-id": str(part.end)}
    rows = spark.read.options(**bounds).table(source)
    if not part.has_removals:
        return rows
    still_there = spark.table(source).select(*IDENTITY)
    return rows.join(still_there, on=list(IDENTITY), how="left_semi").select(*rows.columns)


def _refuse_another(table: Table, bookmark: Bookmark, past: Sequence[Snapshot]) -> None:
    """A table that was made anew or rolled back no longer has what the reader took from it."""
    uuid = str(table.metadata.table_uuid)
    read = table.metadata.snapshot_by_id(bookmark.snapshot)
    is_newer = read is not None and past and (read.sequence_number or 0) > (past[-1].sequence_number or 0)
    is_rolled_back = is_newer and all(one.snapshot_id != bookmark.snapshot for one in past)
    if uuid != bookmark.table or is_rolled_back:
        what = "was rolled back behind" if uuid == bookmark.table else "was dropped and made again after"
        raise Refused(
            f"{'.'.join(table.name())} {what} the rows that were read from it",
            where=f"snapshot {bookmark.snapshot}",
            data="nothing was published; the rows that were taken from it before are still there",
            next_step=f"take everything from it anew: smelt silver {table.name()[-1]} --rebuild",
        )


def snapshots_since(past: Iterable[Snapshot], read: int) -> list[Snapshot] | None:
    """Those of a table's past, newest first, that came after the one that was read; now oldest first.

    Nothing if the one that was read is not among them: the chain is cut.
    """
    since: list[Snapshot] = []
    for snapshot in past:
        if snapshot.snapshot_id == read:
            return since[::-1]
        since.append(snapshot)
    return None


def _has_removals(table: Table, since: Sequence[Snapshot]) -> bool:
    """Were rows taken out since? A removal that is not ours is refused."""
    removals = [one for one in since if one.summary is not None and one.summary.operation in _TAKES_ROWS_OUT]
    for one in removals:
        if told(one, REMOVAL) is None:
            name = table.name()[-1]
            raise Refused(
                f"rows of {'.'.join(table.name())} were removed or rewritten by something that is not Smelter",
                where=f"snapshot {one.snapshot_id}, {told(one, 'deleted-records') or 'some'} rows",
                data="nothing was published; silver is as it was before",
                next_step=f"if that was meant, take bronze as it is now: smelt silver {name} --rebuild",
            )
    return bool(removals)


def _ranges(since: Sequence[Snapshot], bookmark: Bookmark, has_removals: bool, most_rows: int) -> Iterator[Slice]:
    start, rows, in_order = bookmark.snapshot, 0, True
    left: tuple[str, ...] | None = ()
    forgot: tuple[str, ...] = ()
    for number, snapshot in enumerate(since):
        left, forgot = _left(snapshot, left), (*forgot, *_forgot(snapshot))
        rows += int(told(snapshot, "added-records") or 0) if _appends(snapshot) else 0
        newest, in_order = _newest(snapshot, bookmark, in_order)
        bookmark = Bookmark(bookmark.table, snapshot.snapshot_id, newest)
        if rows >= most_rows or number == len(since) - 1:
            yield Slice(start, bookmark, rows, has_removals, is_in_order=in_order, left=left, forgot=forgot)
            start, rows, in_order, left, forgot = snapshot.snapshot_id, 0, True, (), ()


def _left(snapshot: Snapshot, before: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The batches whose rows have left so far; nothing if one snapshot does not tell.

    Records that were forgotten are told by their run; those whose time was up stay with whoever has read them.
    """
    if snapshot.summary is None or snapshot.summary.operation not in _TAKES_ROWS_OUT:
        return before
    if told(snapshot, FORGOT) is not None or told(snapshot, RETIRED) is not None:
        return before
    batches = told(snapshot, REMOVED)
    return None if before is None or batches is None else (*before, *batches.split(","))


def _forgot(snapshot: Snapshot) -> tuple[str, ...]:
    """A commit without rows may tell it too, where bronze had none and its reader has some."""
    run = told(snapshot, FORGOT)
    return () if run is None else (run,)


def _newest(snapshot: Snapshot, bookmark: Bookmark, in_order: bool) -> tuple[datetime | None, bool]:
    """A batch that was prepared before a replay and committed after it is older than what the reader has."""
    if not _appends(snapshot):
        return bookmark.ingested_at, in_order
    said, before = told(snapshot, INGESTED_AT), bookmark.ingested_at
    if said is None:
        return before, False
    moment = datetime.fromisoformat(said)
    return (before, False) if before is None else (max(moment, before), in_order and moment > before)


def _appends(snapshot: Snapshot) -> bool:
    return snapshot.summary is not None and snapshot.summary.operation is Operation.APPEND


def _whole(table: Table, snapshot: Snapshot, since: datetime | None, most_rows: int) -> Iterator[Slice]:
    """What one snapshot has, from a moment on, cut between moments of ingestion."""
    uuid = str(table.metadata.table_uuid)
    ends = _moments(table, snapshot.snapshot_id, since)
    if ends is None or (not ends and since is None):
        count = int(told(snapshot, "total-records") or 0)
        yield Slice(None, Bookmark(uuid, snapshot.snapshot_id), count, since=since)
        return
    rows = 0
    for number, (moment, count) in enumerate(ends):
        rows += count
        is_last = number == len(ends) - 1
        if rows >= most_rows or is_last:
            through = None if is_last else moment
            bookmark = Bookmark(uuid, snapshot.snapshot_id, moment, through)
            yield Slice(None, bookmark, rows, since=since)
            since, rows = moment, 0


def _moments(table: Table, snapshot: int, since: datetime | None) -> list[tuple[datetime, int]] | None:
    """The newest ingestion of each data file with its rows, oldest first: there a snapshot may be cut.

    Nothing if a file does not tell, because somebody rewrote it without bounds.
    """
    column = table.schema().find_field("_ingested_at").field_id
    found: dict[datetime, int] = {}
    for task in table.scan(snapshot_id=snapshot, selected_fields=("_ingested_at",)).plan_files():
        bound = (task.file.upper_bounds or {}).get(column)
        if bound is None:
            return None
        moment = micros_to_timestamptz(int(from_bytes(TimestamptzType(), bound)))
        if since is None or moment > since:
            found[moment] = found.get(moment, 0) + task.file.record_count
    return sorted(found.items())
