"""What has a gold table before it? Told from the histories of two tables, without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from smelter.contracts import Contract
from smelter.errors import Refused, Unreachable
from smelter.gold.models import Model
from smelter.lake.bookmarks import Bookmark, bookmark_of, carries_bookmark
from smelter.lake.commits import ancestors, told
from smelter.lake.home import GOLD, SILVER, Lake
from smelter.lake.increments import snapshots_since
from smelter.lake.removal import REMOVAL, RETIRED
from smelter.lake.tables import find_table

MODEL = "smelter.model"  # the table property that tells which model made the rows
_DELETE_FILES = ("added-delete-files", "added-position-deletes", "added-equality-deletes")


class Step(Enum):
    """What is done to a gold table."""

    NOTHING = "nothing"
    BOOKMARK = "bookmark"  # silver has new snapshots, and no changed row among them
    WINDOWS = "windows"
    WHOLE = "whole"


@dataclass(frozen=True)
class Plan:
    """What one gold table has before it, and why."""

    step: Step
    why: str
    bookmark: Bookmark | None = None  # where the table is when it is done
    start: int | None = None  # the snapshot of silver that the table holds
    takes_rows_out: bool = False  # rows were removed or rewritten since, not only added
    behind: int = 0  # snapshots of silver
    retired: tuple[int, ...] = ()  # those of them that let rows go whose time was up: no answer changes


def find_silver(lake: Lake, dataset: str) -> Table:
    """Silver, which must be there."""
    silver = find_table(lake, SILVER, dataset)
    if silver is None:
        raise Unreachable(
            f"there is no table {SILVER}.{dataset}",
            where=str(lake.root),
            data="nothing was changed",
            next_step=f"smelt silver {dataset}",
        )
    return silver


def fingerprint_of(model: Model, contract: Contract) -> str:
    """What the rows of a table depend on, besides silver."""
    return model.fingerprint(contract.silver.event_time if contract.silver is not None else None)


def plan_of(model: Model, contract: Contract, silver: Table, gold: Table | None, *, rebuild: bool = False) -> Plan:
    """What brings the table up to date; raises `Refused` if its rows were made by another model."""
    head = silver.current_snapshot()
    if head is None:
        return Plan(Step.NOTHING, "silver is empty")
    bookmark = Bookmark(str(silver.metadata.table_uuid), head.snapshot_id)
    if rebuild:
        return Plan(Step.WHOLE, "asked for", bookmark)
    if gold is not None:
        _refuse_another_model(model, contract, gold)
    read = bookmark_of(gold) if gold is not None else None
    if read is None:
        why = "its bookmark is lost" if gold is not None and gold.current_snapshot() is not None else "the first time"
        return Plan(Step.WHOLE, why, bookmark)
    if read.table != bookmark.table:
        return Plan(Step.WHOLE, "silver was dropped and made again", bookmark)
    since = snapshots_since(ancestors(silver.metadata), read.snapshot)
    if since is None:
        return Plan(Step.WHOLE, "silver was replaced, or the snapshot that was read is expired", bookmark)
    if _has_other_columns(silver, read.snapshot, head.snapshot_id):
        why = "a column of silver is another one under the same name, or of another type"
        return Plan(Step.WHOLE, why, bookmark, behind=len(since))
    return _of_snapshots(model, since, read.snapshot, bookmark)


def _of_snapshots(model: Model, since: Sequence[Snapshot], start: int, bookmark: Bookmark) -> Plan:
    retired = tuple(one.snapshot_id for one in since if told(one, RETIRED) is not None)
    changing = [one for one in since if one.snapshot_id not in retired and _changes_rows(one)]
    if not changing:
        return Plan(Step.BOOKMARK if since else Step.NOTHING, "no row changed", bookmark, start, behind=len(since))
    if any(_count(one, name) for one in changing for name in _DELETE_FILES):
        return Plan(Step.WHOLE, "silver has delete files, whose rows are not told", bookmark, behind=len(since))
    if model.window is None:
        return Plan(Step.WHOLE, "silver changed, and the model has no window", bookmark, behind=len(since))
    rewriting = [one for one in changing if one.summary is None or one.summary.operation is not Operation.APPEND]
    if not all(carries_bookmark(one) or told(one, REMOVAL) for one in rewriting):
        why = "rows of silver were changed by something that is not Smelter, which does not tell them apart"
        return Plan(Step.WHOLE, why, bookmark, behind=len(since))
    return Plan(Step.WINDOWS, "silver changed", bookmark, start, bool(rewriting), len(since), retired)


def _has_other_columns(silver: Table, before: int, now: int) -> bool:
    """Does a name stand for another column or type? Then old rows have other values, and no row changed."""
    columns = {field.name: field for field in _schema_at(silver, before).fields}
    return any(
        (field.field_id, field.field_type) != (columns[field.name].field_id, columns[field.name].field_type)
        for field in _schema_at(silver, now).fields
        if field.name in columns
    )


def _schema_at(silver: Table, snapshot: int) -> Schema:
    """The columns that a reader of this snapshot sees."""
    found = silver.metadata.snapshot_by_id(snapshot)
    return next((one for one in silver.metadata.schemas if found and one.schema_id == found.schema_id), silver.schema())


def _changes_rows(snapshot: Snapshot) -> bool:
    """Compaction rewrites files, not rows, and a commit may carry nothing but a bookmark."""
    if snapshot.summary is None:
        return True
    if snapshot.summary.operation is Operation.REPLACE:
        return False
    names = ("added-records", "deleted-records", *_DELETE_FILES)
    return any(_count(snapshot, name) for name in names)


def _count(snapshot: Snapshot, name: str) -> int:
    return int(told(snapshot, name) or 0)


def _refuse_another_model(model: Model, contract: Contract, gold: Table) -> None:
    made_by = gold.properties.get(MODEL)
    if made_by is not None and made_by != fingerprint_of(model, contract):
        raise Refused(
            f"the model of {GOLD}.{model.name} changed since its rows were made",
            where=model.file,
            data="its rows are those of the model before",
            next_step=f"smelt gold {model.dataset} --rebuild",
        )
