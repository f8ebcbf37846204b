"""Names are safe in SQL, in paths and in every engine, without quoting."""

from __future__ import annotations

import duckdb
import pytest
from contract_texts import MINIMAL, contract, the_fault, with_field, with_fields

from smelter.contracts.names import SQL_KEYWORDS, dataset_problem, name_problem

BAD_NAMES = ["_a", "__", "A", "Amount", "1a", "", "a-b", "a b", "a.b", "é", "größe", "名", "a\n", "a" * 64, "ａ"]


@pytest.mark.parametrize("name", ["a", "a1", "a_", "order_id", "a" * 63, "zzz", "key", "date", "timestamp", "value"])
def test_small_letters_digits_and_underscores_make_a_name(name: str) -> None:
    assert name_problem(name) is None
    assert list(contract(with_fields(f"{name}: {{type: string}}")).fields) == [name]


@pytest.mark.parametrize("name", [*BAD_NAMES, "select", "from", "user", "order", "table", "true", "null"])
def test_anything_else_names_nothing(name: str) -> None:
    assert name_problem(name) is not None
    assert dataset_problem(name) is not None
    quoted = '"' + name.replace("\n", "\\n") + '"'
    assert the_fault(MINIMAL.replace("things\nversion", f"{quoted}\nversion"))[0] == 1
    assert the_fault(with_fields("ok: {type: int}", f"{quoted}: {{type: int}}"))[0] == 6
    assert the_fault(with_field(f"type: int, was: {quoted}"))[1].startswith("fields.a.was: `")


def test_a_field_that_cannot_have_its_name_is_told_how_records_can_keep_it() -> None:
    assert the_fault(with_fields("Amount: {type: int}"))[1].endswith("; take another, and say `from: Amount`")
    assert the_fault(with_fields("select: {type: int}"))[1] == (
        "fields.select: `select` is a SQL keyword; take another, and say `from: select`"
    )


def test_a_dataset_is_not_told_to_say_from() -> None:
    assert the_fault(MINIMAL.replace("dataset: things", "dataset: select")) == (1, "dataset: `select` is a SQL keyword")


def test_no_dataset_is_called_resolutions_but_a_field_may_be() -> None:
    assert the_fault(MINIMAL.replace("dataset: things", "dataset: resolutions")) == (
        1,
        "dataset: `resolutions` is kept for the platform's own table",
    )
    assert "resolutions" in contract(with_fields("resolutions: {type: int}")).fields


def test_every_reserved_word_of_duckdb_is_refused() -> None:
    words = duckdb.sql("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'").fetchall()
    assert len(words) > 50
    assert {word for (word,) in words} - SQL_KEYWORDS == set()


@pytest.mark.parametrize("name", ["VendorID", "a b", "größe", "名", "_id", "$ref", "select", "it's", "a.b[0]", "😀"])
def test_records_may_call_a_field_almost_anything(name: str) -> None:
    assert contract(with_field(f'type: int, from: "{name}"')).source_names == {"a": name}


@pytest.mark.parametrize("name", ["", r"a\"b", r"a\\b", r"a\nb", r"\0"])
def test_a_name_that_the_decoder_cannot_read_is_refused(name: str) -> None:
    line, message = the_fault(with_field(f'type: int, from: "{name}"'))
    assert line == 5
    assert "source's name" in message
