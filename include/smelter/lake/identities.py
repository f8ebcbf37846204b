"""Which records are in a table? Their identities, read with as few files opened as their bounds allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import from_bytes
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, In
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import TimestamptzType

from smelter.errors import Unreachable

Positions = npt.NDArray[np.int64]
ABOUT_FILES = frozenset({"file_changed", "file_unreadable", "file_too_large", "truncated_batch"})  # reasons of letters


def positions_of(
    table: Table, sources: Iterable[str], snapshot: int | None = None, *, dataset: str | None = None
) -> dict[str, Positions]:
    """The positions that the table holds of each of these sources, or held at a snapshot.

    `dataset`: of a table that has rows of several, only those of this one.
    """
    is_wanted: BooleanExpression = In(term="_source", literals=set(sources))
    if dataset is not None:
        is_wanted = And(is_wanted, EqualTo(term="dataset", value=dataset))
    scan = table.scan(row_filter=is_wanted, selected_fields=("_source", "_position"), snapshot_id=snapshot)
    with files_needed(table):
        return positions_of_rows(scan.to_arrow())


def positions_of_rows(rows: pa.Table) -> dict[str, Positions]:
    """The positions of each source among rows; one sort, however many sources there are."""
    if not rows.num_rows:
        return {}
    ordered = rows.select(["_source", "_position"]).sort_by("_source")
    runs = pc.run_end_encode(ordered["_source"].combine_chunks(), run_end_type=pa.int64())
    positions = ordered["_position"].to_numpy()
    return dict(zip(runs.values.to_pylist(), np.split(positions, runs.run_ends.to_numpy()[:-1]), strict=True))


def letters_about_files(letters: Table, sources: Iterable[str]) -> dict[str, tuple[int, str]]:
    """The letter about the file itself that a source has, if it has one: its position and reason."""
    condition = And(In(term="_source", literals=set(sources)), In(term="reason", literals=set(ABOUT_FILES)))
    with files_needed(letters):
        rows = letters.scan(row_filter=condition, selected_fields=("_source", "_position", "reason")).to_arrow()
    return {row["_source"]: (row["_position"], row["reason"]) for row in rows.to_pylist()}


def arrivals_of(table: Table, sources: Iterable[str]) -> dict[str, datetime]:
    """When each of these sources had arrived, as its rows tell."""
    scan = table.scan(row_filter=In(term="_source", literals=set(sources)), selected_fields=("_source", "_arrived_at"))
    found: dict[str, datetime] = {}
    with files_needed(table):
        for batch in scan.to_arrow_batch_reader():
            for row in pa.Table.from_batches([batch]).group_by(["_source", "_arrived_at"]).aggregate([]).to_pylist():
                found[row["_source"]] = row["_arrived_at"]
    return found


def counts_by_source(table: Table) -> dict[str, int]:
    """How many records the table holds of every source."""
    counts: dict[str, int] = defaultdict(int)
    with files_needed(table):
        for batch in table.scan(selected_fields=("_source",)).to_arrow_batch_reader():
            for entry in batch.column("_source").value_counts().to_pylist():
                counts[entry["values"]] += entry["counts"]
    return dict(counts)


def newest_moment(table: Table) -> datetime | None:
    """The newest `_ingested_at`, also where no snapshot is left to tell it: from the files' bounds, opening none."""
    column = table.schema().find_field("_ingested_at").field_id
    bounds = (task.file.upper_bounds.get(column) for task in table.scan().plan_files())
    micros = max((int(from_bytes(TimestamptzType(), bound)) for bound in bounds if bound), default=None)
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


@contextmanager
def files_needed(table: Table) -> Iterator[None]:
    """A data file that is gone is named, with the table it belongs to."""
    try:
        yield
    except FileNotFoundError as problem:
        raise Unreachable(
            f"a data file of {'.'.join(table.name())} is gone",
            where=str(problem.filename or problem),
            data="its rows cannot be read; nothing was changed",
            next_step="smelt reconcile names the records; bring the file back from a backup",
        ) from problem


@dataclass(frozen=True)
class LostFile:
    """A data file that the table names and that is not there."""

    path: str
    records: int


def split_files(table: Table) -> tuple[list[FileScanTask], list[LostFile]]:
    """The data files of the table as it is now: those that are there, and those that somebody removed."""
    there, lost = [], []
    for task in table.scan().plan_files():
        if table.io.new_input(task.file.file_path).exists():
            there.append(task)
        else:
            lost.append(LostFile(task.file.file_path, task.file.record_count))
    return there, lost


def read_columns(table: Table, files: Iterable[FileScanTask], *names: str) -> Iterator[pa.RecordBatch]:
    """Some columns of some data files, without the rows that were deleted from them."""
    columns = table.scan(selected_fields=names).projection()
    for file in files:
        yield from ArrowScan(table.metadata, table.io, columns, AlwaysTrue()).to_record_batches([file])


def rows_of(table: Table, source: str, position: int) -> list[dict[str, Any]]:
    """The rows of one identity: one, if all is well."""
    is_record = And(EqualTo(term="_source", value=source), EqualTo(term="_position", value=position))
    with files_needed(table):
        return list(table.scan(row_filter=is_record).to_arrow().to_pylist())
