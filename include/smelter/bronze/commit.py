"""What was prepared becomes part of the tables: one commit for each, and only if it is not there yet.

Safe to kill between any two commits and to repeat: each looks for its token first, and rows that have left a table are
not found a second time.
"""

from __future__ import annotations

from collections.abc import Callable

from pyiceberg.table import Table

from smelter.errors import Refused
from smelter.lake.batches import Intent
from smelter.lake.commits import SEQUENCE, Commit, commit_once
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.removal import remove_batch
from smelter.lake.tables import load_table
from smelter.lake.written import WrittenFile


def commit_intent(
    lake: Lake, dataset: str, intent: Intent, reach: Callable[[str], None], *, may_be_there: bool
) -> dict[str, int]:
    """Dead letters first, so that rows are never seen before the letters beside them; then bronze.

    What became of older letters comes last, so that a record may for a moment be seen in two places, and never in none;
    and for the same reason rows leave only after that.
    """
    snapshots: dict[str, int] = {}
    for namespace, files in ((DEAD_LETTERS, intent.letters), (BRONZE, intent.bronze)):
        if files:
            table = _same_table(lake, namespace, dataset, intent)
            snapshots |= _commit(table, namespace, _of_rows(intent, files), may_be_there=may_be_there)
        if namespace == DEAD_LETTERS:
            reach("between_commits")
    if intent.resolutions:
        reach("before_resolutions")
        table = load_table(lake, DEAD_LETTERS, RESOLUTIONS)
        snapshots |= _commit(table, RESOLUTIONS, _of_resolutions(intent), may_be_there=may_be_there)
    for token in intent.removes:
        for namespace in (BRONZE, DEAD_LETTERS):
            reach("before_removal")
            remove_batch(_same_table(lake, namespace, dataset, intent), token, intent.token)
    return snapshots


def _commit(table: Table, name: str, commit: Commit, *, may_be_there: bool) -> dict[str, int]:
    snapshot = commit_once(table, commit, may_be_there=may_be_there)
    return {} if snapshot is None else {name: snapshot.snapshot_id}


def _of_rows(intent: Intent, files: list[WrittenFile]) -> Commit:
    summary = {
        SEQUENCE: str(intent.sequence),
        "smelter.contract": intent.contract,
        "smelter.files": str(len(intent.receipts)),
        "smelter.records": str(sum(receipt.records for receipt in intent.receipts)),
        "smelter.accepted": str(sum(receipt.accepted for receipt in intent.receipts)),
        "smelter.dead": str(sum(receipt.dead for receipt in intent.receipts)),
    }
    return Commit(intent.token, intent.ingested_at, files, summary)


def _of_resolutions(intent: Intent) -> Commit:
    return Commit(intent.token, intent.ingested_at, intent.resolutions, {}, columns=("run", "resolved_at"))


def _same_table(lake: Lake, namespace: str, dataset: str, intent: Intent) -> Table:
    table = load_table(lake, namespace, dataset)
    if str(table.metadata.table_uuid) == intent.tables[namespace]:
        return table
    raise Refused(
        f"{namespace}.{dataset} is not the table that this batch was prepared for",
        data="nothing was committed; the landing files are as they were",
        next_step=f"smelt ingest {dataset} --recover",
    )
