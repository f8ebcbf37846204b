"""Every table that the platform keeps has the same rows in DuckDB and in Spark, whatever was done to it."""

from __future__ import annotations

import pytest
from platform_lakes import DATASET, MODELS, SPACES, Platform
from readings import Readers

from smelter.lake.home import BRONZE, DEAD_LETTERS, GOLD, SILVER, Lake
from smelter.lake.letter_status import RESOLUTIONS, status_sql

pytestmark = pytest.mark.jvm
_STATUS = status_sql(f"lake.{DEAD_LETTERS}.{DATASET}", f"lake.{DEAD_LETTERS}.{RESOLUTIONS}", DATASET)


def test_every_table_of_the_platform_is_the_same_in_spark(readers: Readers, lake: Lake) -> None:
    """Batches, a new contract, replay, silver, gold, and a month of maintenance at once."""
    platform = Platform(lake, readers.spark)
    wrong: list[str] = []

    def compare(after: str) -> None:
        for table in platform.tables():
            wrong.extend(f"after {after}, {table}: {one}" for one in readers.differences(table))
        wrong.extend(f"after {after}: {one}" for one in letters(readers))

    for _ in range(6):
        platform.arrive(20)
    platform.build()
    platform.become_wiser()
    platform.arrive(20)
    platform.replay()
    platform.build()
    compare("a replay and the second build")
    platform.care()
    compare("maintenance")
    tables = {(table.namespace, table.name) for table in platform.tables()}
    assert tables >= {*((space, DATASET) for space in (BRONZE, SILVER, DEAD_LETTERS)), *((GOLD, one) for one in MODELS)}
    assert {space for space, _ in tables} == SPACES
    assert {row.status for row in readers.sql(f"select status from ({_STATUS})")} == {"open", "replayed"}
    assert wrong == []


def letters(readers: Readers) -> list[str]:
    """The view of letters, which tells how each of them stands, is one question in both; but for their age."""
    columns = [name for name in readers.spark.sql(_STATUS).columns if name != "age"]
    rows = [tuple(row[name] for name in columns) for row in readers.sql(_STATUS)]
    return readers.compare(f"select {', '.join(columns)} from dead_letters.{DATASET}", columns, rows)
