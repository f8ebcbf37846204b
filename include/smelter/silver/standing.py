"""How does silver stand? Its rows, what it has not read yet, and whether it must be built anew; no JVM."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime

from smelter.errors import Refused
from smelter.lake.bookmarks import bookmark_of
from smelter.lake.home import BRONZE, SILVER, Lake
from smelter.lake.increments import backlog_of
from smelter.lake.lease import holder_of
from smelter.lake.tables import active_contract, find_table, load_table, row_count
from smelter.quality.records import stopped_since
from smelter.silver.definition import what_changed


@dataclass(frozen=True)
class SilverStanding:
    """Silver of one dataset."""

    rows: int
    waiting: int  # rows of bronze that it has not read
    built_at: datetime | None
    rebuild_due: tuple[str, ...] = ()  # what changed since its rows were made
    stopped_by: str = ""  # why it cannot go on from where it is
    holder: str | None = None  # who changes it at this moment
    failed_checks: tuple[str, ...] = ()  # that stopped the run which would have changed it last


def standing_of(lake: Lake, dataset: str) -> SilverStanding | None:
    """Look at silver; nothing if the contract has none."""
    bronze = load_table(lake, BRONZE, dataset)
    contract = active_contract(bronze)
    if contract.silver is None:
        return None
    table, holder = find_table(lake, SILVER, dataset), holder_of(lake, SILVER, dataset)
    if table is None:
        failed = stopped_since(lake, dataset, None)
        return SilverStanding(0, row_count(bronze), None, holder=holder, failed_checks=failed)
    snapshot = table.current_snapshot()
    built_at = None if snapshot is None else datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
    due = tuple(what_changed(table, contract, bronze))
    try:
        waiting = backlog_of(bronze, bookmark_of(table), sys.maxsize).rows
    except Refused as problem:
        return SilverStanding(row_count(table), 0, built_at, due, problem.what, holder)
    failed = stopped_since(lake, dataset, built_at) if waiting else ()
    return SilverStanding(row_count(table), waiting, built_at, due, holder=holder, failed_checks=failed)
