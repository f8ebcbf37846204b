"""`smelt quality run` judges all of silver, and always asks for one row per key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from silver_tables import a_dataset, with_silver

import smelter.quality.whole_table
from smelter.cli.main import run
from smelter.errors import Refused, Unreachable
from smelter.lake.home import SILVER, Lake
from smelter.lake.tables import load_table
from smelter.quality.records import past_results
from smelter.quality.verdict import Decision
from smelter.quality.whole_table import run_checks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


def test_a_doubled_key_is_found_where_increments_could_not_see_it(spark: SparkSession, shared_lake: Lake) -> None:
    things = with_silver(spark, a_dataset(shared_lake), "('a', 1), ('b', 2), ('a', 3)")
    (result,) = run_checks(shared_lake, things.dataset, spark).stopped
    assert (result.name, result.failing) == ("one row per key", 2)
    assert [example.found for example in result.examples] == ["a", "a"]


def test_checks_of_the_contract_run_over_the_whole_table_and_are_recorded(
    spark: SparkSession, shared_lake: Lake
) -> None:
    other = with_silver(spark, a_dataset(shared_lake), "('z', 1), ('y', 2)")
    things = a_dataset(
        shared_lake,
        "name: small, check: between, column: n, max: 2, on_failure: warn",
        f"name: known, check: exists_in, column: n, dataset: {other.dataset}, field: n",
    )
    with_silver(spark, things, "('a', 1), ('b', 3)")
    verdict = run_checks(shared_lake, things.dataset, spark)
    assert [(one.name, one.ok) for one in verdict.results] == [
        ("one row per key", True),
        ("small", False),
        ("known", False),
    ]
    past = past_results(shared_lake, things.dataset)
    assert [one.result for one in past] == list(verdict.results)
    assert {(one.decision, one.scope, one.contract) for one in past} == {(Decision.MEASURED, "table", things.label)}


def test_a_dataset_without_silver_of_its_own_lends_its_bronze(spark: SparkSession, shared_lake: Lake) -> None:
    other = a_dataset(shared_lake)
    check = f"name: known, check: exists_in, column: n, dataset: {other.dataset}, field: n"
    things = with_silver(spark, a_dataset(shared_lake, check), "('a', 1)")
    assert [one.name for one in run_checks(shared_lake, things.dataset, spark).stopped] == ["known"]


def test_an_empty_silver_is_judged_too(spark: SparkSession, shared_lake: Lake) -> None:
    things = with_silver(spark, a_dataset(shared_lake, "name: rows, check: row_count, min: 1"), "('a', 1)")
    load_table(shared_lake, SILVER, things.dataset).delete()
    assert [one.found for one in run_checks(shared_lake, things.dataset, spark).results] == [0, 0]


def test_without_a_silver_table_nothing_is_asked(spark: SparkSession, shared_lake: Lake) -> None:
    things = a_dataset(shared_lake)
    with pytest.raises(Unreachable) as missing:
        run_checks(shared_lake, things.dataset, spark)
    assert missing.value.next_step == f"smelt silver {things.dataset}"
    with pytest.raises(Refused, match="has no silver"):
        run_checks(shared_lake, a_dataset(shared_lake, silver="about: none").dataset, spark)


def test_another_dataset_that_is_not_there_is_named(spark: SparkSession, shared_lake: Lake) -> None:
    check = "name: known, check: exists_in, column: n, dataset: nowhere, field: n"
    things = with_silver(spark, a_dataset(shared_lake, check), "('a', 1)")
    with pytest.raises(Unreachable, match="there is no table of nowhere"):
        run_checks(shared_lake, things.dataset, spark)


def test_the_command_prints_what_was_found_and_fails_if_silver_would_be_stopped(
    spark: SparkSession, shared_lake: Lake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the session of the tests, because a second one cannot start in their process."""
    monkeypatch.setattr(smelter.quality.whole_table, "start_spark", lambda *_, **__: spark.newSession())
    monkeypatch.setattr("pyspark.sql.SparkSession.stop", lambda _: None)
    check = "name: small, check: between, column: n, max: 2, on_failure: {}"
    warns = with_silver(spark, a_dataset(shared_lake, check.format("warn")), "('a', 1), ('b', 3)")
    stops = with_silver(spark, a_dataset(shared_lake, check.format("stop")), "('a', 1), ('b', 3)")
    words = ["--lake", str(shared_lake.root), "quality", "run"]
    assert run([*words, warns.dataset]) == 0
    said = capsys.readouterr().out
    assert "small: 1 of 2 rows fail; wanted: every n is at most 2\n  file:///a.json:1  3\n" in said
    assert said.endswith(f"{warns.dataset}: 2 rows, 2 checks, 0 would stop silver, 1 warned\n")
    assert run([*words, stops.dataset, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["ok"]) for one in told["checks"]] == [("one row per key", True), ("small", False)]
