"""One lake and one Spark session for the tests of this room; each test has a dataset of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from silvers import Silver

from smelter.lake.home import Lake
from smelter.settings import Settings
from tiny_spark import tiny_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NewSilver = Callable[..., Silver]


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")
    config.addinivalue_line(
        "filterwarnings", "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
    )


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("shared") / "lake"))


@pytest.fixture(scope="session")
def spark(lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with tiny_spark(lake, tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def new_silver(lake: Lake, spark: SparkSession) -> NewSilver:
    """Makes a silver table without rows."""
    return lambda **words: Silver(lake, spark, **words)
