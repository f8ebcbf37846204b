"""Rows leave when their time is up: `keep_rows` of a layer. What was made from them stays as it is.

Safe to kill and to repeat: identities of bronze are noted first, rows leave in one commit, and what has left is not
found again. The caller holds the table's lease, and retires silver before bronze.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import LessThan
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from smelter.contracts import Contract
from smelter.contracts.times import seconds_of
from smelter.lake.bookmarks import bookmark_of
from smelter.lake.commits import INGESTED_AT, ancestors, told
from smelter.lake.forgotten import Why, note_forgotten
from smelter.lake.home import BRONZE, GOLD, SILVER, Lake
from smelter.lake.identities import Positions, files_needed, positions_of_rows
from smelter.lake.increments import snapshots_since
from smelter.lake.removal import REMOVAL, RETIRED, remove_rows
from smelter.lake.tables import find_table, load_table

_COLUMNS = {BRONZE: "_ingested_at", SILVER: "_ingested_at", GOLD: "window_start"}
_RECORDS_AT_ONCE = 5_000_000


@dataclass(frozen=True)
class Due:
    """Rows of one table whose time is up."""

    table: str
    keep: str
    before: datetime
    rows: int
    waits_for: str = ""  # why they stay all the same


@dataclass(frozen=True)
class Retired:
    """What left a table."""

    table: str
    rows: int
    run: str | None = None  # nothing if no row left
    waits_for: str = ""


def due(lake: Lake, table_name: str, contract: Contract, now: datetime, keep: str | None = None) -> Due | None:
    """How many rows of a table would leave now; nothing if its rows are kept for ever, or none is old enough.

    `keep` is what the model of a gold table says; the contract tells of bronze and silver. Starts no JVM.
    """
    namespace, _, name = table_name.partition(".")
    keep = _keep_of(namespace, contract, keep)
    table = find_table(lake, namespace, name) if keep is not None else None
    if keep is None or table is None or table.current_snapshot() is None:
        return None
    before = now - timedelta(seconds=seconds_of(keep))
    with files_needed(table):
        rows = table.scan(row_filter=_is_over(namespace, before)).count()
    if not rows:
        return None
    waits_for = _waits_for(lake, contract, table, before) if namespace == BRONZE else ""
    return Due(table_name, keep, before, rows, waits_for)


def retire_rows(
    lake: Lake,
    table_name: str,
    contract: Contract,
    now: datetime,
    keep: str | None = None,
    reach: Callable[[str], None] = lambda _point: None,
) -> Retired:
    """Let the rows go whose time is up; a batch has one moment, so that it leaves bronze whole or not at all."""
    found = due(lake, table_name, contract, now, keep)
    if found is None or found.waits_for:
        return Retired(table_name, 0, waits_for=found.waits_for if found is not None else "")
    namespace, _, name = table_name.partition(".")
    table, column = load_table(lake, namespace, name), _COLUMNS[namespace]
    run = f"retention:{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    where = _is_over(namespace, found.before)
    if namespace == BRONZE:
        for identities in _identities(table, where):
            note_forgotten(lake, name, identities, run, Why.RETENTION, now)
        reach("noted")

    def is_gone(rows: pa.RecordBatch) -> pa.Array:
        return pc.fill_null(pc.less(rows.column(column), pa.scalar(found.before, rows.column(column).type)), False)

    removed = remove_rows(table, where, (column,), is_gone, {REMOVAL: run, RETIRED: run})
    reach("left")
    return Retired(table_name, removed, run)


def _identities(table: Table, where: LessThan) -> Iterator[dict[str, Positions]]:
    """The records that leave, some millions at a time."""
    parts: list[pa.RecordBatch] = []
    with files_needed(table):
        for batch in table.scan(row_filter=where, selected_fields=("_source", "_position")).to_arrow_batch_reader():
            parts.append(batch)
            if sum(one.num_rows for one in parts) >= _RECORDS_AT_ONCE:
                yield positions_of_rows(pa.Table.from_batches(parts))
                parts = []
    if parts:
        yield positions_of_rows(pa.Table.from_batches(parts))


def _keep_of(namespace: str, contract: Contract, keep: str | None) -> str | None:
    if namespace == BRONZE:
        return contract.bronze.keep_rows
    if namespace == SILVER:
        return contract.silver.keep_rows if contract.silver is not None else None
    return keep if namespace == GOLD else None


def _is_over(namespace: str, before: datetime) -> LessThan:
    return LessThan(term=_COLUMNS[namespace], value=before.isoformat())


def _waits_for(lake: Lake, contract: Contract, bronze: Table, before: datetime) -> str:
    """Rows that silver has not read yet stay: it could not get them from anywhere else."""
    if contract.silver is None:
        return ""
    silver = find_table(lake, SILVER, contract.dataset)
    if silver is None or _has_unread(bronze, silver, before):
        return f"silver has not read them yet: smelt silver {contract.dataset}"
    return ""


def _has_unread(bronze: Table, silver: Table, before: datetime) -> bool:
    """Is one of bronze's rows from before then behind silver's bookmark?"""
    bookmark = bookmark_of(silver)
    if bookmark is None or bookmark.table != str(bronze.metadata.table_uuid):
        return True
    since = snapshots_since(ancestors(bronze.metadata), bookmark.snapshot)
    if since is None or (bookmark.through is not None and bookmark.through < before):
        return True
    came = [one for one in since if one.summary is not None and one.summary.operation is Operation.APPEND]
    moments = [told(one, INGESTED_AT) for one in came if int(told(one, "added-records") or 0)]
    return any(moment is None or datetime.fromisoformat(moment) < before for moment in moments)
