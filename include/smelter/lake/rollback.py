"""A table becomes again what it was at one of its snapshots. One commit; no file is written or removed.

Safe to kill and to repeat: the commit is whole or not there. The caller holds the table's lease and knows what follows:
whatever the later snapshots told, tokens and bookmarks among it, is told no more.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.snapshots import Operation, Snapshot

from smelter.errors import Refused, Unreachable
from smelter.lake.catalog import catalog_errors
from smelter.lake.commits import ancestors
from smelter.lake.identities import files_needed, read_columns
from smelter.lake.increments import snapshots_since

_NUMBER = re.compile(r"[0-9]{1,19}")
_NOTHING = "nothing was changed"


def find_snapshot(table: Table, to: int | datetime) -> Snapshot:
    """The snapshot of this number, or the one that was the table at this moment."""
    name = ".".join(table.name())
    if isinstance(to, datetime):
        past = [one for one in ancestors(table.metadata) if one.timestamp_ms <= to.timestamp() * 1000]
        if not past:
            raise Refused(
                f"no snapshot of {name} that is still there is as old as {to.astimezone(UTC).isoformat()}",
                data=_NOTHING,
                next_step=f"smelt maintain snapshots {name} lists them",
            )
        return past[0]
    found = table.metadata.snapshot_by_id(to)
    if found is None:
        raise Refused(
            f"{name} has no snapshot {to}", data=_NOTHING, next_step=f"smelt maintain snapshots {name} lists them"
        )
    return found


def parse_target(text: str) -> int | datetime | None:
    """A snapshot's number, or a moment; nothing if it is neither."""
    if _NUMBER.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def is_of_another_life(table: Table, snapshot: Snapshot) -> bool:
    """Was the table built anew since then? Such a commit has no past, so the two have nothing in common."""
    by_id = {one.snapshot_id: one for one in table.metadata.snapshots}
    past, at = set(), snapshot.snapshot_id
    while (one := by_id.get(at)) is not None and at not in past:
        past.add(at)
        at = one.parent_snapshot_id or 0
    return not any(one.snapshot_id in past for one in ancestors(table.metadata))


def roll_back(table: Table, snapshot: Snapshot) -> None:
    """Make the snapshot the current one, unless somebody has changed the table meanwhile."""
    try:
        with (
            catalog_errors(".".join(table.name())),
            warnings.catch_warnings(action="ignore"),
            table.manage_snapshots() as snapshots,
        ):
            snapshots.set_current_snapshot(snapshot_id=snapshot.snapshot_id)
    except CommitFailedException as problem:
        raise Unreachable(
            f"{'.'.join(table.name())} was changed by somebody else at the same moment: {problem}",
            data=_NOTHING,
            next_step="run it again",
        ) from problem


def takes_rows_back(table: Table, snapshot: Snapshot) -> bool:
    """Would rows come back that have left since? Nobody can tell where the snapshot is not behind the newest."""
    since = snapshots_since(ancestors(table.metadata), snapshot.snapshot_id)
    if since is None:
        return True
    takes_out = (Operation.DELETE, Operation.OVERWRITE)
    return any(one.summary is None or one.summary.operation in takes_out for one in since)


def rows_since(table: Table, snapshot: Snapshot, *names: str) -> pa.Table:
    """Some columns of the rows that came after a snapshot; files that both have are not opened."""
    with files_needed(table):
        now = {one.file.file_path: one for one in table.scan().plan_files()}
        then = {one.file.file_path: one for one in table.scan(snapshot_id=snapshot.snapshot_id).plan_files()}
        came = _rows(table, (now[path] for path in now.keys() - then.keys()), names)
        went = _rows(table, (then[path] for path in then.keys() - now.keys()), names)
    return came.join(went, list(names), join_type="left anti") if went.num_rows else came


def _rows(table: Table, files: Iterable[FileScanTask], names: tuple[str, ...]) -> pa.Table:
    batches = list(read_columns(table, files, *names))
    schema = table.scan(selected_fields=names).projection().as_arrow()
    return pa.Table.from_batches([one.cast(schema) for one in batches], schema=schema)
