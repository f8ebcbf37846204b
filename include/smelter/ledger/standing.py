"""How does a dataset stand? Rows, the last batch, dead letters by reason, and what lies in the landing folder."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import Table

from smelter.contracts import Contract
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.identities import read_columns, split_files
from smelter.lake.landing import Landing, look_at
from smelter.lake.resolutions import closed_letters, last_reasons
from smelter.lake.tables import active_contract, load_table, row_count

_IDENTITY = ("_source", "_position")


@dataclass(frozen=True)
class LastBatch:
    """The newest batch that is in the tables."""

    token: str
    ingested_at: datetime
    files: int
    records: int
    accepted: int
    dead: int


@dataclass(frozen=True)
class Standing:
    """One dataset, as its tables and records of batches tell."""

    dataset: str
    contract: Contract
    rows: dict[str, int] = field(default_factory=dict)
    last_batch: LastBatch | None = None
    batches: int = 0
    prepared: int = 0
    newest_arrival: datetime | None = None
    letters_by_reason: dict[str, int] = field(default_factory=dict)  # of open ones
    closed_letters: int = 0
    lost_files: int = 0
    landing: Landing = field(default_factory=Landing)


def standing_of(lake: Lake, dataset: str) -> Standing:
    """Look at one dataset. Reads no row of bronze, and one column of dead letters."""
    tables = {name: load_table(lake, name, dataset) for name in (BRONZE, DEAD_LETTERS)}
    contract = active_contract(tables[BRONZE])
    records = lake.batches(dataset)
    done = records.done()
    both = sorted((*done, *lake.letter_batches(dataset).done()), key=lambda batch: batch.ingested_at)
    units = {receipt.unit.source: receipt.unit for batch in both for receipt in batch.receipts}
    reasons, closed, lost = _reasons(tables[DEAD_LETTERS], closed_letters(lake, dataset), last_reasons(lake, dataset))
    last = done[-1] if done else None
    return Standing(
        dataset,
        contract,
        rows={f"{name}.{dataset}": row_count(table) for name, table in tables.items()},
        last_batch=None
        if last is None
        else LastBatch(
            last.token,
            last.ingested_at,
            len(last.receipts),
            *(sum(getattr(one, name) for one in last.receipts) for name in ("records", "accepted", "dead")),
        ),
        batches=len(done),
        prepared=len(records.prepared()),
        newest_arrival=_newest_arrival([unit.modified_ns for unit in units.values()]),
        letters_by_reason=reasons,
        closed_letters=closed,
        lost_files=lost + len(split_files(tables[BRONZE])[1]),
        landing=look_at(lake.landing(contract), units),
    )


def _reasons(table: Table, closed: pa.Table, judged: pa.Table) -> tuple[dict[str, int], int, int]:
    """Open letters by the reason that they have now, how many are closed, and how many data files are gone."""
    files, lost = split_files(table)
    counts: Counter[str] = Counter()
    number = 0
    for batch in read_columns(table, files, "reason", *(_IDENTITY if closed.num_rows or judged.num_rows else ())):
        letters = pa.Table.from_batches([batch])
        if closed.num_rows:
            letters = letters.join(_as_in(letters, closed), list(_IDENTITY), join_type="left anti")
        number += batch.num_rows - letters.num_rows
        if judged.num_rows:
            letters = letters.join(_as_in(letters, judged), list(_IDENTITY), right_suffix="_now")
        reasons = letters["reason"]
        if judged.num_rows:
            reasons = pc.coalesce(letters["reason_now"].cast(reasons.type), reasons)
        for entry in reasons.value_counts().to_pylist():
            counts[entry["values"]] += entry["counts"]
    return dict(counts.most_common()), number, len(lost)


def _as_in(letters: pa.Table, others: pa.Table) -> pa.Table:
    """Arrow joins columns of the very same type only."""
    return others.set_column(0, "_source", others["_source"].cast(letters["_source"].type))


def _newest_arrival(moments: list[int]) -> datetime | None:
    return datetime.fromtimestamp(max(moments) / 1e9, UTC) if moments else None
