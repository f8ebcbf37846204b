"""The checks of a contract and its derived columns: what fits, and what is said about what does not."""

from __future__ import annotations

import json

import pytest
from contract_texts import changes, contract, faults_of, the_change, the_fault, with_fields
from test_keys import EVERY_KEY

from smelter.contracts.write import contract_text

FIELDS = (
    "id: {type: string}",
    "n: {type: int}",
    'price: {type: "decimal(4,2)"}',
    "at: {type: timestamp}",
    'tags: {type: "array<string>"}',
)
SILVER = "silver: {key: [id], columns: {half: n / 2, tag: 'get(tags, 0)'}}\n"
LINE = 5 + len(FIELDS) + 2


def with_checks(*checks: str) -> str:
    """A contract whose first check is in line `LINE`."""
    lines = "".join(f"- {{name: check {number}, {check}}}\n" for number, check in enumerate(checks))
    return with_fields(*FIELDS, more=f"{SILVER}quality:\n{lines}")


@pytest.mark.parametrize(
    "check",
    [
        "check: not_null, column: tags",
        "check: not_null, column: _source",
        "check: unique, columns: [n, at, half, _position]",
        "check: in_set, column: id, values: [a, b]",
        "check: in_set, column: price, values: [1.5, '2.50']",
        "check: in_set, column: tag, values: [a, 1, true]",
        "check: between, column: price, max: 99.99",
        "check: between, column: at, min: 2020-01-01T00:00:00Z",
        "check: between, column: half, min: 0, max: 1.5",
        "check: between, column: _ingested_at, min: 2020-01-01T00:00:00Z",
        "check: row_count, min: 0",
        "check: null_share, column: tag, max_share: 0.5%",
        "check: null_share, column: n, max_share: 0.05, on_failure: warn",
        "check: null_share, column: n, max_share: 1",
        "check: freshness, column: at, max_age: 90m",
        "check: freshness, column: half, max_age: 1d",
        "check: regex, column: id, pattern: '[a-z]+'",
        "check: exists_in, column: n, dataset: others, field: number",
        "check: sql, expression: half * 2 = n and _position >= 0",
    ],
)
def test_a_check_that_fits_is_taken(check: str) -> None:
    (loaded,) = contract(with_checks(check)).quality
    assert loaded.name == "check 0"


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("check: notnull, column: n", "check: `notnull` is not one of not_null, unique, in_set"),
        ("check: not_null", ": not_null needs `column`"),
        ("check: not_null, column: nn", "column: there is no column `nn`; did you mean `n`?"),
        ("check: not_null, column: n, min: 1", "min: `min` does not go with not_null; it takes column"),
        ("check: not_null, colum: n", "there is no key `colum` in `quality[0]`; did you mean `column`?"),
        ("check: not_null, column: n, on_failure: halt", "on_failure: `halt` is not one of stop, warn"),
        ("check: unique, columns: []", "columns: it is empty"),
        ("check: unique, columns: n", "columns: `n` is not a list"),
        ("check: unique, column: n, columns: [n]", "column: `column` does not go with unique; it takes columns"),
        ("check: unique, columns: [n, n]", "columns[1]: `n` is named twice"),
        ("check: unique, columns: [n, tags]", "columns[1]: unique has no meaning for `tags`, which is array<string>"),
        ("check: in_set, column: n, values: [1, x]", "values[1]: `values: x` is not a value of int"),
        ("check: in_set, column: n, values: [1, 1]", "values[1]: `values: 1` is listed twice"),
        ("check: in_set, column: at, values: [x]", "column: in_set has no meaning for `at`, which is timestamp"),
        ("check: between, column: n", ": between needs `min` or `max`"),
        ("check: between, column: n, min: 1.5", "min: `min: 1.5` is not a value of int"),
        ("check: between, column: n, min: 5, max: 1", "min: `min: 5` is more than `max: 1`: nothing could pass"),
        ("check: between, column: half, min: 5, max: 1", "min: `min: 5` is more than `max: 1`: nothing could pass"),
        ("check: between, column: half, min: true", "min: `min: true` has no order"),
        ("check: between, column: id, min: a", "column: between has no meaning for `id`, which is string"),
        ("check: row_count, min: -1", "min: `min: -1` is less than no row"),
        ("check: row_count, max: 1.5", "max: `max: 1.5` is not a value of long"),
        ("check: row_count, column: n, max: 1", "column: `column` does not go with row_count; it takes min, max"),
        ("check: null_share, column: n, max_share: 5", "max_share: `5` is not a share; write 5% or 0.05"),
        ("check: null_share, column: n, max_share: 101%", "max_share: `101%` is not a share"),
        ("check: null_share, column: n, max_share: true", "max_share: `true` is not a share"),
        ("check: freshness, column: n, max_age: 1h", "column: freshness has no meaning for `n`, which is int"),
        ("check: freshness, column: at, max_age: 1w", "max_age: `1w` is not a duration"),
        ("check: regex, column: id, pattern: '['", "pattern: `[` is not a regular expression"),
        ("check: regex, column: id, pattern: '(?P<x>a)'", "pattern: `(?P<x>a)` has `(?P`, which Java reads in another"),
        ("check: exists_in, column: n, dataset: others", ": exists_in needs `field`"),
        ("check: exists_in, column: n, dataset: things, field: n", "dataset: `things` is the dataset itself"),
        ("check: sql, expression: half > no", "expression: there is no column `no`"),
        ("check: sql, expression: n in (select 1)", "expression: `select` cannot stand"),
    ],
)
def test_a_check_that_does_not_fit_is_refused_in_its_line(check: str, said: str) -> None:
    line, message = the_fault(with_checks(check))
    assert line == LINE
    assert said in message
    assert message.startswith(("quality[0]", "there is no key"))


