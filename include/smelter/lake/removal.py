"""Rows leave a table, or lose a part of what they say, in one commit that says who did it; files are written anew.

Safe to kill and to repeat: the commit is whole or not there, and rows that have left are not found a second time. The
caller holds the table's lease, so that nobody rewrites its files meanwhile; whoever only adds rows is not disturbed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import BooleanExpression, EqualTo, In
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import FileScanTask, Table
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT

from smelter.errors import Unreachable
from smelter.lake.catalog import catalog_errors
from smelter.lake.commits import TOKEN_BEFORE, newest_batch
from smelter.lake.data_files import DataFileWriter, TableShape
from smelter.lake.identities import Positions, files_needed, read_columns
from smelter.lake.written import WrittenFile

IDENTITY = ("_source", "_position")
REMOVAL = "smelter.removal"  # in the summary of a snapshot that takes rows out: which run of ours did it
REMOVED = "smelter.removed-batches"  # and which batches, where it took out whole ones

FORGOT = "smelter.forgotten"  # this run noted identities in ops.forgotten: whoever made rows of them lets them go too
RETIRED = "smelter.retention"  # the time of the rows was up: whoever made rows of them keeps his

IsGone = Callable[[pa.RecordBatch], pa.Array]  # for each row: does it leave?
Change = Callable[[pa.RecordBatch], pa.RecordBatch]  # the same records, as they are written anew


@dataclass(frozen=True)
class _Files:
    """What one removal does to the files of a table."""

    old: Sequence[FileScanTask]
    new: Sequence[WrittenFile]
    rows: int


def remove_batch(table: Table, token: str, run: str) -> int:
    """Take the rows of one batch out; returns how many there were."""

    def is_gone(rows: pa.RecordBatch) -> pa.Array:
        return pc.equal(rows.column("_batch"), token)

    where = EqualTo(term="_batch", value=token)
    return remove_rows(table, where, ("_batch",), is_gone, {REMOVAL: run, REMOVED: token})


def remove_identities(table: Table, identities: Mapping[str, Positions], summary: Mapping[str, str]) -> int:
    """Take the rows of these records out; returns how many there were."""
    if not identities:
        return 0
    where = In(term="_source", literals=set(identities))
    return remove_rows(table, where, IDENTITY, among(identities), summary)


def among(identities: Mapping[str, Positions]) -> IsGone:
    """Rows of one of these records."""

    def is_gone(rows: pa.RecordBatch) -> pa.Array:
        sources, positions = rows.column("_source").to_pylist(), rows.column("_position").to_numpy()
        gone = np.zeros(rows.num_rows, np.bool_)
        for source, places in _places(sources).items():
            if source in identities:
                gone[places] = np.isin(positions[places], identities[source])
        return pa.array(gone)

    return is_gone


def _places(sources: Sequence[str]) -> dict[str, Positions]:
    found: dict[str, list[int]] = {}
    for place, source in enumerate(sources):
        found.setdefault(source, []).append(place)
    return {source: np.array(places, np.int64) for source, places in found.items()}


def remove_rows(
    table: Table, where: BooleanExpression, columns: tuple[str, ...], is_gone: IsGone, summary: Mapping[str, str]
) -> int:
    """Take rows out of the files that `where` cannot rule out; `is_gone` sees these columns. One file at a time."""
    return change_rows(table, where, columns, is_gone, None, summary)


def change_rows(
    table: Table,
    where: BooleanExpression,
    columns: tuple[str, ...],
    is_meant: IsGone,
    change: Change | None,
    summary: Mapping[str, str],
) -> int:
    """Write rows anew in the files that `where` cannot rule out; `is_meant` sees these columns, `change` all.

    Without a change they leave.
    """
    with catalog_errors(".".join(table.name())), files_needed(table):
        files = _rewritten(table, where, columns, is_meant, change)
        if files.rows:
            _commit(table, files, summary)
        return files.rows


def _rewritten(
    table: Table, where: BooleanExpression, columns: tuple[str, ...], is_meant: IsGone, change: Change | None
) -> _Files:
    writer = DataFileWriter(TableShape.of(table))
    old, meant = [], 0
    for task in table.scan(row_filter=where).plan_files():
        whole = FileScanTask(task.file, task.delete_files)
        rows = list(read_columns(table, [whole], *columns))
        found = sum(pc.sum(is_meant(batch)).as_py() or 0 for batch in rows)
        if found:
            old.append(whole)
            meant += found
            if change is not None or found < sum(batch.num_rows for batch in rows):
                _write_anew(table, whole, is_meant, change, writer)
    return _Files(old, writer.finish(), meant)


def _write_anew(
    table: Table, file: FileScanTask, is_meant: IsGone, change: Change | None, writer: DataFileWriter
) -> None:
    """The other rows as they are, and those that are meant as they are changed, if they stay at all."""
    shape = TableShape.of(table)
    for batch in read_columns(table, [file], *table.schema().column_names):
        mask = is_meant(batch)
        kept = [batch.filter(pc.invert(mask)), *([] if change is None else [change(batch.filter(mask))])]
        for rows in kept:
            if rows.num_rows:
                writer.add(shape.conform(rows, {}))


def _commit(table: Table, files: _Files, summary: Mapping[str, str]) -> None:
    operation = Operation.OVERWRITE if files.new else Operation.DELETE
    try:
        with warnings.catch_warnings(action="ignore"), table.transaction() as transaction:
            removal = _Removal(operation, transaction, table.io, snapshot_properties=dict(summary))
            for task in files.old:
                removal.delete_data_file(task.file)
            for file in files.new:
                removal.append_data_file(file.as_data_file())
            removal.commit()
    except CommitFailedException as problem:
        raise Unreachable(
            f"{'.'.join(table.name())} is changed by others faster than rows could be taken out: {problem}",
            data="no row was taken out; what was begun is finished by the next run",
            next_step="run it again",
        ) from problem


class _Removal(_OverwriteFiles):
    """Takes files out by name, wherever they are listed; rows that others add meanwhile are no conflict.

    It tells of the newest batch that it found, so that the snapshot before it, which has the rows, need not be kept.
    """

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        """At every attempt anew: another batch may have come."""
        found = newest_batch(self._transaction.table_metadata, self._transaction._table.name()[-1])
        return super()._summary({**snapshot_properties, **({TOKEN_BEFORE: found[0]} if found is not None else {})})

    def _validate_concurrency(self) -> None:
        """Files that are gone already are found while manifests are written, at every attempt."""

    def _build_delete_files_partition_predicate(self) -> None:
        """No manifest is passed over: files of older partitionings may be among those that leave."""

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:  # noqa: ARG002
        return lambda _manifest: True
