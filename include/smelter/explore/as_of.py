"""The catalog as it was: each table at the snapshot that was its newest then, with the columns that it had."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from smelter.errors import Refused, SmelterError
from smelter.explore.catalog import UNREADABLE, Metadata, TableName, Tables

_NO_SNAPSHOT = -1
_Entry = tuple[datetime, int, int]  # when a snapshot became the newest, its place in the log, and the snapshot


@dataclass(frozen=True)
class AsOf:
    """A moment of the past; and a table's snapshot, where it was named by its number."""

    moment: datetime
    table: TableName | None = None
    snapshot: int | None = None

    def __str__(self) -> str:
        moment = self.moment.isoformat().replace("+00:00", "Z")
        return moment if self.table is None else f"snapshot {self.snapshot} of {self.table}, made at {moment}"


@dataclass(frozen=True)
class PastCatalog:
    """A catalog in which time stands still; a table that had no rows yet is empty."""

    newest: Tables
    as_of: AsOf

    def namespaces(self) -> list[str]:
        """Every namespace there is now."""
        return self.newest.namespaces()

    def tables(self) -> list[TableName]:
        """Every table there is now."""
        return self.newest.tables()

    def metadata(self, table: TableName) -> Metadata | None:
        """The table's metadata with the snapshot of that time as its newest."""
        found = self.newest.metadata(table)
        if found is None:
            return None
        facts = json.loads(found.content)
        named = self.as_of.snapshot if self.as_of.table == table else None
        snapshot = named if named is not None else _newest_at(facts, table, self.as_of.moment)
        return Metadata(found.location, json.dumps(_at(facts, snapshot)).encode())


def moment_of_snapshot(catalog: Tables, snapshot: int) -> AsOf:
    """The table that has a snapshot of this number, and when it was made; other tables are seen as of then."""
    for table in catalog.tables():
        try:
            metadata = catalog.metadata(table)
            facts = json.loads(metadata.content) if metadata else {}
            made = {one["snapshot-id"]: _moment(one["timestamp-ms"]) for one in facts.get("snapshots", [])}
        except UNREADABLE:  # another table's trouble
            continue
        if snapshot in made:
            return AsOf(made[snapshot], table, snapshot)
    raise Refused(
        f"no table has a snapshot {snapshot}: there never was one, or it was expired",
        data="nothing was run",
        next_step='smelt sql "select * from ops.snapshots order by committed_at desc"',
    )


def moment_of_newest(catalog: Tables) -> AsOf:
    """Now; or a little later, where a writer's clock is ahead, so that the newest snapshots are those of then."""
    moments = [datetime.now(UTC)]
    for table in catalog.tables():
        with suppress(*UNREADABLE):
            metadata = catalog.metadata(table)
            facts = json.loads(metadata.content) if metadata else {}
            moments += [_moment(one["timestamp-ms"]) for one in facts.get("snapshot-log", [])]
    return AsOf(max(moments))


def _newest_at(facts: Mapping[str, Any], table: TableName, moment: datetime) -> int:
    """What was the newest then; refused where it has been expired, because another one would be a wrong answer."""
    kept = {one["snapshot-id"]: one for one in facts.get("snapshots", [])}
    log = sorted(
        (_moment(entry["timestamp-ms"]), number, entry["snapshot-id"])
        for number, entry in enumerate(facts.get("snapshot-log", []))
    )
    before = [snapshot for when, _, snapshot in log if when <= moment]
    if not before and _began_empty(log, kept, moment):
        return _NO_SNAPSHOT
    if before and before[-1] in kept and _is_next(log, len(before), kept, facts):
        return int(before[-1])
    raise _expired(table, next((when for when, _, snapshot in log if snapshot in kept), None))


def _began_empty(log: Sequence[_Entry], kept: Mapping[int, Any], moment: datetime) -> bool:
    """Was there nothing yet? Only before the first snapshot that there ever was: numbers are counted from 1 (0 in old
    tables). A history that begins with its return, after a rollback, has lost what came in between."""
    if not log:
        return True
    first = kept.get(log[0][2])
    if first is None or first.get("parent-snapshot-id") is not None or first.get("sequence-number", 0) > 1:
        return False
    return moment < _moment(first["timestamp-ms"])


def _is_next(log: Sequence[_Entry], place: int, kept: Mapping[int, Any], facts: Mapping[str, Any]) -> bool:
    """Does the entry at this place follow the one before it? Not where one between them has been expired.

    PyIceberg takes a parent's name away with the parent, and leaves the numbers.
    """
    if place == len(log):
        return True
    when, _, snapshot = log[place]
    before, following = kept[log[place - 1][2]], kept.get(snapshot)
    if following is None:
        return False
    if _moment(following["timestamp-ms"]) < when:  # a rollback brought it back
        return not _lost_before(when, before, kept, facts)
    parent = following.get("parent-snapshot-id")
    if parent is not None:
        return bool(parent == before["snapshot-id"])
    return bool(following.get("sequence-number", 0) == before.get("sequence-number", 0) + 1)


def _lost_before(when: datetime, before: Mapping[str, Any], kept: Mapping[int, Any], facts: Mapping[str, Any]) -> bool:
    """May a snapshot have been made after this one and before that moment, and have been expired since?"""
    later = [one["sequence-number"] for one in kept.values() if _moment(one["timestamp-ms"]) >= when]
    end = min(later, default=facts.get("last-sequence-number", 0) + 1)
    known = {one.get("sequence-number", 0) for one in kept.values()}
    return any(number not in known for number in range(before.get("sequence-number", 0) + 1, end))


def _at(facts: dict[str, Any], snapshot: int) -> dict[str, Any]:
    """The metadata without what came later, and with the columns of that snapshot."""
    chosen: dict[str, Any] = next((one for one in facts.get("snapshots", []) if one["snapshot-id"] == snapshot), {})
    if not chosen:
        return facts | {"current-snapshot-id": snapshot, "refs": {}, "snapshots": [], "snapshot-log": []}
    made = chosen["timestamp-ms"]
    return facts | {
        "current-snapshot-id": snapshot,
        "current-schema-id": chosen.get("schema-id", facts["current-schema-id"]),
        "refs": {"main": {"snapshot-id": snapshot, "type": "branch"}},
        "snapshots": [one for one in facts["snapshots"] if one["timestamp-ms"] <= made],
        "snapshot-log": [{"snapshot-id": snapshot, "timestamp-ms": made}],
    }


def _expired(table: TableName, oldest: datetime | None) -> SmelterError:
    since = f"; the oldest that is kept is of {oldest.isoformat().replace('+00:00', 'Z')}" if oldest else ""
    return Refused(
        f"{table} cannot be seen as it was then: its snapshot of that time was expired{since}",
        data="nothing was run",
        next_step=f"smelt maintain snapshots {table}",
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
