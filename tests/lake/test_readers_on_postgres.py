"""A catalog in PostgreSQL: the same tables through Spark, PyIceberg and DuckDB, as with the file in the lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

# The behaviour suite of the file, on the database: these functions are collected here with the fixtures below.
from test_beside_others import (  # noqa: F401
    test_batches_and_a_plain_spark_compaction_do_not_hurt_each_other,
    test_two_writers_of_the_same_batch_add_it_once,
)
from test_three_readers import (  # noqa: F401
    test_a_batch_that_was_prepared_before_the_partitioning_changed_is_committed_as_it_was,
    test_a_renamed_column_keeps_its_values_in_old_and_new_files,
    test_every_type_reads_the_same_in_spark_pyiceberg_and_duckdb,
    test_platform_columns_tell_where_when_and_under_what,
)

from postgres_server import PostgresServer
from smelter.lake.home import Lake
from smelter.lake.session import catalog_configuration
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, running_postgres: PostgresServer) -> Lake:
    """A lake whose catalog has a name that needs quoting everywhere."""
    catalog = running_postgres.database("le lac d'é=t%é & {co} \"?#/+")
    return Lake.at(Settings(lake=tmp_path_factory.mktemp("postgres") / "la ke", catalog=catalog))


@pytest.fixture(scope="module")
def spark(spark: SparkSession, lake: Lake) -> SparkSession:
    """Another session in the same JVM, over the database."""
    session = spark.newSession()
    for key, value in catalog_configuration(lake).items():
        session.conf.set(key, value)
    return session
