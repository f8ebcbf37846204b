"""The same with a PostgreSQL database for the catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from things import LATEST, NUMBER, Things, contract_of, moment, recomputed

from postgres_server import PostgresServer, postgres, running_postgres  # noqa: F401
from smelter.catalog_address import parse_address
from smelter.lake.home import Lake
from smelter.lake.session import catalog_configuration
from smelter.lake.tables import ensure_tables
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def things(postgres: PostgresServer, spark: SparkSession, tmp_path: Path) -> Things:  # noqa: F811
    lake = Lake.at(Settings(lake=tmp_path / "pond", catalog=parse_address(postgres.database())))
    contract = contract_of(f"{LATEST}, {NUMBER}")
    ensure_tables(lake, contract)
    session = spark.newSession()
    for name, value in catalog_configuration(lake).items():
        session.conf.set(name, value)
    return Things(lake, session, contract)


def test_silver_is_merged_and_rebuilt_there_too(things: Things) -> None:
    for seq in (1, 2):
        things.arrive([{"id": one, "region": 1, "at": moment(seq), "seq": seq, "text": "7"} for one in ("a", str(seq))])
        things.build()
        assert things.silver() == recomputed(things)
    things.build(rebuild=True)
    assert things.silver() == recomputed(things)
