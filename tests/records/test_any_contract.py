"""Whatever the contract: good records are taken and come back equal; what breaks it is refused at the right field."""

from __future__ import annotations

import json
import random

from any_contract import expected_row, field_lines, other_json
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import ARRIVED, contract_of, judged

from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.producer import good_record_text
from smelter.records import Judge


def good_records(contract: Contract, seed: int, count: int) -> list[bytes]:
    rng = random.Random(seed)
    try:
        return [good_record_text(contract, rng, ARRIVED, edges=0.3) for _ in range(count)]
    except Refused:  # no value satisfies the rules
        return []


@given(
    field_lines(),
    st.integers(0, 10**6),
    st.sampled_from(["ndjson", "array"]),
    st.sampled_from(["dead_letter", "ignore"]),
)
@settings(max_examples=80)
def test_good_records_are_taken_and_come_back_equal(fields: str, seed: int, form: str, unknown: str) -> None:
    contract = contract_of(fields, unknown)
    records = good_records(contract, seed, 12)
    text = b"\n".join(records) if form == "ndjson" else b"[" + b",".join(records) + b"]"
    found = judged(Judge(contract), text)
    assert found.letters == []
    for row, record in zip(found.rows, records, strict=True):
        assert {name: row[name] for name in contract.fields} == expected_row(contract, record)


@given(field_lines(), st.integers(0, 10**6))
@settings(max_examples=80)
def test_the_fast_way_and_the_list_of_problems_agree(fields: str, seed: int) -> None:
    """Mutated records, many in one window: each is refused there exactly if the slow way finds a problem alone."""
    contract = contract_of(fields)
    rng = random.Random(seed)
    records = [mutated(record, rng) for record in good_records(contract, seed, 20)]
    judge = Judge(contract)
    found = judged(judge, b"[" + b",".join(records) + b"]")
    refused = {letter.position: letter.errors for letter in found.letters}
    alone = {i: tuple(judge.problems_of(record, ARRIVED)) for i, record in enumerate(records)}
    assert refused == {position: problems for position, problems in alone.items() if problems}


def mutated(record: bytes, rng: random.Random) -> bytes:
    """A record with one value replaced by another kind of value, or as it was."""
    members = json.loads(record)
    if members and rng.random() < 0.7:
        members[rng.choice(list(members))] = rng.choice(
            [
                None,
                5,
                -1,
                1.5,
                "x",
                "",
                True,
                [],
                {},
                [None],
                {"k": None},
                {"k": "v"},
                "2026-01-01T00:00:00Z",
                "2026-01-01",
            ]
        )
    return json.dumps(members).encode()


@given(field_lines(), st.integers(0, 10**6), st.data())
@settings(max_examples=120)
def test_a_single_break_is_refused_at_its_field(fields: str, seed: int, data: st.DataObject) -> None:
    contract = contract_of(fields)
    records = good_records(contract, seed, 1)
    if not records:
        return
    name = data.draw(st.sampled_from(sorted(contract.fields)))
    how = data.draw(st.sampled_from(["missing", "null", "wrong type", "unknown", "repeated"]))
    field, reason, broken = break_record(records[0], contract, name, how, random.Random(seed))
    found = judged(Judge(contract), broken)
    if reason is None:
        assert found.letters == []
    else:
        assert found.reasons == [reason]
        assert any(e.field == field or e.field.startswith((field + ".", field + "[")) for e in found.letters[0].errors)


def break_record(
    record: bytes, contract: Contract, name: str, how: str, rng: random.Random
) -> tuple[str, str | None, bytes]:
    """The field, the reason and the text of a record that is broken in one way; no reason if it is still good."""
    texts = {key: _member_text(record, key) for key in json.loads(record)}
    rules, source = contract.fields[name], contract.source_names[name]
    is_required = rules.required
    if how == "unknown":
        return "surprise", "unknown_field", _text({**texts, "surprise": "1"})
    if how == "repeated" and texts:
        first = next(iter(texts))
        return first, "duplicate_field", _text(texts)[:-1] + f",{json.dumps(first)}:{texts[first]}}}".encode()
    if how == "wrong type":
        return source, "wrong_type", _text({**texts, source: other_json(rules.kind, rng)})
    if how == "null":
        return source, "missing_field" if is_required else None, _text({**texts, source: "null"})
    texts.pop(source, None)
    return source, "missing_field" if is_required else None, _text(texts)


def _member_text(record: bytes, key: str) -> str:
    """The exact text of one member's value."""
    decoder = json.JSONDecoder()
    text = record.decode()
    at = text.index("{") + 1
    while True:
        while text[at] in " ,\n":
            at += 1
        name, at = decoder.raw_decode(text, at)
        at = text.index(":", at) + 1
        while text[at] in " \n":
            at += 1
        begin = at
        _, at = decoder.raw_decode(text, at)
        if name == key:
            return text[begin:at]
        while text[at] in " \n":
            at += 1


def _text(members: dict[str, str]) -> bytes:
    return ("{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in members.items()) + "}").encode()
