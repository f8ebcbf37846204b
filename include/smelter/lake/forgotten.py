"""Which records have left for good? Their identities, as runs of positions per source, and never a value of them.

A forgotten record has its place here: it is neither missing nor brought back. Identities are noted before rows leave,
so that a record may for a moment be here and in a table too, and never in none. One that is noted twice means the same
as once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThanOrEqual, In, LessThanOrEqual
from pyiceberg.table import Table

from smelter.lake.catalog import catalog_errors
from smelter.lake.home import FORGOTTEN, OPS, Lake
from smelter.lake.identities import Positions, files_needed
from smelter.lake.tables import ensure_forgotten_table, find_table

IDENTITY_COLUMNS = ("dataset", "_source", "first", "last")
BECAUSE = "smelter.because"  # in the summary of the snapshot that notes them


class Why(StrEnum):
    """Why records left."""

    FORGET = "forget"  # somebody asked for it
    RETENTION = "retention"  # their time was up


@dataclass(frozen=True)
class Departure:
    """When a record left for good, and by which run."""

    at: datetime
    run: str
    why: str


def note_forgotten(
    lake: Lake,
    dataset: str,
    identities: Mapping[str, Positions],
    run: str,
    why: Why,
    at: datetime,
    because: str = "",
) -> None:
    """Write identities down, before their rows leave. Safe to kill and to repeat: one commit, and twice is once."""
    columns: dict[str, list[Any]] = {"_source": [], "first": [], "last": []}
    for source, positions in identities.items():
        firsts, lasts = runs_of(positions)
        columns["_source"] += [source] * len(firsts)
        columns["first"] += firsts.tolist()
        columns["last"] += lasts.tolist()
    if not columns["_source"]:
        return
    count = len(columns["_source"])
    same = {"dataset": dataset, "run": run, "why": why.value, "forgotten_at": at}
    table = ensure_forgotten_table(lake)
    schema = table.schema().as_arrow()
    rows = pa.table({**columns, **{name: [value] * count for name, value in same.items()}})
    summary = {BECAUSE: because} if because else {}
    with catalog_errors(str(lake.root)), warnings.catch_warnings(action="ignore"):
        table.append(rows.select(schema.names).cast(schema), snapshot_properties=summary)


def forgotten(
    lake: Lake,
    dataset: str,
    sources: Iterable[str] | None = None,
    *,
    runs: Iterable[str] | None = None,
    why: Why | None = None,
) -> dict[str, Positions]:
    """The positions of each source that have left for good; of these sources, by these runs, or all."""
    table = find_table(lake, OPS, FORGOTTEN)
    if table is None or table.current_snapshot() is None:
        return {}
    where: BooleanExpression = EqualTo(term="dataset", value=dataset)
    for column, wanted in (("_source", sources), ("run", runs), ("why", None if why is None else [why.value])):
        if wanted is not None:
            where = And(where, In(term=column, literals=set(wanted)))
    return _positions(_rows(table, where, ("_source", "first", "last")))


def departure_of(lake: Lake, dataset: str, source: str, position: int) -> Departure | None:
    """When and why one record left for good; nothing if it did not."""
    table = find_table(lake, OPS, FORGOTTEN)
    if table is None or table.current_snapshot() is None:
        return None
    is_source = And(EqualTo(term="dataset", value=dataset), EqualTo(term="_source", value=source))
    is_in = And(LessThanOrEqual(term="first", value=position), GreaterThanOrEqual(term="last", value=position))
    rows = _rows(table, And(is_source, is_in), ("run", "why", "forgotten_at")).to_pylist()
    first = min(rows, key=lambda row: row["forgotten_at"], default=None)
    return None if first is None else Departure(first["forgotten_at"], first["run"], first["why"])


def forgot_since(lake: Lake, dataset: str, moment: datetime) -> bool:
    """Was somebody of the dataset forgotten after that moment?"""
    table = find_table(lake, OPS, FORGOTTEN)
    if table is None or table.current_snapshot() is None:
        return False
    is_later = GreaterThanOrEqual(term="forgotten_at", value=moment.isoformat())
    named = And(EqualTo(term="dataset", value=dataset), EqualTo(term="why", value=Why.FORGET.value))
    return bool(_rows(table, And(named, is_later), ("run",)).num_rows)


def runs_of(positions: Positions) -> tuple[Positions, Positions]:
    """The first and the last of every run of consecutive positions; each position counts once."""
    ordered = np.unique(positions)
    if not len(ordered):
        return ordered, ordered
    breaks = np.flatnonzero(np.diff(ordered) > 1)
    return ordered[np.concatenate([[0], breaks + 1])], ordered[np.concatenate([breaks, [len(ordered) - 1]])]


def _rows(table: Table, where: BooleanExpression, columns: tuple[str, ...]) -> pa.Table:
    with files_needed(table):
        return table.scan(row_filter=where, selected_fields=columns).to_arrow()


def _positions(rows: pa.Table) -> dict[str, Positions]:
    found: dict[str, list[Positions]] = {}
    for row in rows.to_pylist():
        found.setdefault(row["_source"], []).append(np.arange(row["first"], row["last"] + 1, dtype=np.int64))
    return {source: np.unique(np.concatenate(parts)) for source, parts in found.items()}
