"""Which snapshots must stay, and for whom? The rest may go when they are old enough, or too many.

A snapshot that somebody needs holds all those after it too: readers walk back from the newest to where they were, and a
chain that is cut in the middle would make them begin anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation, Snapshot

from smelter.lake.bookmarks import carries_bookmark
from smelter.lake.commits import ancestors, newest_batch, told
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.maintenance.subjects import Subject

_ROWS = "total-records"
READER_SECONDS = 600  # from when a newer one came: a reader that began just before has so long to end


@dataclass(frozen=True)
class Hold:
    """A snapshot that must stay, with all that came after it."""

    snapshot: int
    why: str
    advice: str = ""  # the command that would let go of it


@dataclass(frozen=True)
class Expiry:
    """What may go, and what holds the rest."""

    snapshots: tuple[int, ...]
    kept: int
    freed_bytes: int  # of data files that no snapshot has any more then, as far as summaries tell
    holds: tuple[Hold, ...]  # those that keep something which is past its time


def expiry_of(metadata: TableMetadata, subject: Subject, now: datetime) -> Expiry:
    """Snapshots past their age or beyond their number, without those that somebody needs."""
    chain = list(ancestors(metadata))
    places = {one.snapshot_id: place for place, one in enumerate(chain)}
    ages = _ages(metadata, now)
    due = {number for number, age in ages.items() if _is_due(age, places.get(number, 0), subject)}
    holds = [hold for hold in _holds(metadata, chain, subject) if hold.snapshot in places or hold.snapshot in due]
    held: set[int] = set()
    keeping = []
    for hold in sorted(holds, key=lambda one: places.get(one.snapshot, -1)):
        needed = {one.snapshot_id for one in chain[: places[hold.snapshot] + 1]} if hold.snapshot in places else set()
        needed.add(hold.snapshot)
        if (needed - held) & due:
            keeping.append(hold)
        held |= needed
    goes = due - held
    order = [one.snapshot_id for one in metadata.snapshots if one.snapshot_id in goes]
    return Expiry(tuple(order), len(metadata.snapshots) - len(goes), _freed(metadata, goes), tuple(keeping))


def standing_of(metadata: TableMetadata, subject: Subject) -> dict[str, Any]:
    """How old the table's snapshots are, its newest batch, and how far behind each consumer is."""
    chain = list(ancestors(metadata))
    places = {one.snapshot_id: place for place, one in enumerate(chain)}
    moments = [_moment(one) for one in (*chain[:1], *chain[-1:])]
    batch = newest_batch(metadata, subject.name)
    return {
        "newest_snapshot_at": moments[0] if moments else None,
        "oldest_snapshot_at": moments[-1] if moments else None,
        "newest_batch": None if batch is None else batch[0],
        "consumers": [
            {"table": one.table, "snapshot": one.snapshot, "snapshots_behind": places.get(one.snapshot)}
            for one in subject.consumers
        ],
    }


def _moment(snapshot: Snapshot) -> str:
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC).isoformat(timespec="seconds")


def _ages(metadata: TableMetadata, now: datetime) -> dict[int, float]:
    """Seconds since each snapshot was no longer the newest: until then anybody may have begun to read it.

    How old it is itself says little: a table that rested for days has an old snapshot, which a reader opens just now.
    """
    ordered = sorted(metadata.snapshots, key=lambda one: one.sequence_number or 0)
    ended = {one.snapshot_id: after.timestamp_ms for one, after in pairwise(ordered)}
    for one, after in pairwise(metadata.snapshot_log):  # one that was rolled back to was the newest a second time
        ended[one.snapshot_id] = max(ended.get(one.snapshot_id, 0), after.timestamp_ms)
    return {number: now.timestamp() - moment / 1000 for number, moment in ended.items()}


def _is_due(age: float, place: int, subject: Subject) -> bool:
    policy = subject.policy
    longest = policy.snapshot_seconds if place < policy.most_snapshots else min(READER_SECONDS, policy.snapshot_seconds)
    return age >= longest


def _holds(metadata: TableMetadata, chain: Sequence[Snapshot], subject: Subject) -> Iterator[Hold]:
    if chain:
        yield Hold(chain[0].snapshot_id, "it is the table as it is now")
    for name, ref in metadata.refs.items():
        if name != MAIN_BRANCH:
            why = f"the {ref.snapshot_ref_type} {name} is on it"
            yield from (Hold(one, why) for one in _line(metadata, ref.snapshot_id))
    if (newest := newest_batch(metadata, subject.name)) is not None:
        yield Hold(
            newest[1].snapshot_id,
            "it carries the newest batch of the stream, by which a restart knows that it is there",
        )
    yield from (
        Hold(one.parent_snapshot_id or 0, *_why_shrunk(subject, one)) for one in chain if _has_shrunk(one, chain)
    )
    own = next((one.snapshot_id for one in chain if carries_bookmark(one)), None)
    if own is not None:
        yield Hold(own, f"it tells how far {subject} has read")
    for consumer in subject.consumers:
        yield Hold(consumer.snapshot, f"{consumer.table} has read up to it", consumer.command)


def _has_shrunk(snapshot: Snapshot, chain: Sequence[Snapshot]) -> bool:
    """Has a compaction made fewer rows, or more? Where rows are deleted beside their files, only a count can tell."""
    if snapshot.summary is None or snapshot.summary.operation is not Operation.REPLACE:
        return False
    before = next((one for one in chain if one.snapshot_id == snapshot.parent_snapshot_id), None)
    if before is None:
        return False
    return not int(told(before, "total-delete-files") or 0) and told(before, _ROWS) != told(snapshot, _ROWS)


def _why_shrunk(subject: Subject, snapshot: Snapshot) -> tuple[str, str]:
    why = f"compaction after it made another number of rows, {told(snapshot, _ROWS)} in snapshot {snapshot.snapshot_id}"
    return why, way_back(subject, snapshot.parent_snapshot_id or 0)


def way_back(subject: Subject, snapshot: int) -> str:
    """The command by which a table goes back to a snapshot."""
    reingest = " --and-reingest" if subject.namespace in (BRONZE, DEAD_LETTERS) else ""
    return f"smelt maintain rollback {subject} --to {snapshot}{reingest} --dry-run"


def _line(metadata: TableMetadata, head: int) -> Iterator[int]:
    """A snapshot and those before it that are still known."""
    by_id = {one.snapshot_id: one for one in metadata.snapshots}
    at: int | None = head
    while at is not None and at in by_id:
        yield at
        at = by_id[at].parent_snapshot_id


def _freed(metadata: TableMetadata, goes: set[int]) -> int:
    """What a snapshot took out of the table is free when every snapshot before it is gone."""
    taken = (told(one, "removed-files-size") for one in metadata.snapshots if one.parent_snapshot_id in goes)
    return sum(int(size) for size in taken if size)
