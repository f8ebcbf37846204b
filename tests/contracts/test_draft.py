"""A draft loads, and the sample passes it; what does not pass is marked."""

from __future__ import annotations

import datetime
import io
import json
from typing import Any

import pytest
from contract_texts import contract
from hypothesis import given, settings
from hypothesis import strategies as st

from smelter.contracts import parse_contract
from smelter.contracts.draft import draft_contract
from smelter.errors import Refused
from smelter.records import Judge, Source

ARRIVED = datetime.datetime(2026, 11, 16, tzinfo=datetime.UTC)


def dead_letters(text: str, records: list[dict[str, Any]]) -> list[str]:
    """What the judge says of the sample under its own draft."""
    content = "\n".join(json.dumps(record) for record in records).encode()
    judge = Judge(parse_contract(text, "things.yaml"))
    source = Source("sample", len(content), ARRIVED, lambda: io.BytesIO(content))
    judgement = judge.judge(source)
    letters = [letter for part in judgement for letter in part.letters]
    assert judgement.receipt.records == len(records)
    return [f"{problem.field}: {problem.message}" for letter in letters for problem in letter.errors]


def draft(*records: dict[str, Any]) -> str:
    return draft_contract("things", list(records))


def line_of(text: str, beginning: str) -> str:
    (line,) = [line.strip() for line in text.splitlines() if line.strip().startswith(beginning)]
    return line


