"""Which change of a contract brings letters home: safe ones only, and what each recovers is the judge's own word."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from boxes import Row, lines
from hypothesis import given, settings
from hypothesis import strategies as st

from smelter.contracts import Contract, parse_contract
from smelter.contracts.diff import compare
from smelter.dead_letters.propose import Proposal, changed, measured, proposals_of, recovered_by
from smelter.dead_letters.tally import Question, Tally, sample_of, tally_of
from smelter.records import Limits

ARRIVED = datetime(2026, 3, 1, tzinfo=UTC)


def contract_of(fields: str, rest: str = "") -> Contract:
    text = f"dataset: orders\nversion: 1\nfields:\n  id: {{type: long}}\n{fields}source: {{files: x}}\n{rest}"
    return parse_contract(text, "orders.yaml")


def letters_of(records: list[Any]) -> pa.RecordBatch:
    """Letters as they are asked for, under names that tell their place."""
    texts = [lines(one).rstrip(b"\n") for one in records]
    count = len(texts)
    return pa.record_batch(
        {
            "_id": [f"{number:016x}" for number in range(count)],
            "_source": ["a.json"] * count,
            "_position": pa.array(range(count), pa.int64()),
            "_arrived_at": pa.array([ARRIVED] * count, pa.timestamp("us", "UTC")),
            "reason": ["some"] * count,
            "raw": [text.decode("utf-8", "replace") for text in texts],
            "raw_bytes": pa.array(texts, pa.binary()),
        }
    )


def text_of(contract: Contract) -> str:
    return contract.model_dump_json(by_alias=True, exclude_unset=True)


def judged(contract: Contract, letters: pa.RecordBatch, instead: Contract | None = None) -> Tally:
    question = Question(text_of(contract), Limits(), None if instead is None else text_of(instead))
    return tally_of(question, [letters])


def proposed(contract: Contract, letters: pa.RecordBatch) -> tuple[list[Proposal], Tally]:
    """What `plan` does, without a lake."""
    ideas = proposals_of(contract, sample_of(Question(text_of(contract), Limits()), letters))
    together = changed(contract, ideas) if ideas else None
    assert not ideas or together is not None, "what is safe alone is safe together"
    found = judged(contract, letters, together)
    return measured(ideas, found.failing, found.mended), found


def whats(fields: str, *records: Any, rest: str = "") -> list[tuple[str, int]]:
    proposals, _ = proposed(contract_of(fields, rest), letters_of(list(records)))
    return [(one.what, one.recovers) for one in proposals]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["a", "b"], "add optional `new: string`"),
        ([1, 2], "add optional `new: long`"),
        ([1, 2.5], "add optional `new: double`"),
        ([2**70], "add optional `new: decimal(38,0)`"),
        ([True, None], "add optional `new: boolean`"),
        (["2026-01-01T00:00:00Z"], "add optional `new: timestamp`"),
        (["2026-01-01"], "add optional `new: date`"),
        (["2026-01-01 10:00:00"], "add optional `new: string`"),
        ([["a"], ["b"]], "add optional `new: array<string>`"),
        ([{"a": 1, "b": "x"}], "add optional `new: struct<a: long, b: string>`"),
        ([{"a b": 1, "c d": 2}], "add optional `new: map<string,string>`"),
        ([None], "add optional `new: string`"),
    ],
)
def test_a_new_field_is_proposed_with_the_type_of_what_was_seen(values: list[Any], what: str) -> None:
    assert whats("", *({"id": 1, "new": value} for value in values)) == [(what, len(values))]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("userId", "add optional `user_id: long` from `userId`"),
        ("user-id", "add optional `user_id: long` from `user-id`"),
        ("order", "add optional `order_value: long` from `order`"),
        ("ä", "add optional `a: long` from `ä`"),
        ("9", "add optional `f_9: long` from `9`"),
        ("_batch", "add optional `batch: long` from `_batch`"),
        ("ID", "add optional `id_2: long` from `ID`"),
    ],
)
def test_a_name_that_no_column_can_have_is_taken_from_the_record(name: str, what: str) -> None:
    assert whats("", {"id": 1, name: 5}) == [(what, 1)]


def test_several_new_fields_are_proposed_each_for_itself_with_names_of_their_own() -> None:
    records = [{"id": 1, "a-b": 1}, {"id": 2, "a b": "x"}, {"id": 3, "a-b": 2, "a b": "y"}, {"id": 4, "c": True}]
    assert whats("", *records) == [
        ("add optional `a_b: string` from `a b`", 1),
        ("add optional `a_b_2: long` from `a-b`", 1),
        ("add optional `c: boolean`", 1),
    ]


def test_letters_with_several_new_fields_come_home_when_all_of_them_are_taken() -> None:
    proposals, found = proposed(contract_of(""), letters_of([{"id": 1, "a": 1, "b": 2}] * 3))
    assert [one.recovers for one in proposals] == [0, 0]
    assert recovered_by({key for one in proposals for key in one.keys}, found.mended) == 3


def test_values_of_two_kinds_are_proposed_as_the_one_that_most_have() -> None:
    records = [{"id": 1, "new": "x"}, {"id": 2, "new": "y"}, {"id": 3, "new": [1]}]
    assert whats("", *records) == [("add optional `new: string`", 2)]


@pytest.mark.parametrize(
    ("kind", "value", "what"),
    [
        ("int", 2**40, "make `n` a long"),
        ("decimal(4,2)", 12345.25, "make `n` a decimal(38,2)"),
    ],
)
def test_a_number_that_is_too_large_is_proposed_a_wider_type(kind: str, value: Any, what: str) -> None:
    field = f'  n: {{type: "{kind}"}}\n'
    assert whats(field, {"n": value}, {"n": "not a number"}) == [(what, 1)]
    assert whats(field, {"n": "not a number"}) == []


def test_a_number_that_no_wider_type_takes_is_proposed_nothing() -> None:
    assert whats("  n: {type: long}\n", {"n": 2**80}) == []
    assert whats('  n: {type: "decimal(38,2)"}\n', {"n": 10**37}) == []


def test_more_allowed_values_and_optional_fields_are_proposed_as_less_strict() -> None:
    fields = "  kind: {type: string, one_of: [a, b]}\n  must: {type: string, required: true}\n"
    records = [{"kind": "c", "must": "x"}, {"kind": "d", "must": "x"}, {"kind": "a"}, {"kind": "c"}]
    proposals, _ = proposed(contract_of(fields), letters_of(records))
    assert [(one.what, one.loosens, one.letters, one.recovers) for one in proposals] == [
        ("allow `c`, `d` in `kind`", True, 3, 2),
        ("make `must` optional", True, 2, 1),
    ]
    assert proposals[0].change == {"one_of": ["a", "b", "c", "d"]}


def test_a_list_of_very_many_new_values_is_no_proposal() -> None:
    fields = "  kind: {type: string, one_of: [a]}\n"
    assert whats(fields, *({"kind": f"k{number}"} for number in range(11))) == []
    assert len(whats(fields, *({"kind": f"k{number}"} for number in range(10)))) == 1
    assert whats(fields, {"kind": "x" * 5000}) == [], "a value that is told in part is not proposed"


def test_a_key_of_silver_stays_required() -> None:
    fields = "  key: {type: string, required: true}\n"
    assert whats(fields, {"id": 1}, rest="silver: {key: [key]}\n") == []
    assert whats(fields, {"id": 1}) == [("make `key` optional", 1)]


def test_a_name_that_silver_gives_to_a_column_of_its_own_is_not_taken() -> None:
    rest = "silver: {key: [id], columns: {coupon: 'id + 1'}}\n"
    found = whats("", {"id": 1, "coupon": "x"}, {"id": 1, "other": "x"}, rest=rest)
    assert found == [("add optional `other: string`", 1)]


@pytest.mark.parametrize(
    "record",
    [
        '{"id": 1, "id": 2}',
        b'{"id": "\xff"}',
        "5",
        '{"id": nope}',
        {"id": "x"},
        {"p": "abc"},
        {"s": {"a": 1, "b": 2}},
        {"id": 1, "new": 10**400},
    ],
)
def test_what_no_safe_change_mends_is_proposed_nothing(record: Any) -> None:
    fields = '  p: {type: string, pattern: "[0-9]+"}\n  s: {type: "struct<a: int>"}\n'
    assert whats(fields, record) == []


FIELDS = """
  n: {type: int, required: true}
  f: {type: float}
  d: {type: "decimal(4,2)", min: 0}
  w: {type: string, one_of: [x, y]}
  p: {type: string, pattern: "[a-c]+", max_length: 3}
  k: {type: string, required: true}
  m: {type: "map<string,long>"}
