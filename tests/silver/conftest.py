"""One lake and one Spark session for the tests of this room; each test has datasets of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from things import Things, contract_of

from smelter.lake.home import Lake
from smelter.lake.tables import ensure_tables
from smelter.settings import Settings
from tiny_spark import tiny_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Make = Callable[..., Things]


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
def make(lake: Lake, spark: SparkSession) -> Make:
    """Makes a dataset whose contract has this `silver:`."""

    def things(silver: str, **more: str) -> Things:
        contract = contract_of(silver, **more)
        ensure_tables(lake, contract)
        return Things(lake, spark, contract)

    return things
