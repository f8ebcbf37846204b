"""One record, one verdict: each reason, each type at its edges, and all problems of a bad record at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from judging import ARRIVED, GOOD, judge_of, judged

from smelter.records import Judge, Limits, letter_id, letters_to_arrow

NOT_JSON = {
    "trailing text": b"1} x",
    "single quotes": b"'x'}",
    "a comment": b"1 /* c */}",
    "a line comment": b"1 // c\n}",
    "NaN": b"NaN}",
    "Infinity": b"Infinity}",
    "minus Infinity": b"-Infinity}",
    "a leading zero": b"01}",
    "a leading plus": b"+1}",
    "a bare point": b".5}",
    "a point at the end": b"1.}",
    "hex": b"0x1}",
    "a control character": b'"\x01"}',
    "a raw tab": b'"\t"}',
    "a bad escape": b'"\\x"}',
    "a short escape": b'"\\u12"}',
    "a lone high surrogate": b'"\\ud800"}',
    "a lone low surrogate": b'"\\udc00"}',
    "a trailing comma": b"1,}",
    "a bare word": b"undefined}",
    "True": b"True}",
    "a NUL": b"\x001}",
}


@pytest.mark.parametrize("what", NOT_JSON)
@pytest.mark.parametrize("where", [b"a", b"ignored"])
def test_what_is_not_json_is_refused_also_inside_ignored_fields(lenient: Judge, what: str, where: bytes) -> None:
    good_before, good_after = b'{"a":1}\n', b'\n{"a":2}'
    bad = b'{"' + where + b'":' + NOT_JSON[what]
    found = judged(lenient, good_before + bad + good_after)
    if what == "a line comment":  # its second line is a closing bracket and belongs to it
        bad = bad.rstrip()
    assert found.reasons == ["not_json"]
    assert found.letters[0].raw.encode() == bad
    assert [row["a"] for row in found.rows] == [1, 2]


@pytest.mark.parametrize("where", [b"a", b"ignored"])
def test_bytes_that_are_not_utf8_are_kept_as_bytes(lenient: Judge, where: bytes) -> None:
    bad = b'{"' + where + b'":"\xff\xfe"}'
    found = judged(lenient, b'{"a":1}\n' + bad + b'\n{"a":2}')
    assert found.reasons == ["bad_encoding"]
    assert found.letters[0].raw_bytes == bad
    assert "\ufffd" in found.letters[0].raw
    assert len(found.rows) == 2


@pytest.mark.parametrize("sequence", [b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xe2\x82"])
def test_overlong_surrogate_and_cut_sequences_are_no_utf8(lenient: Judge, sequence: bytes) -> None:
    assert judged(lenient, b'{"b":"' + sequence + b'"}').reasons == ["bad_encoding"]


@pytest.mark.parametrize("text", [b"5", b'"x"', b"true", b"null", b"[[1]]", b"-0.5e3"])
def test_a_value_that_is_no_object_is_not_a_record(judge: Judge, text: bytes) -> None:
    assert judged(judge, text).reasons == ["not_an_object"]


def test_all_problems_of_a_record_are_listed_in_one_letter(judge: Judge) -> None:
    bad = (
        b'{"event_id":5,"event_timestamp":"2019-01-01T00:00:00Z","event_type":"buy","properties":{"a":null,"b":{},"c":1},'
        b'"coupon":"x","coupon":"y"}'
    )
    (letter,) = judged(judge, bad).letters
    assert letter.reason == "duplicate_field"
    assert {(e.rule, e.field) for e in letter.errors} == {
        ("unique_fields", "coupon"),
        ("required", "user_id"),
        ("type", "event_id"),
        ("min", "event_timestamp"),
        ("one_of", "event_type"),
        ("type", "properties.a"),
        ("type", "properties.b"),
        ("unknown_fields", "coupon"),
    }
    assert letter.raw.encode() == bad
    assert all(e.message and e.found for e in letter.errors)


def test_the_reason_is_the_first_of_the_fixed_order(judge: Judge) -> None:
    missing_and_unknown = GOOD.replace(b'"user_id"', b'"user"')
    assert judged(judge, missing_and_unknown).reasons == ["missing_field"]
    unknown_and_wrong = GOOD.replace(b'"e1"', b'5,"x":1')
    assert judged(judge, unknown_and_wrong).reasons == ["unknown_field"]
    wrong_and_rule = GOOD.replace(b'"e1"', b"5").replace(b"purchase", b"buy")
    assert judged(judge, wrong_and_rule).reasons == ["wrong_type"]


def test_nested_paths_say_where(judge: Judge) -> None:
    nested = judge_of(
        'items: {type: "array<struct<sku: string not null, n: int>>"}\nm: {type: "map<string,array<long>>"}'
    )
    bad = b'{"items":[{"sku":"a"},{"sku":"b","n":"x"},{"n":1},null],"m":{"k":[1,2,"3"]}}'
    (letter,) = judged(nested, bad).letters
    assert [e.field for e in letter.errors] == ["items[1].n", "items[2].sku", "items[3]", "m.k[2]"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"user_id":"u1"', b'"user_id":"u1","user_id":"u1"'),
        (b'"amount":1.10', b'"amount":1.10,"amount":2'),
        (b'"user_id":"u1"', b'"user_id":"u1","\\u0075ser_id":"u2"'),
        (b'"properties"', b'"product_id":null,"product_id":null,"properties"'),
        (b'"user_id":"u1"', b'"user_id":"a\\"b","user_id":"c\\\\"'),
    ],
)
def test_a_key_twice_is_refused_also_among_many_good_records(judge: Judge, before: bytes, after: bytes) -> None:
    records = [GOOD] * 50
    records[17] = GOOD.replace(before, after)
    assert records[17] != GOOD
    for text in (b"\n".join(records), b"[" + b",".join(records) + b"]", records[17]):
        found = judged(judge, text)
        assert found.reasons == ["duplicate_field"]
        assert len(found.rows) == found.receipt.records - 1


@pytest.mark.parametrize("inside", [b'{"k":1,"k":2}', b'[{"k":1,"k":2}]', b'{"x":{"k":"a","k":"b"}}'])
def test_a_key_twice_is_refused_inside_ignored_fields(lenient: Judge, inside: bytes) -> None:
    found = judged(lenient, b'{"a":1,"x":1}\n{"a":1,"b":' + inside + b'}\n{"a":2,"y":"\\\\"}')
    assert found.reasons == ["duplicate_field"]
    assert len(found.rows) == 2


def test_escapes_and_nulls_are_not_taken_for_repeated_keys(judge: Judge) -> None:
    odd = [
        GOOD.replace(b'"u1"', b'"\\"quoted\\" \\\\ \\u0022"'),
        GOOD.replace(b'"properties"', b'"product_id":null,"properties"'),
        GOOD.replace(b'{"amount":1.10}', b"null"),
        GOOD.replace(b'{"amount":1.10}', b'{"\\"":"\\\\","":""}'),
    ]
    assert judged(judge, b"\n".join(odd)).letters == []


def test_null_for_a_required_field_is_missing_and_for_an_optional_one_is_nothing(judge: Judge) -> None:
    (letter,) = judged(judge, GOOD.replace(b'"u1"', b"null")).letters
    assert (letter.reason, letter.errors[0].found) == ("missing_field", "null")
    assert judged(judge, GOOD.replace(b'{"amount":1.10}', b"null")).rows[0]["properties"] is None


def test_the_verdict_depends_on_the_arrival_and_not_on_the_clock(judge: Judge) -> None:
    late = GOOD.replace(b"2026-05-31T10:00:00Z", b"2026-06-01T13:00:00Z")
    too_late = GOOD.replace(b"2026-05-31T10:00:00Z", b"2026-06-01T13:00:00.000001Z")
    found = judged(judge, late + b"\n" + too_late)
    assert [row["_position"] for row in found.rows] == [0]
    assert [e.rule for e in found.letters[0].errors] == ["not_after_arrival"]
    assert judge.problems_of(too_late, datetime(2027, 1, 1, tzinfo=UTC)) == ()


def test_rows_say_where_and_when_they_arrived(judge: Judge) -> None:
    found = judged(judge, b"\n".join([GOOD, b"rubbish", GOOD]))
    assert [(row["_source"], row["_position"], row["_arrived_at"]) for row in found.rows] == [
        ("memory", 0, ARRIVED),
        ("memory", 2, ARRIVED),
    ]


def test_a_renamed_source_name_is_read_and_reported() -> None:
    judge = judge_of("vendor_id: {type: int, required: true, from: VendorID}")
    assert judged(judge, b'{"VendorID":1}').rows[0]["vendor_id"] == 1
    (letter,) = judged(judge, b'{"vendor_id":1}').letters
    assert [(e.rule, e.field) for e in letter.errors] == [("required", "VendorID"), ("unknown_fields", "vendor_id")]
    assert "column vendor_id" in letter.errors[0].message


@pytest.mark.parametrize("depth", [99, 100, 101, 5_000, 200_000])
def test_nesting_beyond_the_limit_is_one_letter(lenient: Judge, depth: int) -> None:
    inner = depth - 1
    text = b'{"x":' + b"[" * inner + b"]" * inner + b"}"
    found = judged(lenient, b'{"a":1}\n' + text + b'\n{"a":2}')
    assert found.reasons == ([] if depth <= 100 else ["record_too_large"])
    assert found.receipt.records == 3


def test_a_record_beyond_the_limit_keeps_its_beginning() -> None:
    judge = judge_of("a: {type: string}", limits=Limits(max_record_bytes=2_000))
    found = judged(judge, b'{"a":"' + b"x" * 3_000 + b'"}\n{"a":"y"}')
    assert found.reasons == ["record_too_large"]
    assert found.letters[0].raw.startswith('{"a":"xxx')
    assert found.rows[0]["a"] == "y"


def test_letters_become_columns_with_stable_ids(judge: Judge) -> None:
    found = judged(judge, b'5\n\xff\n{"user_id":1}')
    columns = letters_to_arrow("events", found.letters)
    columns.validate(full=True)
    assert columns.column("reason").to_pylist() == ["not_an_object", "bad_encoding", "missing_field"]
    assert columns.column("raw_bytes").to_pylist() == [None, b"\xff", None]
    assert columns.column("_id").to_pylist() == [letter_id("events", "memory", i) for i in range(3)]
    assert len(set(columns.column("_id").to_pylist())) == 3
    assert [len(errors) for errors in columns.column("errors").to_pylist()] == [len(x.errors) for x in found.letters]
    assert letters_to_arrow("events", []).num_rows == 0


def test_a_letter_never_lists_more_problems_than_a_person_can_read(judge: Judge) -> None:
    many = json.dumps({f"x{i}": i for i in range(5_000)}).encode()
    (letter,) = judged(judge, many).letters
    assert len(letter.errors) <= 101


def test_a_key_twice_is_refused_in_maps_and_structs_of_any_type() -> None:
    judge = judge_of('m: {type: "map<string,long>"}\ns: {type: "struct<x: long>"}\na: {type: "array<struct<x: long>>"}')
    for bad in (b'{"m":{"k":1,"k":2}}', b'{"s":{"x":1,"x":2}}', b'{"a":[{"x":1},{"x":1,"x":1}]}'):
        assert judged(judge, b'{"m":{"k":1}}\n' + bad + b'\n{"s":{"x":1}}').reasons == ["duplicate_field"], bad


def test_the_reason_counts_all_problems_also_those_that_are_not_listed() -> None:
    judge = judge_of('d: {type: "array<long>"}\nz: {type: string, required: true}')
    (letter,) = judged(judge, json.dumps({"d": ["x"] * 150}).encode()).letters
    assert letter.reason == "missing_field"
    assert [e.field for e in letter.errors if e.rule == "required"] == ["z"]
    assert len(letter.errors) == 101


def test_a_record_beyond_a_small_limit_holds_nothing_of_the_next() -> None:
    judge = judge_of("a: {type: long}", "ignore", Limits(max_record_bytes=40))
    for text in (b'{"a":1} "' + b"x" * 60 + b'"\n{"a":2}\n', b'[{"b":"' + b"x" * 60 + b'"},{"a":2}]'):
        found = judged(judge, text)
        assert found.reasons == ["record_too_large"]
        assert '"a":2' not in found.letters[0].raw
        assert found.rows[0]["a"] == 2


@pytest.mark.parametrize("neighbour", [b"", b"{bad}\n", b'{"s": "x"}\n'])
@pytest.mark.parametrize("field", ["s", "u"])
def test_a_record_that_is_nested_too_deep_is_refused_whatever_stands_beside_it(field: str, neighbour: bytes) -> None:
    judge = judge_of('s: {type: "struct<n: map<string,string>>"}', "ignore", Limits(max_depth=2))
    deep, fits = (b'{"%b": {"n": %b}}\n' % (field.encode(), inner) for inner in (b'{"a": 1}', b"null"))
    found = judged(judge, deep + fits + neighbour)
    assert [row["_position"] for row in found.rows] == [1]
    assert found.reasons[0] == "record_too_large"
