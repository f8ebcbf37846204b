"""One lake and one Spark session for the tests of this room; each test has datasets of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from postgres_server import postgres, running_postgres  # noqa: F401
from smelter.lake.home import Lake
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


@pytest.fixture(scope="session")
def lake(file_lake: Lake) -> Lake:
    """The lake of a test, unless its file has another."""
    return file_lake


@pytest.fixture(scope="session")
def file_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("shared") / "la ke"))


@pytest.fixture(scope="session")
def spark(file_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from smelter.lake.session import start_spark

    session = start_spark(file_lake, "tests", tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()
