"""One lake and one Spark session for the tests of this room; each test has a dataset of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from silvers import Silver

from smelter.lake.home import Lake
from smelter.prove.processes import QUICK_JVM
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NewSilver = Callable[..., Silver]
TINY = {  # of a few rows, planning and compiling are most of the cost; the command is tested without this
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


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
    from smelter.lake.session import start_spark

    os.environ.setdefault("JDK_JAVA_OPTIONS", QUICK_JVM)
    session = start_spark(lake, "tests", tmp_path_factory.mktemp("spark"))
    for name, value in TINY.items():
        session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture
def new_silver(lake: Lake, spark: SparkSession) -> NewSilver:
    """Makes a silver table without rows."""
    return lambda **words: Silver(lake, spark, **words)
