"""One lake and one Spark session for the tests of this room; each test has datasets of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from catalog_rows import Smelt
from datasets import Dataset, contract_of

from postgres_server import SECRET, PostgresServer, postgres, running_postgres  # noqa: F401
from smelter.catalog_address import CatalogAddress, parse_address
from smelter.cli.main import run
from smelter.lake.home import Lake
from smelter.settings import Settings
from tiny_spark import tiny_spark

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
    with tiny_spark(file_lake, tmp_path_factory.mktemp("spark")) as session:
        yield session


@pytest.fixture
def setting(postgres: PostgresServer) -> str:  # noqa: F811
    """The address of a new database, with its password."""
    return postgres.database()


@pytest.fixture
def address(setting: str) -> CatalogAddress:
    return parse_address(setting)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "pond"


@pytest.fixture
def data(root: Path, address: CatalogAddress) -> Dataset:
    """A lake with a dataset of one batch."""
    data = Dataset(Lake.at(Settings(lake=root, catalog=address)), contract_of("a: {type: int}", name="things"))
    data.take([{"a": 1}, {"a": "no"}])
    return data


@pytest.fixture
def smelt(root: Path, setting: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Smelt:
    """Runs a command on the lake with its catalog named by the setting; gives exit code, output and errors."""
    monkeypatch.setenv("SMELTER_LAKE", str(root))
    monkeypatch.setenv("SMELTER_CATALOG", setting)

    def call(*words: str) -> tuple[int, str, str]:
        code = run(list(words))
        said = capsys.readouterr()
        assert SECRET not in said.out + said.err
        return code, said.out, said.err

    return call
