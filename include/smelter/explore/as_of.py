"""The catalog as it was: each table at the snapshot that was its newest then, with the columns that it had."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from smelter.errors import Refused, SmelterError
from smelter.explore.catalog import Metadata, TableName, Tables

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
        except (OSError, EOFError, ValueError):  # another table's trouble
            continue
        for one in facts.get("snapshots", []):
            if one["snapshot-id"] == snapshot:
                return AsOf(_moment(one["timestamp-ms"]), table, snapshot)
    raise Refused(
        f"no table has a snapshot {snapshot}: there never was one, or it was expired",
        data="nothing was run",
        next_step='smelt sql "select * from ops.snapshots order by committed_at desc"',
    )


def _newest_at(facts: Mapping[str, Any], table: TableName, moment: datetime) -> int:
    """What was the newest then; refused where it has been expired, because another one would be a wrong answer."""
    kept = {one["snapshot-id"]: one for one in facts.get("snapshots", [])}
    log = sorted(
        (_moment(entry["timestamp-ms"]), number, entry["snapshot-id"])
        for number, entry in enumerate(facts.get("snapshot-log", []))
    )
    before = [snapshot for when, _, snapshot in log if when <= moment]
    if not before and _began_empty(log, kept):
        return _NO_SNAPSHOT
    if before and before[-1] in kept and _is_next(log, len(before), kept):
        return int(before[-1])
    raise _expired(table, next((when for when, _, snapshot in log if snapshot in kept), None))


def _began_empty(log: Sequence[_Entry], kept: Mapping[int, Any]) -> bool:
    """Is the oldest snapshot that is told of the first there ever was?"""
    return not log or (log[0][2] in kept and kept[log[0][2]].get("parent-snapshot-id") is None)


def _is_next(log: Sequence[_Entry], place: int, kept: Mapping[int, Any]) -> bool:
    """Does the entry at this place follow the one before it? Not where one between them has been expired."""
    if place == len(log):
        return True
    when, _, snapshot = log[place]
    following = kept.get(snapshot)
    was_rolled_back_to = following is not None and _moment(following["timestamp-ms"]) < when
    return following is None or was_rolled_back_to or following.get("parent-snapshot-id") == log[place - 1][2]


def _at(facts: dict[str, Any], snapshot: int) -> dict[str, Any]:
    """The metadata with another newest snapshot, and that one's columns."""
    chosen: dict[str, Any] = next((one for one in facts.get("snapshots", []) if one["snapshot-id"] == snapshot), {})
    refs = dict(facts.get("refs", {}))
    refs.pop("main", None)
    if chosen:
        refs["main"] = {"snapshot-id": snapshot, "type": "branch"}
    now = {"current-snapshot-id": snapshot, "refs": refs}
    if "schema-id" in chosen:
        now["current-schema-id"] = chosen["schema-id"]
    return facts | now


def _expired(table: TableName, oldest: datetime | None) -> SmelterError:
    since = f"; the oldest that is kept is of {oldest.isoformat().replace('+00:00', 'Z')}" if oldest else ""
    return Refused(
        f"{table} cannot be seen as it was then: its snapshot of that time was expired{since}",
        data="nothing was run",
        next_step=f"smelt maintain snapshots {table}",
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
