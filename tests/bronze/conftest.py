"""Lakes, streams and the one Spark session that the tests of this room share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from streams import Stream, contract_of

from postgres_server import postgres, running_postgres  # noqa: F401
from smelter.lake.home import Lake
from smelter.prove.processes import QUICK_JVM
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest.register_assert_rewrite("accounts")
NewStream = Callable[..., Stream]
_names = (f"stream_{number}" for number in itertools.count(1))


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of its callback server and of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")
    config.addinivalue_line(
        "filterwarnings", "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning"
    )


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake of its own."""
    return Lake.at(Settings(lake=tmp_path / "lake"))


@pytest.fixture
def stream(lake: Lake) -> Stream:
    """A stream in a lake of its own."""
    return Stream(lake, contract_of("orders"))


@pytest.fixture(scope="session")
def spark_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake that the shared session's SQL speaks to; each test has datasets of its own in it."""
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("shared") / "lake"))


@pytest.fixture(scope="session")
def spark(spark_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for the whole run. A stream commits through PyIceberg, so it serves streams of any lake."""
    from smelter.lake.session import start_spark

    os.environ.setdefault("JDK_JAVA_OPTIONS", QUICK_JVM)
    session = start_spark(spark_lake, "tests", tmp_path_factory.mktemp("spark"))
    session.conf.set("spark.sql.shuffle.partitions", "2")  # the tables are tiny
    yield session
    session.stop()


@pytest.fixture
def shared(spark_lake: Lake) -> NewStream:
    """Makes streams in the lake of the shared session."""
    return lambda **words: Stream(spark_lake, contract_of(next(_names), **words))
