"""Lakes, datasets in them, and the one Spark session that the tests of this room share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sheds import Shed, contract_of

from smelter.lake.home import Lake
from smelter.settings import Settings
from tiny_spark import tiny_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NewShed = Callable[..., Shed]
_names = (f"shed_{number}" for number in itertools.count(1))


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of its callback server and of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake of its own."""
    return Lake.at(Settings(lake=tmp_path / "lake"))


@pytest.fixture
def shed(lake: Lake) -> Shed:
    """A dataset in a lake of its own, for what needs no JVM."""
    return Shed(lake, contract_of("orders"))


@pytest.fixture(scope="session")
def spark_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake that the shared session's SQL speaks to; each test has datasets of its own in it."""
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("shared") / "la ke"))


@pytest.fixture(scope="session")
def spark(spark_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole run."""
    with tiny_spark(spark_lake, tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def make(spark_lake: Lake, spark: SparkSession) -> NewShed:
    """Makes datasets in the lake of the shared session."""
    return lambda **words: Shed(spark_lake, contract_of(next(_names), **words), spark)
