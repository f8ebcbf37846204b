"""Each check holds for good rows, fails for bad ones, and names them; on real Spark."""

from __future__ import annotations

import math
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from asking import NOW, QUESTION, check_of, failing, rows_of, the_result

from smelter.contracts.checks import WORDS, Check
from smelter.errors import Refused
from smelter.quality.gate import judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.jvm


def test_not_null_names_the_rows_without_a_value(spark: SparkSession) -> None:
    rows = rows_of(spark, {}, {"n": None}, {}, {"n": None})
    assert failing(rows, check_of("not_null", column="n"), check_of("not_null", column="kind")) == [[1, 3], []]


def test_in_set_takes_listed_values_of_the_columns_own_type_and_null(spark: SparkSession) -> None:
    rows = rows_of(
        spark,
        {},
        {"n": 3},
        {"price": Decimal("1.51")},
        {"day": NOW.date() - timedelta(days=1)},
        {"kind": "\\"},
        {"n": None, "price": None, "day": None, "kind": None},
    )
    checks = [
        check_of("in_set", column="n", values=(1, 2)),
        check_of("in_set", column="price", values=(1.5, "2.25")),
        check_of("in_set", column="day", values=("2026-11-16",)),
        check_of("in_set", column="kind", values=("x", 'it\'s "$" \\')),
    ]
    assert failing(rows, *checks) == [[1], [2], [3], [4]]


def test_a_listed_text_is_a_value_and_never_a_piece_of_sql(spark: SparkSession) -> None:
    hostile = ("') or true or ('", "x' or '1'='1", "${env:HOME}", "\\' or 1=1 --")
    rows = rows_of(spark, {"kind": "x"}, *({"kind": text} for text in hostile))
    assert failing(rows, check_of("in_set", column="kind", values=hostile)) == [[0]]


BETWEEN: tuple[tuple[str, dict[str, Any], Any], ...] = (
    ("n", {"min": 1}, 0),
    ("n", {"max": 1}, 2),
    ("price", {"min": 0, "max": 1.5}, Decimal("1.51")),
    ("ratio", {"min": 0.5, "max": 0.5}, 0.6),
    ("ratio", {"min": 0.5}, math.nan),
    ("ratio", {"max": 0.6}, math.nan),
    ("small", {"max": 0.1}, 0.2),
    ("at", {"min": "2026-11-16T11:50:00Z"}, NOW - timedelta(minutes=11)),
    ("day", {"max": "2026-11-16"}, NOW.date() + timedelta(days=1)),
)


def test_between_takes_its_bounds_and_null_and_nothing_outside(spark: SparkSession) -> None:
    """Each check has a row of its own that fails it, which others may fail too."""
    nothing = {column: None for column, _, _ in BETWEEN}
    rows = rows_of(spark, *({column: bad} for column, _, bad in BETWEEN), {}, nothing)
    found = failing(rows, *(check_of("between", column=column, **words) for column, words, _ in BETWEEN))
    assert found == [[0], [1], [2], [3, 4, 5], [4, 5], [4, 5], [6], [7], [8]]


def test_regex_is_about_the_whole_text(spark: SparkSession) -> None:
    rows = rows_of(spark, {"id": "a1"}, {"id": "a1 "}, {"id": "ba1"}, {"id": "a1\n"}, {"id": None}, {"id": "b"})
    assert failing(rows, check_of("regex", column="id", pattern="a[0-9]|b")) == [[1, 2, 3]]


def test_a_regex_that_a_contract_may_have_is_one_that_spark_reads(spark: SparkSession) -> None:
    matching = {
        r"\\U[{}\[\]^]": "\\U]",
        "[]a][^]a]": "]b",
        r"a{2}b{1,}c{1,3}\{}": "aabccc{}",
        r"(?i:a)(?:b)(?=c)(?!d)(c)(?<=c)(?>e)\1": "Abcec",
        r"\u00e4\x41[\x42]\n \bb": "äAB\n b",
    }
    rows = rows_of(spark, *({"id": text} for text in matching.values()))
    checks = [check_of("regex", column="id", pattern=pattern) for pattern in matching]
    everything = set(range(len(matching)))
    assert failing(rows, *checks) == [sorted(everything - {place}) for place in range(len(matching))]


def test_sql_takes_what_is_true_or_null(spark: SparkSession) -> None:
    rows = rows_of(spark, {"n": 1}, {"n": 9}, {"n": None})
    assert failing(rows, check_of("sql", expression="n < price * 2 and kind = 'x'")) == [[1]]


def test_row_count_counts_rows_also_where_there_are_none(spark: SparkSession) -> None:
    bounds = ({"min": 2, "max": 2}, {"min": 3}, {"max": 1})
    checks = [check_of("row_count", name=f"rows {number}", **words) for number, words in enumerate(bounds)]
    rows = rows_of(spark, {}, {})
    assert [result.ok for result in judge(rows, checks, QUESTION).results] == [True, False, False]
    none = the_result(rows.limit(0), check_of("row_count", min=1))
    assert (none.ok, none.found, none.rows) == (False, 0, 0)


