"""Each type takes what it can hold, exactly, and a refusal says enough to mend the producer."""

from __future__ import annotations

from decimal import Decimal

import pytest
from judging import ARRIVED, judge_of, judged


@pytest.mark.parametrize(
    "value",
    [
        "1.10",
        "-0",
        "-0.0",
        "1E+5",
        "0.1e-7",
        "123456789012345678901234567890",
        "9" * 5000,
        "1e999",
        "true",
        "false",
        "0",
    ],
)
def test_a_map_of_strings_keeps_the_exact_text_of_any_scalar(value: str) -> None:
    judge = judge_of('m: {type: "map<string,string>"}\na: {type: "array<map<string,string>>"}')
    text = f'{{"m":{{"k":{value},"s":"x"}},"a":[{{"k":{value}}}]}}'
    found = judged(judge, f'{text}\n{{"m":{{"k":1}}}}'.encode())
    assert found.rows[0]["m"] == [("k", value), ("s", "x")]
    assert found.rows[0]["a"] == [[("k", value)]]


def test_a_number_is_not_a_string_nor_a_string_a_number() -> None:
    typed = judge_of("s: {type: string}\nn: {type: long}\nd: {type: double}\nx: {type: 'decimal(5,2)'}")
    for bad in (
        '{"s":1}',
        '{"n":"1"}',
        '{"d":"1.5"}',
        '{"x":"1.5"}',
        '{"n":true}',
        '{"d":false}',
        '{"x":true}',
        '{"s":true}',
    ):
        assert judged(typed, bad.encode()).reasons == ["wrong_type"], bad


EDGES = {
    "int": (["2147483647", "-2147483648", "0", "-0"], ["2147483648", "-2147483649", "1.0", "1e2", "9" * 400]),
    "long": (["9223372036854775807", "-9223372036854775808"], ["9223372036854775808", "1.0", "-9223372036854775809"]),
    "float": (["3.4028235e38", "-1e-60", "1", "1e2"], ["3.5e38", "-3.5e38", "1e400"]),
    "double": (["1.7976931348623157e308", "1e-400", "9007199254740993", "5e-324"], ["1e309", "-1e400", "9" * 400]),
    "decimal(5,2)": (["999.99", "-999.99", "1.230", "1e2", "0", "-0.00", "12e-1"], ["1000", "1.234", "1e3", "1e-3"]),
    "decimal(38,38)": (["0." + "9" * 38, "1e-38"], ["1", "1e-39", "0." + "9" * 39]),
    "boolean": (["true", "false"], ["1", '"true"']),
    "binary": (['""', '"YQ=="', '"+/+/"'], ['"YQ"', '"YQ= ="', '"Y\\nQ=="', '"-_-_"', '"é"', "5"]),
    "date": (
        ['"2024-02-29"', '"0001-01-01"', '"9999-12-31"'],
        ['"2023-02-29"', '"0000-01-01"', '"2024-1-1"', '"20240101"'],
    ),
    "string": (['""', '"\\u0000"', '"\\ud83d\\ude00"', '"é"'], ["1", "null1"]),
}


@pytest.mark.parametrize("kind", EDGES)
def test_a_type_takes_what_it_can_hold_and_nothing_else(kind: str) -> None:
    judge = judge_of(f'v: {{type: "{kind}", required: true}}')
    taken, refused = EDGES[kind]
    for value in taken:
        assert judged(judge, f'{{"v":{value}}}'.encode()).letters == [], value
    for value in refused:
        found = judged(judge, f'{{"v":{value}}}'.encode())
        assert found.reasons in (["wrong_type"], ["not_json"]), value
    together = "\n".join(f'{{"v":{value}}}' for value in taken + refused)
    assert len(judged(judge, together.encode()).rows) == len(taken)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("type: 'decimal(10,2)'", "9.955", "more than 2 digits after the point"),
        ("type: 'decimal(3,2)'", "19", "more than 1 digits before the point"),
        ("type: long", "1.0", "an integer has neither point nor exponent"),
        ("type: int", "2147483648", "beyond the range of int"),
        ("type: float", "1e39", "too large for float"),
        ("type: date", '"2026-02-30"', "there is no such day"),
        ("type: timestamp", '"2026-01-01T12:00:00"', "it has no zone"),
        ("type: timestamp", '"2026-01-01T12:00:00.1234567Z"', "more than 6 digits after the point"),
        ("type: timestamp, zone: Europe/Berlin", '"2026-01-01T12:00:00Z"', "the contract says Europe/Berlin"),
        ("type: timestamp, zone: Europe/Berlin", '"2026-03-29T02:30:00"', "the clock of Europe/Berlin never showed"),
        ("type: string", 'null, "w": 1', "`w` is not a field"),
        ("type: 'array<int>'", "[null]", "should be int and is null"),
    ],
)
def test_a_message_says_enough_to_mend_the_producer(field: str, value: str, says: str) -> None:
    (letter,) = judged(judge_of(f"v: {{{field}}}"), f'{{"v":{value}}}'.encode()).letters
    assert says in letter.errors[0].message


def test_decimals_are_exact() -> None:
    judge = judge_of('v: {type: "decimal(38,2)"}')
    found = judged(judge, b'{"v":123456789012345678901234567890123456.78}\n{"v":0.1}\n{"v":1e1}')
    assert [row["v"] for row in found.rows] == [Decimal("123456789012345678901234567890123456.78"), Decimal("0.1"), 10]


@pytest.mark.parametrize("number", ["1e9999999999999999999", "-1e-9999999999999999999", "1E99999999999999999999"])
def test_an_exponent_beyond_reason_is_a_letter_and_no_exception(number: str) -> None:
    judge = judge_of("d: {type: 'decimal(10,2)'}\na: {type: 'array<decimal(5,1)>'}")
    found = judged(judge, f'{{"d":{number}}}\n{{"d":1}}\n{{"a":[{number}]}}\n{{"d":0e9999999999999999999}}'.encode())
    assert found.reasons == ["wrong_type", "wrong_type"]
    assert [row["d"] for row in found.rows] == [1, 0]


@pytest.mark.parametrize(
    "field", ["type: double, max: 1.0e+39", "type: double, min: -1.0e+39", "type: float, max: 1.0e+30"]
)
def test_large_bounds_hold_for_many_records_as_for_one(field: str) -> None:
    judge = judge_of(f"d: {{{field}}}")
    bad = b'{"d":-1e40}' if "min" in field else b'{"d":1e40}' if "double" in field else b'{"d":1e31}'
    assert judge.problems_of(bad, ARRIVED)[0].reason == "rule_broken"
    assert judged(judge, b"\n".join([b'{"d":1}', bad, b'{"d":2}'])).reasons == ["rule_broken"]
