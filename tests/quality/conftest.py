"""One lake and one Spark session for the tests of this room; each test has rows of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from smelter.lake.home import Lake
from smelter.quality.gx import warm_up
from smelter.settings import Settings
from tiny_spark import tiny_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm_up().join()


@pytest.fixture(scope="session")
def shared_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("shared") / "la ke"))


@pytest.fixture(scope="session")
def spark(shared_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with tiny_spark(shared_lake, tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake of its own, for a test without Spark."""
    return Lake.at(Settings(lake=tmp_path / "pond"))
