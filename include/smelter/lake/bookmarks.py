"""How far a table's reader has come: kept in the snapshot that holds what was read, so the two cannot disagree."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from smelter.lake.commits import ancestors, told

_TABLE = "smelter.read.table"
_SNAPSHOT = "smelter.read.snapshot"
_NEWEST = "smelter.read.ingested-at"
_THROUGH = "smelter.read.through"
_AGAIN = "smelter.read.again"


@dataclass(frozen=True)
class Bookmark:
    """Everything up to a snapshot of one table has been read."""

    table: str  # its uuid: a table that was dropped and made again is another one
    snapshot: int
    ingested_at: datetime | None = None  # the newest that was read
    through: datetime | None = None  # of that snapshot only what was ingested up to here: more of it follows
    is_again: bool = False  # what follows may have been read before, by a reader that lost its place


def bookmark_of(table: Table) -> Bookmark | None:
    """The newest bookmark among the current snapshot and its ancestors; one that was rolled back does not count."""
    for snapshot in ancestors(table.metadata):
        uuid, read = told(snapshot, _TABLE), told(snapshot, _SNAPSHOT)
        if uuid is not None and read is not None:
            newest, through = _moment(told(snapshot, _NEWEST)), _moment(told(snapshot, _THROUGH))
            return Bookmark(uuid, int(read), newest, through, told(snapshot, _AGAIN) is not None)
    return None


def carries_bookmark(snapshot: Snapshot) -> bool:
    """Was it made by a reader of ours, or by a stranger?"""
    return told(snapshot, _SNAPSHOT) is not None


def bookmark_summary(bookmark: Bookmark) -> dict[str, str]:
    """The bookmark as the summary of a snapshot says it."""
    moments = {_NEWEST: bookmark.ingested_at, _THROUGH: bookmark.through}
    return {
        _TABLE: bookmark.table,
        _SNAPSHOT: str(bookmark.snapshot),
        **{name: moment.isoformat() for name, moment in moments.items() if moment is not None},
        **({_AGAIN: "yes"} if bookmark.is_again else {}),
    }


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text is not None else None
