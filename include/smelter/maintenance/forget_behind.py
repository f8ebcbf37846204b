"""Which tables of silver and gold still have what was made of forgotten records? Asked of their histories, no JVM."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from pyiceberg.table import Table

from smelter.lake.bookmarks import bookmark_of
from smelter.lake.forgotten import Why, forgotten
from smelter.lake.home import GOLD, SILVER, Lake
from smelter.lake.identities import positions_of
from smelter.lake.tables import find_table
from smelter.maintenance.forget_found import within

Name = tuple[str, str]


def behind(lake: Lake, dataset: str) -> list[Name]:
    """Silver, if it has such a row; and each gold table that was last computed from a silver that had one."""
    gone, silver = forgotten(lake, dataset, why=Why.FORGET), find_table(lake, SILVER, dataset)
    if not gone or silver is None:
        return []

    @cache
    def has_some(snapshot: int) -> bool:
        if silver.metadata.snapshot_by_id(snapshot) is None:
            return True  # it is expired: nobody can tell any more
        return bool(within(positions_of(silver, gone, snapshot), gone))

    head = silver.current_snapshot()
    is_silver = head is not None and has_some(head.snapshot_id)
    golds = [(GOLD, name) for name, snapshot in gold_from(lake, silver) if has_some(snapshot)]
    return [*([(SILVER, dataset)] if is_silver else []), *golds]


def gold_from(lake: Lake, silver: Table) -> Iterator[tuple[str, int]]:
    """The gold tables that have read this silver, and the snapshot of it that they have."""
    if not lake.catalog.namespace_exists(GOLD):
        return
    for _, name in sorted(lake.catalog.list_tables(GOLD)):
        gold = find_table(lake, GOLD, name)
        read = bookmark_of(gold) if gold is not None else None
        if read is not None and read.table == str(silver.metadata.table_uuid):
            yield name, read.snapshot
