"""Letters about files lose their texts and stay: without them, nobody would read the rest of the file again.

Safe to kill and to repeat: each table is changed in one commit, and the letters come last, so that one whose text is
still there is found again by the same condition.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import And, EqualTo, In

from smelter.lake.home import DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.identities import Positions
from smelter.lake.removal import IDENTITY, among, change_rows
from smelter.lake.tables import load_table


def empty_resolutions(lake: Lake, dataset: str, letters: Mapping[str, Positions], summary: Mapping[str, str]) -> int:
    """What was told of these letters loses its texts; the caller holds the lease of resolutions."""
    is_letter = among(letters)

    def is_meant(rows: pa.RecordBatch) -> pa.Array:
        return pc.and_(pc.equal(rows.column("dataset"), dataset), is_letter(rows))

    where = And(EqualTo(term="dataset", value=dataset), In(term="_source", literals=set(letters)))
    table = load_table(lake, DEAD_LETTERS, RESOLUTIONS)
    return change_rows(table, where, ("dataset", *IDENTITY), is_meant, emptied, summary)


def empty_letters(lake: Lake, dataset: str, letters: Mapping[str, Positions], summary: Mapping[str, str]) -> int:
    """The letters lose their texts; the caller holds the lease of the dataset's letters."""
    where = In(term="_source", literals=set(letters))
    return change_rows(load_table(lake, DEAD_LETTERS, dataset), where, IDENTITY, among(letters), emptied, summary)


def emptied(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The rows without the record's text, its bytes, and what was found where it is wrong."""
    columns = dict(zip(rows.schema.names, rows.columns, strict=True))
    raw = columns["raw"]
    columns["raw"] = pc.if_else(pc.is_null(raw), raw, pa.scalar("", raw.type))  # whether there was one is told still
    columns["raw_bytes"] = pa.nulls(rows.num_rows, columns["raw_bytes"].type)
    told = columns["errors"].to_pylist()
    nothing = [None if one is None else [{**error, "found": ""} for error in one] for one in told]
    columns["errors"] = pa.array(nothing, columns["errors"].type)
    return pa.RecordBatch.from_arrays([columns[name] for name in rows.schema.names], names=rows.schema.names)