def test_null_share_is_a_share_of_the_rows(spark: SparkSession) -> None:
    rows = rows_of(spark, {"kind": None}, {}, {}, {})
    shares = {"enough": "25%", "too few": 0.24}
    checks = [check_of("null_share", name=name, column="kind", max_share=share) for name, share in shares.items()]
    enough, few = judge(rows, checks, QUESTION).results
    assert (enough.ok, enough.found, enough.failing, few.ok) == (True, 0.25, 1, False)


def test_freshness_is_the_age_of_the_newest_row(spark: SparkSession) -> None:
    rows = rows_of(spark, {"at": NOW - timedelta(days=3)}, {}, {"at": None})
    checks = [check_of("freshness", name=f"{age} old", column="at", max_age=age) for age in ("9m", "10m", "11m")]
    results = judge(rows, checks, QUESTION).results
    assert [(result.ok, result.found) for result in results] == [(False, 600), (True, 600), (True, 600)]


def test_a_date_is_as_old_as_its_midnight(spark: SparkSession) -> None:
    assert the_result(rows_of(spark, {}), check_of("freshness", column="day", max_age="12h")).found == 12 * 3600


def test_an_increment_without_rows_is_fresh_and_an_empty_table_is_not(spark: SparkSession) -> None:
    none, check = rows_of(spark, {}).limit(0), check_of("freshness", column="at", max_age="1h")
    assert the_result(none, check, scope="increment").ok
    assert not the_result(none, check, scope="table").ok
    assert not the_result(rows_of(spark, {"at": None}), check, scope="increment").ok


def test_unique_names_all_rows_that_share_their_values(spark: SparkSession) -> None:
    rows = rows_of(spark, {"n": 1}, {"n": 2}, {"n": 1}, {"n": None}, {"n": None}, {"n": 1, "kind": "y"})
    checks = [check_of("unique", columns=("n",)), check_of("unique", columns=("n", "kind"))]
    assert failing(rows, *checks) == [[0, 2, 5], [0, 2]]


def test_unique_over_the_key_holds_in_an_increment_and_is_counted_in_a_table(spark: SparkSession) -> None:
    rows, check = rows_of(spark, {}, {}), check_of("unique", columns=("n", "id"))
    assert failing(rows, check, scope="increment") == [[]]
    assert failing(rows, check, scope="table") == [[0, 1]]


def test_exists_in_looks_for_the_value_in_the_other_dataset(spark: SparkSession) -> None:
    asked = []

    def others(dataset: str) -> DataFrame:
        asked.append(dataset)
        return spark.createDataFrame([("x",), ("x",), (None,)], "code string")

    rows = rows_of(spark, {"kind": "x"}, {"kind": "y"}, {"kind": None}, {"kind": "X"})
    check = check_of("exists_in", column="kind", dataset="kinds", field="code")
    assert failing(rows, check, others=others) == [[1, 3]]
    assert set(asked) == {"kinds"}


def test_exists_in_compares_exact_numbers_of_any_size_and_nothing_else(spark: SparkSession) -> None:
    def others(_dataset: str) -> DataFrame:
        columns = "code bigint, money decimal(38,2), ratio double, text string"
        return spark.createDataFrame([(1, Decimal(1), 0.5, "1")], columns)

    def asked(column: str, field: str) -> Check:
        return check_of("exists_in", column=column, dataset="d", field=field)

    rows = rows_of(spark, {"n": 1, "price": Decimal(1), "small": 0.5}, {"n": 2, "price": Decimal(2), "small": 0.25})
    pairs = (("n", "code"), ("n", "money"), ("price", "code"), ("small", "ratio"))
    assert failing(rows, *(asked(*pair) for pair in pairs), others=others) == [[1]] * len(pairs)
    for column, field, said in (
        ("n", "text", "are of two types: int here and string there"),
        ("n", "ratio", "are of two types: int here and double there"),
        ("small", "code", "are of two types: float here and bigint there"),
        ("price", "ratio", r"are of two types: decimal\(10,2\) here and double there"),
        ("n", "cod", "d has no column `cod`"),
    ):
        with pytest.raises(Refused, match=said):
            the_result(rows, asked(column, field), others=others)


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
        (check_of("regex", column="id", pattern="(?x: [ ] )"), "INVALID_PARAMETER_VALUE.PATTERN"),
    ],
)
def test_a_check_that_cannot_be_asked_of_these_rows_is_refused_in_words(
    spark: SparkSession, check: Any, said: str
) -> None:
    with pytest.raises(Refused) as refused:
        the_result(rows_of(spark, {}), check)
    assert said in refused.value.what
    assert refused.value.data == "nothing was published, and no bookmark moved"


def test_a_pattern_that_only_java_refuses_is_told_where_rows_are_compiled_as_for_people(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    try:
        with pytest.raises(Refused, match="PatternSyntaxException"):
            the_result(rows_of(spark, {}), check_of("regex", column="id", pattern="(?x: [ ] )"))
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", "false")


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