@pytest.mark.parametrize("name", ["''", "' a'", "a.b", "a/b", "é", f"{'a' * 81}", "one row per key"])
def test_a_check_has_a_plain_name_that_is_not_the_platforms(name: str) -> None:
    text = with_fields(*FIELDS, more=f"{SILVER}quality:\n- {{name: {name}, check: row_count, min: 1}}\n")
    assert the_fault(text)[1].startswith("quality[0].name: ")


@pytest.mark.parametrize(
    ("pattern", "only_python"),
    [
        (r"\U0001F600", r"\U"),
        (r"[a\U0001F600]", r"\U"),
        (r"\N{DIGIT ONE}", r"\N"),
        ("(?P<x>a)(?P=x)", "(?P"),
        ("a(?#why)", "(?#"),
        ("(a)?(?(1)b|c)", "(?("),
        ("(?a:x)", "(?a"),
        ("(?ia:x)", "(?ia"),
        (r"a\Z", r"\Z"),
        ("a{,3}", "{"),
        ("{a}", "{"),
        (r"\101", r"\101"),
        (r"a\0", r"\0"),
        (r"[\1]", r"\1"),
        (r"[\b]", r"\b"),
        ("[a[b]", "["),
    ],
)
def test_a_regex_that_only_python_reads_is_refused(pattern: str, only_python: str) -> None:
    message = the_fault(with_checks(f"check: regex, column: id, pattern: '{pattern}'"))[1]
    assert f"has `{only_python}`, which Java reads in another way" in message


def test_no_two_checks_have_one_name() -> None:
    text = with_checks("check: row_count, min: 1", "check: row_count, max: 5").replace("check 1", "check 0")
    assert the_fault(text) == (LINE + 1, "quality[1].name: there is a check `check 0` already")


def test_checks_need_silver() -> None:
    text = with_checks("check: row_count, min: 1").replace(SILVER, "")
    assert the_fault(text) == (
        LINE - 2,
        "quality: `quality` has no meaning without `silver`: it is what silver is judged by",
    )