SAMPLES: dict[str, list[dict[str, Any]]] = {
    "scalars": [{"s": "x", "i": 1, "f": 1.5, "b": True, "n": None}],
    "numbers of both kinds": [{"a": 1}, {"a": 1.5}, {"a": -0.0}, {"a": 10**30}],
    "huge integers": [{"a": 2**63}, {"a": -(10**37)}, {"a": 1}],
    "integers beyond any decimal": [{"a": 10**60}, {"a": 1}],
    "numbers beyond any type": [{"a": 10**390, "b": 1}, {"a": 10**400, "b": 1}],
    "dates and times": [{"d": "2024-02-29", "t": "2024-01-01T00:00:00Z", "o": "2024-01-01T00:00:00.5+05:30"}],
    "local times": [{"a": "2024-01-01 10:00:00", "b": "2024-01-01T10:00:00", "c": ["2024-01-01 10:00:00"]}],
    "times at the edge": [{"a": "0001-01-01T00:00:00+14:00"}, {"a": "9999-12-31T23:59:59-12:00"}],
    "times that are none": [{"a": "2024-02-30", "b": "2024-01-01T24:00:00Z", "c": "２０２４-01-01"}],
    "some times": [{"a": "2024-01-01"}, {"a": "tomorrow"}],
    "several ways to write a time": [{"a": "2024-01-01"}, {"a": "2024-01-01T00:00:00Z"}],
    "nulls": [{"a": None}, {"a": 1}, {}],
    "nested objects": [{"o": {"p": {"q": [{"r": 1}, {"r": 2, "s": "x"}]}}}],
    "objects with nulls": [{"o": {"p": None}}, {"o": {"p": 1}}],
    "objects as maps": [{"o": {f"k{number}": number}} for number in range(20)],
    "objects of mixed scalars": [{"o": {"A-B": 1, "x": "y", "z": True, "w": 1e300}}],
    "objects with keys that are no names": [{"o": {"Ab": {"x": 1}, "Cd": {"x": 2}}}],
    "objects that no type takes": [{"o": {"Ab": [1], "Cd": {"x": None}}, "id": 1}],
    "empty objects and arrays": [{"o": {}, "a": [], "aa": [[]]}],
    "arrays": [{"a": [1, 2.5], "b": [["x"], []], "c": [{"k": "v"}]}],
    "keywords": [{"select": 1, "from": "x", "order": {"by": 1}, "user": None}],
    "camel case": [{"VendorID": 1, "tpepPickup": "x", "HTTPServer": 1, "a1B2": 1}],
    "names that collide": [{"a": 1, "A": 2, "a_": 3, "a-": 4, "a_2": 5, "Á": 6, "order_value": 1, "order": 2}],
    "unicode keys": [{"größe": 1, "名前": 2, "😀": 3, "\u2028": 4, "\x85": 5, "\x7f": 6, "\ufeff": 7}],
    "strange keys": [
        {"it's": 1, "a: b": 2, "# c": 3, "- d": 4, "[e]": 5, "{f}": 6, "true": 7, "~": 8, "1": 9, " g ": 10}
    ],
    "keys that cannot be read": [{'a"b': 1, "a\\b": 2, "a\nb": 3, "": 4, "ok": 5}],
    "long keys": [{"k" * 500: 1, "k" * 499 + "x": 2}],
    "platform names": [{"_id": 1, "_source": "x", "__v": 0}],
    "strange values": [{"a": value} for value in ['"', "\n", "# ?", "\u2028", "x: y"] for _ in range(12)],
    "deep nesting": [{"ok": 1, "deep": json.loads("[" * 40 + "]" * 40)}],
    "nesting just within": [{"deep": json.loads('{"a":' * 20 + "1" + "}" * 20)}],
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_every_record_of_a_sample_passes_its_own_draft(sample: str) -> None:
    assert dead_letters(draft(*SAMPLES[sample]), SAMPLES[sample]) == []


LOSSY = {
    "numbers and texts": [{"a": 1}, {"a": "x"}, {"a": 2}],
    "objects and texts": [{"a": {"b": 1}}, {"a": {"b": 1}}, {"a": "x"}],
    "nulls in an array": [{"a": [1, None]}, {"a": [1]}],
    "mixed in a struct": [{"a": {"b": [1], "c": 1}}, {"a": {"b": [1], "c": "x"}}],
    "one number too large": [{"a": 1.5}, {"a": 10**400}],
}


@pytest.mark.parametrize("sample", LOSSY)
def test_records_that_cannot_all_pass_are_marked_as_dead_letters(sample: str) -> None:
    text = draft(*LOSSY[sample])
    assert dead_letters(text, LOSSY[sample])
    assert "would be dead letters" in line_of(text, "a:")


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = st.recursive(
    scalars | texts | st.dates().map(str) | st.datetimes().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
records = st.lists(st.dictionaries(texts, values, max_size=4), min_size=1, max_size=5)


@settings(max_examples=80, deadline=None)
@given(records)
def test_any_sample_gives_a_draft_that_loads_and_tells_of_every_dead_letter(sample: list[dict[str, Any]]) -> None:
    try:
        text = draft(*sample)
    except Refused as problem:
        if "has no field that a contract can name" not in problem.what:
            raise
        return
    letters = dead_letters(text, sample)
    assert not letters or "would be dead letters" in text, letters


def test_every_doubtful_place_is_marked() -> None:
    sample = [{"id": n, "kind": "ab"[n % 2], "price": 1.5, "at": "2024-01-01 10:00:00", "x": None} for n in range(40)]
    text = draft(*sample)
    assert line_of(text, "about:") == "about: One row per …  # ? what is one record"
    assert line_of(text, "id:") == "id: {type: long, required: true}  # ? required: it was in all 40 records"
    assert "one_of: [a, b]" in line_of(text, "kind:")
    assert "for money write decimal(10,2)" in line_of(text, "price:")
    assert 'format: "%Y-%m-%d %H:%M:%S", zone: UTC}  # ? zone: it is not in the data' in line_of(text, "at:")
    assert line_of(text, "x:") == "x: {type: string}  # ? it was null 40 times and nothing else"
    assert line_of(text, "silver:") == (
        "silver: {key: [id], on_duplicate: keep_first, event_time: at}  # ? id was different in every record"
    )


def test_what_is_left_out_is_named_and_ignored() -> None:
    text = draft({'a"b': 1, "ok": 2})
    assert '# ? "a\\"b" is left out, and ignored below: ' in text
    assert line_of(text, "unknown_fields:") == "unknown_fields: ignore  # ? because of what is left out"
    assert line_of(draft({"ok": 2}), "unknown_fields:") == "unknown_fields: dead_letter"


def test_a_key_that_is_a_name_keeps_it_whatever_comes_before() -> None:
    assert contract(draft({"A": 1, "a": 2})).source_names == {"a_2": "A", "a": "a"}


def test_a_field_that_repeats_late_is_not_called_a_key() -> None:
    sample = [{"n": number if number < 4000 else 3999} for number in range(4001)]
    assert "# silver: {key: [...]}" in draft(*sample)
    assert "silver: {key: [n]" in draft(*sample[:4000])


def test_a_field_of_mixed_types_is_not_called_a_key() -> None:
    assert "# silver: {key: [...]}" in draft({"a": 1}, {"a": 2}, {"a": "x"})
    assert "silver: {key: [a]" in draft({"a": 1}, {"a": 2}, {"a": 3})


def test_a_sample_without_a_usable_field_is_refused() -> None:
    for sample in ([{}], [{"": 1}], [{"a": json.loads("[" * 40 + "]" * 40)}]):
        with pytest.raises(Refused, match="has no field that a contract can name"):
            draft(*sample)
