"""Filters mean what they say, alone and together, and what people type is never more than a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any
from urllib.parse import unquote

import pytest
from boxes import Box, Row
from hypothesis import given, settings
from hypothesis import strategies as st
from mixed import STRANGE, mixed_letters

from smelter.dead_letters.filters import FROM_FILES, Filters
from smelter.dead_letters.letters import Letters
from smelter.lake.letter_status import Status

HOSTILE = ["'", '"', "%", "_", ";", "--", "' or '1'='1", "$status", "{letters}", "\\", "\u202e", "ä", "*"]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Box:
    return mixed_letters(tmp_path_factory.mktemp("mixed") / "lake")


@pytest.fixture(scope="module")
def letters(box: Box) -> list[Row]:
    return box.letters()


@pytest.fixture(scope="module")
def ask(box: Box) -> Callable[[Filters], list[str]]:
    opened = Letters(box.lake, box.name)

    def found(filters: Filters) -> list[str]:
        return sorted(name for (name,) in opened.ask("select _id", filters).fetchall())

    yield found  # type: ignore[misc]
    opened._explorer.close()


def has_field(row: Row, name: str) -> bool:
    return any(error["field"] == name or error["field"].startswith((f"{name}.", f"{name}[")) for error in row["errors"])


# What each filter means, by plain Python over the letters as they are.
MEANS: dict[str, Callable[[Row, Any], bool]] = {
    "reason": lambda row, value: row["reason"] == value,
    "field": has_field,
    "since": lambda row, value: row["_ingested_at"] >= value,
    "until": lambda row, value: row["_ingested_at"] < value,
    "source": lambda row, value: value in unquote(row["_source"]),
    "batch": lambda row, value: row["_batch"] == value,
    "contract": lambda row, value: row["judged_by"] == value,
    "id": lambda row, value: row["_id"].startswith(value),
    "status": lambda row, value: row["status"] == value,
    "not_judged_by": lambda row, value: row["judged_by"] != value or row["reason"] in FROM_FILES,
}


def values_of(letters: list[Row]) -> dict[str, list[Any]]:
    """Values for each filter, with some that match nothing."""
    moments = sorted({row["_ingested_at"] for row in letters})
    between: list[datetime] = [*moments, moments[-1] + timedelta(seconds=1)]
    return {
        "reason": [*sorted({row["reason"] for row in letters}), "no_such_reason"],
        "field": ["id", "at", "at.city", "at.tags", "coupon", "gift", "a", "at.", ""],
        "since": between,
        "until": between,
        "source": [".json", "a.json", "landing/orders", STRANGE, "100%", "'s", "näive", "xyz"],
        "batch": [*sorted({row["_batch"] for row in letters}), "replay:none"],
        "contract": ["orders@1", "orders@2", "orders"],
        "id": [letters[0]["_id"], letters[0]["_id"][:4], letters[-1]["_id"][:1], "ffffffffffffffffff"],
        "status": list(Status),
        "not_judged_by": ["orders@1", "orders@2"],
    }


def expected(letters: list[Row], given: dict[str, Any]) -> list[str]:
    return sorted(row["_id"] for row in letters if all(MEANS[name](row, value) for name, value in given.items()))


def filters_of(given: dict[str, Any]) -> Filters:
    return replace(Filters(status=None), **given)


def test_there_are_letters_of_every_status(letters: list[Row]) -> None:
    assert {row["status"] for row in letters} == set(Status)
    assert {row["attempts"] for row in letters} == {0, 1, 2}
    assert len({row["reason"] for row in letters}) >= 8


@pytest.mark.parametrize("name", MEANS)
def test_a_filter_alone_finds_what_it_means(letters: list[Row], ask: Callable[[Filters], list[str]], name: str) -> None:
    counts = set()
    for value in values_of(letters)[name]:
        assert ask(filters_of({name: value})) == expected(letters, {name: value}), value
        counts.add(len(expected(letters, {name: value})))
    assert len(counts) > 1, "or the values tell nothing apart"


def test_filters_together_find_what_all_of_them_mean(letters: list[Row], ask: Callable[[Filters], list[str]]) -> None:
    values = values_of(letters)
    for number, (one, other) in enumerate(combinations(MEANS, 2)):
        given = {name: values[name][number % len(values[name])] for name in (one, other)}
        assert ask(filters_of(given)) == expected(letters, given), given
    (letter,) = (row for row in letters if row["file"] == "a.json" and row["status"] == "open")
    names = {"reason": "reason", "batch": "_batch", "contract": "judged_by", "id": "_id", "since": "_ingested_at"}
    all_of_them = {name: letter[column] for name, column in names.items()}
    all_of_them |= {"field": "gift", "source": "a.json", "status": "open", "until": values["until"][-1]}
    assert ask(filters_of(all_of_them)) == [letter["_id"]] == expected(letters, all_of_them)


def test_without_a_word_open_letters_are_meant(letters: list[Row], ask: Callable[[Filters], list[str]]) -> None:
    assert ask(Filters()) == expected(letters, {"status": "open"})
    assert not Filters().are_given
    assert Filters(reason="x").are_given


@pytest.mark.parametrize("name", ["reason", "field", "batch", "contract", "id"])
def test_hostile_values_are_only_values_and_match_nothing(ask: Callable[[Filters], list[str]], name: str) -> None:
    for value in HOSTILE:
        assert ask(filters_of({name: value})) == [], value


@settings(max_examples=30)
@given(st.sampled_from(["reason", "field", "source", "batch", "contract", "id"]), st.text(min_size=1, max_size=12))
def test_no_text_is_more_than_a_value(
    letters: list[Row], ask: Callable[[Filters], list[str]], name: str, value: str
) -> None:
    found = ask(filters_of({name: value}))
    if name != "source":
        assert found == expected(letters, {name: value})
