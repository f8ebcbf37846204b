"""Each check holds for good rows, fails for bad ones, and names them; on real Spark."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from asking import NOW, QUESTION, check_of, failing, rows_of, the_result

from smelter.contracts.checks import WORDS
from smelter.errors import Refused
from smelter.quality.gate import judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.jvm


def test_not_null_names_the_rows_without_a_value(spark: SparkSession) -> None:
    rows = rows_of(spark, {}, {"n": None}, {}, {"n": None})
    assert failing(rows, check_of("not_null", column="n")) == [1, 3]
    assert failing(rows, check_of("not_null", column="kind")) == []


def test_in_set_takes_listed_values_and_null(spark: SparkSession) -> None:
    rows = rows_of(spark, {"kind": "x"}, {"kind": "z"}, {"kind": None}, {"kind": "y"})
    assert failing(rows, check_of("in_set", column="kind", values=("x", "y"))) == [1]


@pytest.mark.parametrize(
    ("column", "values", "bad"),
    [
        ("n", (1, 2), 3),
        ("price", (1.5, "2.25"), Decimal("1.51")),
        ("day", ("2026-11-16",), NOW.date() - timedelta(days=1)),
        ("kind", ("x", 'it\'s "$" \\'), "\\"),
    ],
)
def test_in_set_compares_values_of_the_columns_own_type(
    spark: SparkSession, column: str, values: tuple[Any, ...], bad: Any
) -> None:
    assert failing(rows_of(spark, {}, {column: bad}), check_of("in_set", column=column, values=values)) == [1]


def test_a_listed_text_is_a_value_and_never_a_piece_of_sql(spark: SparkSession) -> None:
    hostile = ("') or true or ('", "x' or '1'='1", "${env:HOME}", "\\' or 1=1 --")
    rows = rows_of(spark, {"kind": "x"}, *({"kind": text} for text in hostile))
    assert failing(rows, check_of("in_set", column="kind", values=hostile)) == [0]


@pytest.mark.parametrize(
    ("column", "words", "bad"),
    [
        ("n", {"min": 1}, 0),
        ("n", {"max": 1}, 2),
        ("price", {"min": 0, "max": 1.5}, Decimal("1.51")),
        ("ratio", {"min": 0.5, "max": 0.5}, 0.6),
        ("ratio", {"min": 0.5}, math.nan),
        ("ratio", {"max": 0.5}, math.nan),
        ("small", {"max": 0.1}, 0.2),
        ("at", {"min": "2026-11-16T11:50:00Z"}, NOW - timedelta(minutes=11)),
        ("day", {"max": "2026-11-16"}, NOW.date() + timedelta(days=1)),
    ],
)
def test_between_takes_its_bounds_and_null_and_nothing_outside(
    spark: SparkSession, column: str, words: dict[str, Any], bad: Any
) -> None:
    rows = rows_of(spark, {}, {column: bad}, {column: None})
    assert failing(rows, check_of("between", column=column, **words)) == [1]


def test_regex_is_about_the_whole_text(spark: SparkSession) -> None:
    rows = rows_of(spark, {"id": "a1"}, {"id": "a1 "}, {"id": "ba1"}, {"id": "a1\n"}, {"id": None}, {"id": "b"})
    assert failing(rows, check_of("regex", column="id", pattern="a[0-9]|b")) == [1, 2, 3]


def test_sql_takes_what_is_true_or_null(spark: SparkSession) -> None:
    rows = rows_of(spark, {"n": 1}, {"n": 9}, {"n": None})
    assert failing(rows, check_of("sql", expression="n < price * 2 and kind = 'x'")) == [1]


def test_row_count_counts_rows_also_where_there_are_none(spark: SparkSession) -> None:
    rows = rows_of(spark, {}, {})
    assert the_result(rows, check_of("row_count", min=2, max=2)).ok
    assert not the_result(rows, check_of("row_count", min=3)).ok
    assert not the_result(rows, check_of("row_count", max=1)).ok
    none = the_result(rows.limit(0), check_of("row_count", min=1))
    assert (none.ok, none.found, none.rows) == (False, 0, 0)


def test_null_share_is_a_share_of_the_rows(spark: SparkSession) -> None:
    rows = rows_of(spark, {"kind": None}, {}, {}, {})
    result = the_result(rows, check_of("null_share", column="kind", max_share="25%"))
    assert (result.ok, result.found, result.failing) == (True, 0.25, 1)
    assert not the_result(rows, check_of("null_share", column="kind", max_share=0.24)).ok
    assert the_result(rows.limit(0), check_of("null_share", column="kind", max_share="0%")).ok


@pytest.mark.parametrize(("minutes", "ok"), [(9, False), (10, True), (11, True)])
def test_freshness_is_the_age_of_the_newest_row(spark: SparkSession, minutes: int, ok: bool) -> None:
    rows = rows_of(spark, {"at": NOW - timedelta(days=3)}, {}, {"at": None})
    result = the_result(rows, check_of("freshness", column="at", max_age=f"{minutes}m"))
    assert (result.ok, result.found) == (ok, 600)


def test_a_date_is_as_old_as_its_midnight(spark: SparkSession) -> None:
    assert the_result(rows_of(spark, {}), check_of("freshness", column="day", max_age="12h")).found == 12 * 3600


def test_an_increment_without_rows_is_fresh_and_an_empty_table_is_not(spark: SparkSession) -> None:
    none, check = rows_of(spark, {}).limit(0), check_of("freshness", column="at", max_age="1h")
    assert the_result(none, check, scope="increment").ok
    assert not the_result(none, check, scope="table").ok
    assert not the_result(rows_of(spark, {"at": None}), check, scope="increment").ok


def test_unique_names_all_rows_that_share_their_values(spark: SparkSession) -> None:
    rows = rows_of(spark, {"n": 1}, {"n": 2}, {"n": 1}, {"n": None}, {"n": None}, {"n": 1, "kind": "y"})
    assert failing(rows, check_of("unique", columns=("n",))) == [0, 2, 5]
    assert failing(rows, check_of("unique", columns=("n", "kind"))) == [0, 2]


def test_unique_over_the_key_holds_in_an_increment_and_is_counted_in_a_table(spark: SparkSession) -> None:
    rows, check = rows_of(spark, {}, {}), check_of("unique", columns=("n", "id"))
    assert failing(rows, check, scope="increment") == []
    assert failing(rows, check, scope="table") == [0, 1]


def test_exists_in_looks_for_the_value_in_the_other_dataset(spark: SparkSession) -> None:
    asked = []

    def others(dataset: str) -> DataFrame:
        asked.append(dataset)
        return spark.createDataFrame([("x",), ("x",), (None,)], "code string")

    rows = rows_of(spark, {"kind": "x"}, {"kind": "y"}, {"kind": None}, {"kind": "X"})
    check = check_of("exists_in", column="kind", dataset="kinds", field="code")
    assert failing(rows, check, others=others) == [1, 3]
    assert set(asked) == {"kinds"}


def test_exists_in_compares_numbers_of_any_size_and_nothing_else(spark: SparkSession) -> None:
    def others(_dataset: str) -> DataFrame:
        return spark.createDataFrame([(1, "1")], "code bigint, text string")

    rows = rows_of(spark, {"n": 1}, {"n": 2})
    assert failing(rows, check_of("exists_in", column="n", dataset="d", field="code"), others=others) == [1]
    for field, said in (("text", "are of two types: int here and string there"), ("cod", "d has no column `cod`")):
        with pytest.raises(Refused, match=said):
            the_result(rows, check_of("exists_in", column="n", dataset="d", field=field), others=others)


def test_every_kind_of_check_holds_for_no_rows_at_all_but_those_that_count(spark: SparkSession) -> None:
    words: dict[str, dict[str, Any]] = {
        "not_null": {"column": "n"},
        "unique": {"columns": ("n",)},
        "in_set": {"column": "n", "values": (1,)},
        "between": {"column": "n", "min": 5},
        "row_count": {"max": 0},
        "null_share": {"column": "n", "max_share": 0},
        "freshness": {"column": "at", "max_age": "1s"},
        "regex": {"column": "id", "pattern": "z"},
        "exists_in": {"column": "n", "dataset": "d", "field": "f"},
        "sql": {"expression": "false"},
    }
    assert set(words) == set(WORDS)
    checks = [check_of(kind, name=kind, **more) for kind, more in words.items()]
    verdict = judge(rows_of(spark, {}).limit(0), checks, QUESTION)
    assert [result.name for result in verdict.results if not result.ok] == []


def test_up_to_twenty_failing_rows_are_named_for_each_check_in_their_order(spark: SparkSession) -> None:
    many = [{"n": 2, "kind": "z" if place % 2 else "x"} for place in range(60)]
    checks = [
        check_of("between", name="n is small", column="n", max=1),
        check_of("in_set", name="kinds", column="kind", values=("x",)),
        check_of("unique", name="alone", columns=("kind",)),
        check_of("not_null", name="there", column="n"),
    ]
    small, kinds, alone, there = judge(rows_of(spark, *many).repartition(3), checks, QUESTION).results
    assert [example.position for example in small.examples] == list(range(20))
    assert [example.position for example in kinds.examples] == list(range(1, 41, 2))
    assert [example.position for example in alone.examples] == list(range(20))
    assert (small.failing, kinds.failing, alone.failing, there.failing) == (60, 30, 60, 0)
    assert there.examples == ()


def test_an_example_says_what_was_found(spark: SparkSession) -> None:
    rows = rows_of(spark, {"n": 5, "kind": None, "tags": ["a", "b"], "id": "i" * 300})
    checks = {
        "5": check_of("between", name="a", column="n", max=1),
        "null": check_of("not_null", name="b", column="kind"),
        '{"kind":null,"n":5}': check_of("sql", name="c", expression="n < 2 or kind is not null"),
        '{"tags":["a","b"]}': check_of("sql", name="d", expression="array_contains(tags, 'c')"),
        "i" * 200: check_of("regex", name="e", column="id", pattern="x"),
    }
    results = judge(rows, list(checks.values()), QUESTION).results
    assert [result.examples[0].found for result in results] == list(checks)


def test_a_verdict_says_who_stops_and_who_warns(spark: SparkSession) -> None:
    checks = [
        check_of("between", name="n is small", column="n", max=1),
        check_of("not_null", name="there", column="n"),
        check_of("row_count", name="enough", min=100, on_failure="warn"),
    ]
    verdict = judge(rows_of(spark, {"n": 1}, {"n": 2}), checks, QUESTION)
    assert [result.name for result in verdict.stopped] == ["n is small"]
    assert [result.name for result in verdict.warned] == ["enough"]
    assert (verdict.rows, verdict.at) == (2, NOW)
    assert verdict.stopped[0].sentence == "n is small: 1 of 2 rows fail; wanted: every n is at most 1"
    assert verdict.warned[0].sentence == "enough: 2 rows; wanted: there are at least 100 rows"


def test_without_checks_nothing_is_asked() -> None:
    assert judge(None, [], QUESTION).results == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (check_of("not_null", column="nope"), "there is no column `nope` in these rows"),
        (check_of("between", column="kind", min=1), "`kind` is string, for which between has no meaning"),
        (check_of("between", column="n", min=1.5), "`min: 1.5` is not a value of int"),
        (check_of("in_set", column="n", values=("x",)), "`values: x` is not a value of int"),
        (check_of("regex", column="n", pattern="x"), "`n` is int, for which regex has no meaning"),
        (check_of("freshness", column="n", max_age="1h"), "`n` is int, for which freshness has no meaning"),
        (check_of("unique", columns=("tags",)), "`tags` is array<string>, for which unique has no meaning"),
        (check_of("sql", expression="n + 1"), "its expression is int, and must be true or false"),
        (check_of("sql", expression="nope > 1"), "nope"),
        (check_of("sql", expression="n + 2147483647 > 0"), "overflow"),
        (check_of("regex", column="id", pattern="[]a]"), "PatternSyntaxException"),
    ],
)
def test_a_check_that_cannot_be_asked_of_these_rows_is_refused_in_words(
    spark: SparkSession, check: Any, said: str
) -> None:
    with pytest.raises(Refused) as refused:
        the_result(rows_of(spark, {}), check)
    assert said in refused.value.what
    assert refused.value.data == "nothing was published, and no bookmark moved"


def test_all_simple_checks_cost_one_job_and_their_failures_one_more(spark: SparkSession) -> None:
    """What one pass costs does not depend on how many checks there are."""
    rows = rows_of(spark, *({"n": number} for number in range(50))).cache()
    rows.count()

    def jobs(*maxima: int) -> int:
        group = f"group {maxima}"
        spark.sparkContext.setJobGroup(group, group)
        judge(rows, [check_of("between", name=f"n {number}", column="n", max=number) for number in maxima], QUESTION)
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))

    none_fails, one_fails = jobs(100), jobs(10)
    assert jobs(*range(100, 120)) == none_fails
    assert jobs(*range(10, 30)) == one_fails > none_fails
    rows.unpersist()
