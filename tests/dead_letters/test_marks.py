"""The place of a problem in a record's text is found, whatever the text is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from boxes import orders
from hypothesis import given
from hypothesis import strategies as st

from smelter.dead_letters.marks import Place, excerpt, places_of
from smelter.records import Judge, Reason
from smelter.records.letters import letter_of

NESTED = '{"id": 1, "a": {"b": [10, {"c": "d, }"}, []], "b": 2}, "id": "again", "\\u00e9": 3}'


def marked(text: str, field: str, message: str = "") -> list[str]:
    return [text[place.start : place.end] for place in places_of(text, field, message)]


@pytest.mark.parametrize(
    ("field", "found"),
    [
        ("a", ['"a": {"b": [10, {"c": "d, }"}, []], "b": 2}']),
        ("a.b", ['"b": [10, {"c": "d, }"}, []]', '"b": 2']),
        ("a.b[0]", ["10"]),
        ("a.b[1]", ['{"c": "d, }"}']),
        ("a.b[1].c", ['"c": "d, }"']),
        ("a.b[2]", ["[]"]),
        ("id", ['"id": 1', '"id": "again"']),
        ("é", ['"\\u00e9": 3']),
        ("a.c", []),
        ("nothing", []),
        ("", []),
    ],
)
def test_a_field_is_found_by_its_path(field: str, found: list[str]) -> None:
    assert marked(NESTED, field) == found


def test_members_of_an_array_of_records_are_found() -> None:
    assert marked('[{"a": 1}, {"a": 2}]', "[1].a") == ['"a": 2']


@pytest.mark.parametrize(
    "text", ['{"id": 1, "a": ', '{"id": 1 "a": 2}', '{"id": 1, "a": {"b": [1,', '{"id": 1, x', '{"id": 1,,, "a": 2']
)
def test_what_comes_before_the_break_of_a_text_that_is_not_json_is_found(text: str) -> None:
    assert marked(text, "id") == ['"id": 1']


@pytest.mark.parametrize(
    ("record", "reason", "at"),
    [
        ('{"id": 1, "note": "ü" 2}'.encode(), Reason.NOT_JSON, "2"),
        (b'{"id": 1, "note": "\xff"}', Reason.BAD_ENCODING, "�"),
        ('{"note": "é", "id": }'.encode(), Reason.NOT_JSON, "}"),
    ],
)
def test_the_byte_that_a_message_names_is_marked_as_a_character(record: bytes, reason: Reason, at: str) -> None:
    problems = Judge(orders()).problems_of(record, datetime(2026, 1, 1, tzinfo=UTC))
    letter = letter_of("a.json", 0, problems, record)
    assert letter.reason == reason
    (error,) = letter.errors
    assert "byte" in error.message
    assert marked(letter.raw, error.field, error.message) == [at]


def test_a_byte_beyond_the_end_is_the_end() -> None:
    assert places_of("abc", "", "at byte 99") == [Place(3, 3)]


def test_a_text_that_is_nested_too_deep_is_searched_as_far_as_it_makes_sense() -> None:
    text = '{"a": ' * 5000 + "1" + "}" * 5000
    assert len(marked(text, ".".join("a" * 40))) == 1
    assert marked(text, ".".join("a" * 400)) == []


def test_a_field_among_very_many_is_found_without_reading_the_rest_again_and_again() -> None:
    text = json.dumps({"many": [{"a": [number]} for number in range(100_000)], "last": True})
    assert marked(text, "last") == ['"last": true']
    assert marked(text, "many[99999].a[0]") == ["99999"]


@pytest.mark.parametrize("field", ["a", "a.b", "b"])
def test_at_most_five_places_are_shown(field: str) -> None:
    text = "{" + ", ".join(['"a": {"b": 1}', '"b": 2'] * 20) + "}"
    assert len(marked(text, field)) == 5


def test_an_excerpt_is_one_line_with_the_place_below_it() -> None:
    text = '{"id": 1,\n "note":\t"' + "x" * 200 + '", "coupon": 5}'
    (place,) = places_of(text, "coupon", "")
    shown = excerpt(text, place)
    assert shown.line == "…" + "x" * 57 + '", "coupon": 5}'
    assert shown.line[shown.start : shown.start + shown.length] == '"coupon": 5'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('ab.é"[', max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.text() | st.text('{}[]":,\\ \n1a', max_size=60), st.text(max_size=6) | st.text("ab.[]01", max_size=6), st.text()
)
def test_no_text_and_no_field_is_too_strange(text: str, field: str, message: str) -> None:
    for place in places_of(text, field, message):
        assert 0 <= place.start <= place.end <= len(text)
        shown = excerpt(text, place)
        assert shown.line.isprintable()
        assert 0 <= shown.start <= len(shown.line)
        assert shown.length >= 1


def paths(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Every member of a value with its path, as messages write it."""
    found = []
    if isinstance(value, dict):
        members = [(f"{path}.{name}" if path else name, member) for name, member in value.items()]
    else:
        members = [(f"{path}[{number}]", one) for number, one in enumerate(value)] if isinstance(value, list) else []
    for name, member in members:
        found += [(name, member), *paths(member, name)]
    return found


@given(JSON, st.booleans())
def test_every_member_of_any_record_is_found(record: Any, is_spread: bool) -> None:
    text = json.dumps(record, indent=2 if is_spread else None)
    for path, member in paths(record):
        if path and [name for name, _ in paths(record)].count(path) == 1:
            (shown,) = marked(text, path)
            value = (
                shown
                if path.endswith("]")
                else shown[shown.index(":", len(json.dumps(path.rpartition(".")[2])) - 1) + 1 :]
            )
            assert json.loads(value) == member
