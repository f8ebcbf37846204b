"""An expression of a contract is one harmless scalar over the columns of a row; everything else is refused."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from smelter.contracts.expressions import TryCast, columns_of, expression_problem, renamed, try_casts

COLUMNS = ("a", "b", "date", "m", "properties", "t", "xs")
STOPS_SILVER = "stop all of silver"
NOT_SCALAR = "it is not one scalar expression"


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "'it\\'s'",
        "true",
        "a.b.c",
        "try_cast(properties['amount'] as decimal(10,2))",
        "try_cast(date as date) < date '2020-01-01'",
        "cast(a as string) || a::string",
        "case when a > 1 then 'x' else null end",
        "a rlike '\\\\d+' and not b like 'x%' escape '!'",
        "a in (1, 2) or a between 1 and 2.5e3",
        "t + interval 1 day - interval '2' hours",
        "timestampdiff(day, t, date)",
        "aggregate(xs, 0, (sum, x) -> sum + x.y * a)",
        "exists(xs, x -> x = b)",
        "m['k'].z",
        "a / 100 + a % 7 + a div 2",
        "try_divide(a, b)\n  + 1",
        "UPPER(a)",
        "a - -1",
        "(" * 39 + "a" + ")" * 39,
    ],
)
def test_a_scalar_expression_over_the_columns_is_taken(text: str) -> None:
    assert expression_problem(text, COLUMNS) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(select 1)", "`select` cannot stand"),
        ("a in (select a from t)", "it is not an expression|`select` cannot stand"),
        ("exists(select 1)", "`select` cannot stand"),
        ("coalesce((SELECT a), 1)", "`SELECT` cannot stand"),
        ("(sel/**/ect 1)", "comments cannot stand"),
        ("(select/**/1)", "comments cannot stand"),
        ("a -- (", "comments cannot stand"),
        ("a //b", "comments cannot stand"),
        ("(values 1)", "`values` cannot stand"),
        ("(table t)", "there is no column `table`"),
        ("(with x as (select 1) select 1)", "the function `as`"),
        ("(from t |> select a)", "it is not an expression|cannot stand"),
        ("`a`", "take the backticks away"),
        ("`a``b`", "take the backticks away"),
        ('"a"', "single quotes"),
        ("a; drop table t", "take the `;` away"),
        ("'a''b'", "a quote does not end, or touches"),
        ("'a' 'b'", "two texts stand side by side"),
        ("'a", "a quote does not end"),
        ("'a\\'", "a quote does not end"),
        ("r'\\' || reflect('x') || r'\\'", "`r` cannot stand here"),
        ("x'1F'", "`x` cannot stand here"),
        ("'${env:HOME}'", "would be replaced by Spark"),
        ("${a}", "would be replaced by Spark"),
        ("a\u00a0", "cannot stand here"),
        ("\u0430", "cannot stand here"),
        (":a", "`:` cannot stand here"),
        ("a:b", "`:` cannot stand here"),
        ("?", "`[?]` cannot stand here"),
        ("{fn now()}", "`{` cannot stand here"),
        ("1a", "`1` cannot stand here"),
        ("", "it is empty"),
        ("a and", "it is not an expression of Spark's SQL at character"),
        ("a, b", "it is not an expression"),
        ("date_trunc()", "it is not an expression"),
        ("1 = 1) or (1 = 1", "a parenthesis is not closed"),
        ("(1 = 1)) or ((1 = 1)", "a parenthesis is not closed|not an expression"),
        ("upper(a", "a parenthesis is not closed"),
        ("a b", "`b` cannot stand"),
        ("a as b", "`b` cannot stand"),
        ("(a, b)", NOT_SCALAR),
        ("*", NOT_SCALAR),
        ("a.*", NOT_SCALAR),
        ("struct(*)", NOT_SCALAR),
        ("a -> b", NOT_SCALAR),
        ("upper(a => 1)", "cannot stand|" + NOT_SCALAR),
        ("sum(a)", "the function `sum` is not one that a contract may call; docs/contracts.md lists"),
        ("sum(a) over (partition by b)", "the function `sum`"),
        ("upper(a) over ()", "the function `over`"),
        ("explode(xs)", "the function `explode`"),
        ("spark_catalog.default.f(a)", "`spark_catalog` cannot stand|called with a schema"),
        ("a.f(b)", "called with a schema before its name"),
        ("current_date", "`current_date` cannot stand"),
        ("CURRENT_TIMESTAMP", "`CURRENT_TIMESTAMP` cannot stand"),
        ("user", "there is no column `user`"),
        ("uper(a)", "did you mean `upper`"),
        ("aa", "there is no column `aa`; did you mean `a`"),
        ("A", "there is no column `A`; did you mean `a`"),
        ("transform(xs, x -> x + y)", "there is no column `y`"),
        ("(" * 60 + "a" + ")" * 60, "nested more than 40 deep"),
        ("a" + " + a" * 1_000, "longer than 2000 characters"),
    ],
)
def test_anything_else_is_refused(text: str, said: str) -> None:
    assert re.search(said, expression_problem(text, COLUMNS) or "nothing was said")


@pytest.mark.parametrize(
    "name",
    [
        *("rand", "randn", "uuid", "now", "current_timestamp", "monotonically_increasing_id", "spark_partition_id"),
        *("reflect", "java_method", "input_file_name", "raise_error", "assert_true", "current_user", "version"),
        *("count", "max", "first", "collect_list", "row_number", "lag", "stack", "inline", "posexplode", "window"),
    ],
)
def test_a_function_that_is_not_a_pure_scalar_cannot_be_called(name: str) -> None:
    for text in (f"{name}(a)", f"{name.upper()} ( )", f"upper({name}(a))", f"transform(xs, x -> {name}(x))"):
        assert f"the function `{name}` is not one" in (expression_problem(text, COLUMNS) or "")


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("cast(a as int)", "try_cast"),
        ("cast(cast(a as string) as int)", "try_cast"),
        ("cast(a as array<string>)", "try_cast"),
        ("a::int", "try_cast"),
        ("int(a)", "try_cast(… as int)"),
        ("to_date(a)", "try_to_date"),
        ("a / b", "try_divide"),
        ("a / xs", "try_divide"),
        ("a / (b)", "try_divide"),
        ("a / 0", "try_divide"),
        ("a % 0.0e9", "try_mod"),
        ("a div date", "try_divide"),
        ("xs[0]", "get(…)"),
        ("xs[a]", "get(…)"),
        ("m['a' || b]", "try_element_at"),
    ],
)
def test_what_one_bad_row_could_break_is_refused_with_what_to_write(text: str, instead: str) -> None:
    problem = expression_problem(text, COLUMNS) or ""
    assert instead in problem
    assert STOPS_SILVER in problem


AT_EACH_RUN = "may be another one at each run; write a full date, such as"
OF_THE_DAY = "would make a text such as '12:30' a time of the day on which silver runs; write try_to_timestamp(…, 'yyyy"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("date 'today'", f"date 'today' {AT_EACH_RUN} date '2020-01-31'"),
        ("t < TIMESTAMP 'now'", f"TIMESTAMP 'now' {AT_EACH_RUN}"),
        ("timestamp\n'yesterday'", AT_EACH_RUN),
        ("timestamp 'epoch'", AT_EACH_RUN),
        ("timestamp '12:30'", AT_EACH_RUN),
        ("timestamp 'T12:30'", AT_EACH_RUN),
        ("timestamp_ntz 'now'", AT_EACH_RUN),
        ("timestamp_ltz 'now'", AT_EACH_RUN),
        ("date '\\u0074oday'", AT_EACH_RUN),
        ("date '2020-01-31 today'", AT_EACH_RUN),
        ("date '2020'", AT_EACH_RUN),
        ("transform(xs, x -> date 'today')", AT_EACH_RUN),
        ("try_cast('today' as date)", f"date 'today' {AT_EACH_RUN}"),
        ("try_to_date('today')", AT_EACH_RUN),
        ("try_cast('now' as timestamp_ntz)", AT_EACH_RUN),
        ("try_to_timestamp('now')", AT_EACH_RUN),
        ("try_cast(a as timestamp)", f"try_cast(…) {OF_THE_DAY}"),
        ("TRY_CAST(properties['t'] as TIMESTAMP)", OF_THE_DAY),
        ("try_cast(concat(t, '') as timestamp)", OF_THE_DAY),
        ("try_cast(xs as array<timestamp>)", OF_THE_DAY),
        ("try_to_timestamp(a)", f"try_to_timestamp(…) {OF_THE_DAY}"),
        ("hour(try_to_timestamp(concat(a, ',')))", OF_THE_DAY),
    ],
)
def test_an_expression_that_asks_the_clock_is_refused(text: str, said: str) -> None:
    assert said in (expression_problem(text, COLUMNS, ("t",)) or "")


@pytest.mark.parametrize(
    "text",
    [
        "date '2020-01-31' < date",
        "timestamp '2020-01-31 1:02:03.123456' < timestamp '2020-01-31T12:00:00+01:00'",
        "timestamp_ntz '2020-01-31 12:00Z'",
        "a = 'today' or a in ('now', '12:30')",
        "try_cast(t as timestamp)",
        "try_to_timestamp(t)",
        "try_to_timestamp(a, 'yyyy-MM-dd HH:mm')",
        "try_to_timestamp(concat(a, ','), concat('yyyy', b))",
        "try_to_date(a)",
        "try_cast(a as date)",
        "try_cast(a as timestamp_ntz)",
        "try_cast('2020-01-31' as timestamp)",
        "try_cast(a as string)",
    ],
)
def test_a_time_that_is_the_same_at_each_run_is_taken(text: str) -> None:
    assert expression_problem(text, COLUMNS, ("t",)) is None


def test_the_columns_of_an_expression_are_its_own_and_not_its_parameters_members_or_types() -> None:
    assert columns_of("transform(xs, x -> x.b + a.b) = try_cast(m['t'] as date)") == {"xs", "a", "m"}


def test_renaming_touches_columns_only() -> None:
    text = "a + b.a + transform(xs, a -> a + b) + try_cast(date as date) || 'a'"
    names = {"a": "longer", "date": "d", "xs": "ys"}
    assert renamed(text, names) == "longer + b.a + transform(ys, a -> a + b) + try_cast(d as date) || 'a'"


def test_every_cast_that_may_fail_is_found_with_what_it_casts() -> None:
    text = (
        "coalesce(try_cast(m['as'] as int), TRY_TO_NUMBER(concat(a, ','), '999'), try_to_date(try_cast(b as string)))"
    )
    assert try_casts(text) == (
        TryCast("m['as']", "try_cast(m['as'] as int)"),
        TryCast("concat(a, ',')", "TRY_TO_NUMBER(concat(a, ','), '999')"),
        TryCast("try_cast(b as string)", "try_to_date(try_cast(b as string))"),
        TryCast("b", "try_cast(b as string)"),
    )


def test_a_cast_of_a_lambdas_parameter_cannot_be_counted_outside() -> None:
    assert try_casts("transform(xs, x -> try_cast(x as int))") == ()


def test_a_contract_without_an_expression_does_not_load_the_sql_reader() -> None:
    things = "dataset: a\nversion: 1\nsource: {files: x}\nfields: {a: {type: int}}\nsilver: {key: [a]}"
    program = "import sys; from smelter.contracts import parse_contract; parse_contract(sys.argv[1], 'a');"
    words = [sys.executable, "-c", program + "sys.exit('sqlglot' in sys.modules)"]
    assert subprocess.run([*words, things], check=False).returncode == 0
    assert subprocess.run([*words, things.replace("[a]", "[a], columns: {b: a}")], check=False).returncode == 1
