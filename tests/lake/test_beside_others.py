"""Batches are committed beside somebody else's compaction and expiry: none fails, counts are exact."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from beside_compaction import append_beside_compaction
from datasets import Dataset, contract_of

from smelter.lake.home import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.jvm
def test_batches_and_a_plain_spark_compaction_do_not_hurt_each_other(lake: Lake, spark: SparkSession) -> None:
    data = Dataset(lake, contract_of("a: {type: int}"))
    found = append_beside_compaction(spark, data, batches=15)
    assert found.compactions >= 1
    assert found.rows == found.expected >= 150


def test_two_writers_of_the_same_batch_add_it_once(lake: Lake) -> None:
    """Both find no token and both commit: the slower one finds the token when it tries again."""
    from datetime import UTC, datetime

    from smelter.lake.commits import Commit, commit_once
    from smelter.lake.data_files import DataFileWriter, TableShape
    from smelter.lake.home import BRONZE
    from smelter.lake.tables import load_table

    data = Dataset(lake, contract_of("a: {type: int}"))
    data.take([{"a": 1}])
    first, second = load_table(lake, BRONZE, data.name), load_table(lake, BRONZE, data.name)
    rows = first.scan().to_arrow().to_batches()[0]
    shape = TableShape.of(first)
    writer = DataFileWriter(shape)
    writer.add(shape.conform(rows, {}))
    commit = Commit("two:writers:1:0", datetime.now(UTC), writer.finish(), {})
    gate = threading.Barrier(2)

    def commit_it(table: object) -> None:
        gate.wait()
        commit_once(table, commit, may_be_there=False)  # type: ignore[arg-type]

    threads = [threading.Thread(target=commit_it, args=(table,)) for table in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert load_table(lake, BRONZE, data.name).scan().to_arrow().num_rows == 2
