"""Streams whose catalog is a PostgreSQL database: as exact as with the file in the lake."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import check
from conftest import NewStream
from streams import LIMITS, Stream, contract_of

# The behaviour suite of the file, on the database: these functions are collected here with the fixtures below.
from test_batches import (  # noqa: F401
    test_a_batch_that_was_killed_anywhere_is_in_the_tables_once,
    test_a_batch_with_both_kinds_of_records_makes_one_commit_per_table_under_one_token,
    test_a_contract_that_is_applied_between_the_two_commits_holds_from_the_next_batch_on,
    test_moments_of_batches_increase_also_when_the_clock_is_set_back,
    test_nothing_new_is_no_batch,
)
from test_foreign_care import (  # noqa: F401
    test_a_stream_goes_on_exactly_once_after_foreign_expiry_and_the_loss_of,
    test_foreign_expiry_between_the_two_commits_of_a_running_batch_hurts_nothing,
)
from test_live_contracts import (  # noqa: F401
    test_contracts_change_again_and_again_beside_a_busy_stream,
    test_of_two_that_apply_at_once_one_wins_and_the_other_is_told,
)
from test_lost_books import (  # noqa: F401
    test_a_table_that_was_dropped_is_noticed_and_filled_again,
    test_when_only_the_letters_of_a_batch_were_committed_a_recovery_writes_its_rows,
)

from postgres_server import PostgresServer
from smelter.bronze.recovery import recover
from smelter.lake.home import Lake
from smelter.lake.session import catalog_configuration
from smelter.ledger.reconcile import reconcile
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_names = (f"stream_{number}" for number in itertools.count(1))


@pytest.fixture
def lake(tmp_path: Path, postgres: PostgresServer) -> Lake:
    """A lake of its own, with a database of its own."""
    return Lake.at(Settings(lake=tmp_path / "lake", catalog=postgres.database()))


@pytest.fixture(scope="module")
def lake_of_session(tmp_path_factory: pytest.TempPathFactory, running_postgres: PostgresServer) -> Lake:
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("postgres") / "lake", catalog=running_postgres.database()))


@pytest.fixture(scope="module")
def spark(spark: SparkSession, lake_of_session: Lake) -> SparkSession:
    """Another session in the same JVM, over the database."""
    session = spark.newSession()
    for key, value in catalog_configuration(lake_of_session).items():
        session.conf.set(key, value)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    return session


@pytest.fixture
def shared(lake_of_session: Lake) -> NewStream:
    """Makes streams in the lake of that session."""
    return lambda **words: Stream(lake_of_session, contract_of(next(_names), **words))


@pytest.mark.jvm
def test_a_database_that_was_restored_to_an_earlier_hour_is_noticed_and_its_records_come_back(
    stream: Stream, spark: SparkSession, postgres: PostgresServer
) -> None:
    assert stream.lake.address is not None
    name = stream.lake.address.database
    stream.add("kept.json")
    stream.drain_here()
    backup = postgres.ask("select metadata_location, table_namespace, table_name from iceberg_tables", database=name)
    stream.add("forgotten.json")
    stream.drain_here(batch=1)
    for row in backup:
        words = "update iceberg_tables set metadata_location = %s where table_namespace = %s and table_name = %s"
        postgres.do(words, *row, database=name)
    problems = reconcile(stream.lake, stream.name).problems
    assert {problem.source.rpartition("/")[2] for problem in problems} == {"forgotten.json"}
    recover(stream.lake, stream.contract, LIMITS, spark=spark)
    check(stream)