"""
KNOWN = ("id", "n", "f", "d", "w", "p", "k", "m")
UNKNOWN = ("coupon", "Coupon", "order", "user-id", "_x", "ä", "n2", "K", "a.b", "", "x\n")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.integers(2**31, 2**40)
    | st.just(2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["x", "y", "z", "abc", "", "2026-01-01", "2026-01-01T00:00:00Z", "\x1b", "é…"])
)
VALUES = (
    SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c d"]), SCALARS, max_size=2)
)
RECORDS = st.builds(
    lambda odd, lost: {key: value for key, value in {"n": 1, "k": "a", **odd}.items() if key not in lost},
    st.dictionaries(st.sampled_from((*KNOWN, *UNKNOWN)), VALUES, max_size=3),
    st.sets(st.sampled_from(("n", "k", "w")), max_size=1),
)


@settings(max_examples=60)
@given(st.lists(RECORDS, min_size=1, max_size=12), st.booleans())
def test_every_proposal_is_safe_and_recovers_what_it_says(records: list[Row], has_silver: bool) -> None:
    contract = contract_of(FIELDS[1:], "silver: {key: [k]}\n" if has_silver else "")
    letters = letters_of(records)
    proposals, found = proposed(contract, letters)
    before = sum(found.passing.values())
    assert [one.number for one in proposals] == list(range(1, len(proposals) + 1))
    chosen = [*combinations(proposals, 1), *combinations(proposals, 2), tuple(proposals)]
    for some in chosen:
        after = changed(contract, some) if some else contract
        assert after is not None
        assert all(one.is_safe and not one.refuses_what_passed for one in compare(contract, after))
        passing = sum(judged(after, letters).passing.values())
        assert passing - before == recovered_by({key for one in some for key in one.keys}, found.mended)
        if len(some) == 1:
            assert some[0].recovers == passing - before
            assert some[0].letters >= some[0].recovers
    assert all(has_silver is False or one.field != "k" for one in proposals)


def test_a_proposal_is_the_next_version() -> None:
    contract = contract_of("")
    (proposal,), _ = proposed(contract, letters_of([{"id": 1, "coupon": "x"}]))
    after = changed(contract, [proposal])
    assert after is not None
    assert (after.version, list(after.fields)) == (2, ["id", "coupon"])
    assert json.loads(text_of(after))["fields"]["coupon"] == {"type": "string"}
    assert changed(contract, [replace(proposal, change={"type": "no such type"})]) is None
