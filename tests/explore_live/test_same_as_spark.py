"""After each thing that can become of a table, DuckDB, which is open all the while, has the rows that Spark has."""

from __future__ import annotations

import pyarrow as pa
import pytest
from readings import Filter, Readers, Table
from stories import COPIED, IN_COPIES, lived

from smelter.lake.home import Lake

pytestmark = pytest.mark.jvm


def test_copies_on_write_are_the_same_after_every_step(readers: Readers) -> None:
    """Columns come, go, widen and change names; partitions change; rows leave; files are packed; it goes back."""
    life = lived(readers, "copied", COPIED, IN_COPIES)
    assert life.differences == []
    assert life.delete_files == set()


def test_a_comparison_may_pass_over_a_nan(readers: Readers, lake: Lake) -> None:
    """DuckDB goes by the smallest and the largest number of a file, which NaN is none of; `isnan` finds it.

    The manifests tell these numbers, and in files that are not Spark's the file does too. Spark does so by `>` and `<`
    and not by `=`. A NaN comes into a table through an expression of silver or gold only: the judge refuses it.
    """
    by_spark, by_arrow = Table("shapes", "nan"), Table("shapes", "nan_of_arrow")
    readers.sql("create namespace if not exists lake.shapes")
    for table in (by_spark, by_arrow):
        readers.sql(f"create table {table.in_spark} (id bigint, number double) using iceberg")
    readers.sql(f"insert into {by_spark.in_spark} select /*+ coalesce(1) */ * from values (1, 1D), (2, double('nan'))")
    rows = pa.table({"id": pa.array([1, 2], pa.int64()), "number": pa.array([1.0, float("nan")], pa.float64())})
    lake.catalog.load_table(("shapes", "nan_of_arrow")).append(rows)
    is_found = ("isnan(number)", "number + 0 > 2", "number is not null", "number >= 1", "number in (1, 2)")
    for table in (by_spark, by_arrow):
        assert readers.differences(table, [Filter("number", one) for one in is_found]) == []
    assert _ids(readers, by_spark, "number > 2") == ([], [])
    assert _ids(readers, by_spark, "number <> 1") == ([2], [2])
    assert _ids(readers, by_spark, "number = cast('nan' as double)") == ([2], [])
    assert _ids(readers, by_arrow, "number <> 1") == ([2], [])


def _ids(readers: Readers, table: Table, condition: str) -> tuple[list[int], list[int]]:
    """What Spark finds, and what DuckDB finds."""
    rows = readers.explorer.execute(f"select id from {table.view} where {condition}").fetchall()
    return [row.id for row in readers.sql(f"select id from {table.in_spark} where {condition}")], [
        row[0] for row in rows
    ]
