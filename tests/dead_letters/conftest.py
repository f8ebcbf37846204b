"""Lakes with dead letters, ways to ask them by command, and the one Spark session that the tests of this room share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from boxes import Box
from hypothesis import HealthCheck, settings

from postgres_server import postgres, running_postgres  # noqa: F401
from smelter.cli.main import run
from smelter.contracts.write import contract_text
from smelter.lake.home import Lake
from smelter.settings import Settings
from tiny_spark import tiny_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Seeded, so that a run on a busy machine finds what a run on a quiet one finds; no deadline, for the same reason.
settings.register_profile("room", deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
settings.load_profile("room")


def pytest_configure(config: pytest.Config) -> None:
    """PySpark leaves the sockets of collect() to the garbage collector."""
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket.socket:ResourceWarning")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """A lake of its own."""
    return Lake.at(Settings(lake=tmp_path / "lake"))


@pytest.fixture
def box(lake: Lake) -> Box:
    """A dataset without letters in a lake of its own."""
    return Box(lake)


@pytest.fixture(scope="session")
def spark_lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The lake that the shared session speaks to; each test has datasets of its own in it."""
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("shared") / "la ke"))


@pytest.fixture(scope="session")
def spark(spark_lake: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with tiny_spark(spark_lake, tmp_path_factory.mktemp("spark")) as session:
        yield session


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str


Smelt = Callable[..., Done]


@pytest.fixture
def smelt(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smelt:
    """Runs a command on the lake, whose contracts are in `contracts/`."""
    contracts = tmp_path / "contracts"
    contracts.mkdir()
    (contracts / f"{box.name}.yaml").write_text(contract_text(box.contract))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SMELTER_LAKE", str(box.lake.root))
    monkeypatch.setenv("SMELTER_CONTRACTS", str(contracts))

    def call(*words: Any) -> Done:
        code = run([str(word) for word in words])
        done = capsys.readouterr()
        assert "Traceback" not in done.err
        assert "in a way it should not" not in done.err
        return Done(code, done.out, done.err)

    return call
