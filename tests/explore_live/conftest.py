"""One lake, one Spark session that writes it, and one DuckDB that stays open for the whole room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from readings import Readers

from smelter.explore import connect
from smelter.lake.home import Lake
from smelter.settings import Settings
from tiny_spark import tiny_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("shared") / "la ke"))


@pytest.fixture(scope="session")
def spark(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with tiny_spark(lake, tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture(scope="session")
def readers(lake: Lake, spark: SparkSession) -> Iterator[Readers]:
    """DuckDB is open before the first table is there: it must see everything that comes."""
    with connect(lake.root) as explorer:
        yield Readers(spark, explorer)