def test_all_faults_of_all_checks_are_told_each_in_its_line() -> None:
    text = with_checks("check: not_null", "check: not_null, column: n", "check: in_set, column: n, values: [x, y]")
    assert [line - LINE for line, _ in faults_of(text.replace("check: not_null}", "check: unique, columns: [q]}"))] == [
        0,
        2,
        2,
    ]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("{n: upper(id)}", "silver.columns.n: there is a field `n` already; take another name"),
        ("{Half: n}", "silver.columns.Half: `Half` is not a name"),
        ("{_half: n}", "silver.columns._half: `_half` begins with `_`"),
        ("{half: 5}", "silver.columns.half: `5` is not a text"),
        ("{half: 'cast(id as int)'}", "silver.columns.half: write try_cast: a cast that fails on one row"),
        ("{half: nn}", "silver.columns.half: there is no column `nn`; did you mean `n`?"),
        ("{half: n, third: half}", "silver.columns.third: there is no column `half`"),
        ("half", "silver.columns: `half` is not a mapping"),
    ],
)
def test_a_derived_column_that_cannot_be_computed_is_refused(columns: str, said: str) -> None:
    line, message = the_fault(with_fields(*FIELDS, more=f"silver:\n  key: [id]\n  columns: {columns}\n"))
    assert line == LINE
    assert message.startswith(said)


def test_only_a_field_that_is_no_text_is_cast_to_a_timestamp() -> None:
    for column in ("n", "price", "at", "_position", "_ingested_at"):
        cast = f"try_cast({column} as timestamp)"
        assert contract(with_checks(f"check: sql, expression: '{cast} > at'").replace("n / 2", f"'{cast}'"))
    for column in ("id", "tags", "_source"):
        cast = f"try_cast({column} as timestamp)"
        assert "on which silver runs" in the_fault(with_checks(f"check: sql, expression: '{cast} > at'"))[1]
        assert "on which silver runs" in the_fault(with_fields(*FIELDS, more=SILVER.replace("n / 2", f"'{cast}'")))[1]
    assert (
        "on which silver runs"
        in the_fault(with_checks("check: sql, expression: 'try_cast(half as timestamp) > at'"))[1]
    )


def test_a_contract_with_checks_survives_being_written_down_and_kept_in_a_table() -> None:
    things = contract(EVERY_KEY)
    assert contract(contract_text(things)) == things
    stored = things.model_dump_json(by_alias=True, exclude_unset=True)
    assert contract(stored) == things
    assert "on_failure" not in json.loads(stored)["quality"][0]


OLD = "a: {type: string} | t: {type: timestamp}"
NEW = "b: {type: string, was: a, from: a} | t: {type: timestamp}"


def test_another_expression_of_a_derived_column_means_a_rebuild() -> None:
    change = the_change(
        OLD, OLD, more="silver: {key: [t], columns: {c: upper(a)}}\n", more_new="silver: {key: [t], columns: {c: a}}\n"
    )
    assert (change.where, change.what, change.is_safe) == ("silver", "columns changed", True)
    assert change.why == "silver must be rebuilt once, from bronze: smelt silver things --rebuild"


def test_an_expression_that_follows_a_rename_is_no_change() -> None:
    change = the_change(
        OLD,
        NEW,
        more="silver: {key: [a], columns: {c: upper(a)}}\n",
        more_new="silver: {key: [b], columns: {c: upper(b)}}\n",
    )
    assert change.what == "renamed from a"


def test_a_rename_does_not_hide_another_expression() -> None:
    _, change = changes(
        OLD,
        NEW,
        more="silver: {key: [a], columns: {c: upper(a)}}\n",
        more_new="silver: {key: [b], columns: {c: lower(b)}}\n",
    )
    assert change.what == "columns changed"


def test_a_promise_about_event_time_needs_no_rebuild() -> None:
    change = the_change(
        OLD,
        OLD,
        more="silver: {key: [a], event_time: t}\n",
        more_new="silver: {key: [a], event_time: t, event_time_stable: true}\n",
    )
    assert (change.where, change.is_safe, change.why) == ("silver", True, "from the next silver run on")


def test_other_checks_count_from_the_next_run_on() -> None:
    change = the_change(
        OLD,
        OLD,
        more="silver: {key: [a]}\n",
        more_new="silver: {key: [a]}\nquality: [{name: rows, check: row_count, min: 1}]\n",
    )
    assert (change.where, change.what, change.is_safe, change.why) == (
        "quality",
        "changed",
        True,
        "from the next silver run on",
    )
