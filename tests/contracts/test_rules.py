"""Rules go with types, and their values are values of the type."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from contract_texts import contract, faults_of, the_fault, with_field, with_fields

from smelter.contracts.rules import rule_value
from smelter.contracts.types import parse_type

TYPES = {
    "string": "string",
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "decimal": '"decimal(10,2)"',
    "date": "date",
    "timestamp": "timestamp",
    "binary": "binary",
    "array": '"array<timestamp>"',
    "map": '"map<string,string>"',
    "struct": '"struct<x: timestamp>"',
}
ONE_VALUE = {"string": "x", "boolean": "true", "date": "2020-01-01", "timestamp": "2020-01-01T00:00:00Z"}
NUMBERS = {"int", "long", "float", "double", "decimal"}
GOES_WITH = {
    "one_of": {"string", "boolean", "int", "long", "decimal", "date"},
    "min": NUMBERS | {"date", "timestamp"},
    "max": NUMBERS | {"date", "timestamp"},
    "pattern": {"string"},
    "min_length": {"string", "binary", "array", "map"},
    "max_length": {"string", "binary", "array", "map"},
    "not_after_arrival": {"date", "timestamp"},
    "zone": {"timestamp"},
    "format": {"date", "timestamp"},
}


def rule_text(rule: str, name: str) -> str:
    value = ONE_VALUE.get(name, "1")
    texts = {
        "min_length": "min_length: 1",
        "max_length": "max_length: 1",
        "one_of": f"one_of: [{value}]",
        "pattern": "pattern: x",
        "not_after_arrival": "not_after_arrival: 1h",
        "zone": "zone: UTC",
        "format": 'format: "%Y-%m-%d"' if name == "date" else 'format: "%Y-%m-%d %H", zone: UTC',
    }
    return texts.get(rule, f"{rule}: {value}")


@pytest.mark.parametrize("rule", GOES_WITH)
@pytest.mark.parametrize("name", TYPES)
def test_a_rule_goes_with_the_types_for_which_it_has_a_meaning(rule: str, name: str) -> None:
    text = with_field(f"type: {TYPES[name]}, {rule_text(rule, name)}")
    if name in GOES_WITH[rule]:
        assert getattr(contract(text).fields["a"], rule) is not None
    else:
        said = f"fields.a.{rule}: `{rule}` has no meaning for {TYPES[name].strip(chr(34))}; it goes with "
        assert any(line == 5 and message.startswith(said) for line, message in faults_of(text))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "true"),
        ("int", "1.0"),
        ("int", "1.5"),
        ("int", "'1'"),
        ("int", "2147483648"),
        ("int", "-2147483649"),
        ("long", "9223372036854775808"),
        ("long", "1e3"),
        ("float", "3.5e38"),
        ("float", "true"),
        ("double", "1e999"),
        ("double", ".nan"),
        ("double", ".inf"),
        ("double", "'1.5'"),
        ("decimal(4,2)", "1.234"),
        ("decimal(4,2)", "100"),
        ("decimal(4,2)", "-100.00"),
        ("decimal(4,2)", "true"),
        ("decimal(4,2)", "'x'"),
        ("decimal(38,20)", "0.123456789012345678901"),
        ("date", "2020-02-30"),
        ("date", "2020-W01-1"),
        ("date", "20200101"),
        ("date", "'20200101'"),
        ("date", "2020-01-01T00:00:00Z"),
        ("date", "true"),
        ("timestamp", "2020-01-01"),
        ("timestamp", "2020-01-01T00:00:00"),
        ("timestamp", "2020-01-01 00:00:00Z"),
        ("timestamp", "20200101T000000Z"),
        ("timestamp", "2020-W01-1T00:00:00Z"),
        ("timestamp", "2020-01-01T00:00:00.1234567Z"),
        ("timestamp", "2020-01-01T00:00:00+00:00:30"),
        ("timestamp", "2020-01-01T00:00:60Z"),
        ("timestamp", "0001-01-01T00:00:00+14:00"),
        ("timestamp", "5"),
    ],
)
def test_a_bound_that_is_no_value_of_the_type_is_refused(kind: str, value: str) -> None:
    for rule in ("min", "max"):
        text = with_fields("a:", f'  type: "{kind}"', f"  {rule}: {value}")
        line, message = the_fault(text)
        assert line == 7
        assert f"is not a value of {kind}; it is " in message


@pytest.mark.parametrize(
    ("kind", "value", "typed"),
    [
        ("int", "-2147483648", -(2**31)),
        ("double", "1", 1.0),
        ("float", "3.4e38", 3.4e38),
        ("decimal(4,2)", "99.99", Decimal("99.99")),
        ("decimal(4,2)", "5e1", Decimal(50)),
        ("decimal(4,2)", "'1.50'", Decimal("1.5")),
        ("decimal(38,2)", "123456789012345678901234567890.12", Decimal("123456789012345678901234567890.12")),
        ("decimal(38,38)", "0.00000000000000000000000000000000000001", Decimal("1e-38")),
        ("date", "2020-02-29", datetime.date(2020, 2, 29)),
        ("timestamp", "2020-01-01T02:00:00.5+02:00", datetime.datetime(2020, 1, 1, 0, 0, 0, 500000, datetime.UTC)),
    ],
)
def test_a_bound_becomes_exactly_the_value_that_was_written(kind: str, value: str, typed: object) -> None:
    field = contract(with_field(f'type: "{kind}", min: {value}')).fields["a"]
    assert rule_value(parse_type(kind), field.min, "min") == typed


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("int", "5", "3"),
        ("double", "1.5", "1"),
        ("decimal(10,2)", "0.02", "0.01"),
        ("date", "2020-01-02", "2020-01-01"),
        ("timestamp", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00+01:00"),
    ],
)
def test_a_smallest_value_above_the_largest_is_refused(kind: str, low: str, high: str) -> None:
    _, message = the_fault(with_field(f'type: "{kind}", min: {low}, max: {high}'))
    assert f"`min: {low}` is more than `max: {high}`: no value could pass" in message
    assert contract(with_field(f'type: "{kind}", min: {high}, max: {low}'))
    assert contract(with_field(f'type: "{kind}", min: {low}, max: {low}'))


def test_a_shortest_length_above_the_longest_is_refused() -> None:
    assert "no value could pass" in the_fault(with_field("type: string, min_length: 3, max_length: 2"))[1]
    assert contract(with_field("type: string, min_length: 0, max_length: 0"))


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("type: string, one_of: [1]", "`one_of: 1` is not a value of string; it is a text"),
        ("type: int, one_of: [true]", "`one_of: true` is not a value of int"),
        ("type: int, one_of: [1.0]", "`one_of: 1.0` is not a value of int"),
        ("type: boolean, one_of: [1]", "`one_of: 1` is not a value of boolean; it is true or false"),
        ("type: date, one_of: [2020-02-30]", "`one_of: 2020-02-30` is not a value of date"),
        ("type: int, min: 2, one_of: [1]", "`one_of: 1` is less than `min: 2`"),
        ("type: int, max: 2, one_of: [3]", "`one_of: 3` is more than `max: 2`"),
        ("type: string, min_length: 2, one_of: [a]", "`one_of: a` is shorter than `min_length: 2`"),
        ("type: string, max_length: 2, one_of: [abc]", "`one_of: abc` is longer than `max_length: 2`"),
        ('type: string, pattern: "b+", one_of: [ab]', "`one_of: ab` does not match `pattern: b+`"),
    ],
)
def test_a_listed_value_that_could_never_pass_is_refused(rules: str, said: str) -> None:
    line, message = the_fault(with_field(rules))
    assert (line, message.startswith(f"fields.a.one_of[0]: {said}")) == (5, True)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("string", "a, a"),
        ("int", "1, 01"),
        ("boolean", "true, True"),
        ("decimal(4,2)", "1.5, 1.50"),
        ("decimal(4,2)", "1, '1.00'"),
        ("date", "2020-01-01, 2020-01-01"),
    ],
)
def test_a_value_that_is_listed_twice_is_refused(kind: str, values: str) -> None:
    _, message = the_fault(with_field(f'type: "{kind}", one_of: [{values}]'))
    assert message.startswith("fields.a.one_of[1]: `one_of: ")
    assert message.endswith("is listed twice")


def test_listed_values_that_pass_the_other_rules_are_fine() -> None:
    rules = 'type: string, one_of: [ab, abc], min_length: 2, max_length: 3, pattern: "a.*"'
    assert contract(with_field(rules)).fields["a"].one_of == ("ab", "abc")


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<x>a)(?P<x>b)", "*", "[[a]", "a)(b", "(?i)a", "", "\\"])
def test_a_pattern_that_the_judge_could_not_use_is_refused(pattern: str) -> None:
    line, message = the_fault(with_field(f"type: string, pattern: '{pattern}'"))
    assert line == 5
    assert message.startswith("fields.a.pattern: ")


def test_flags_for_the_whole_pattern_are_refused_with_another_way_to_write_them() -> None:
    assert the_fault(with_field("type: string, pattern: '(?i)a'"))[1].endswith("; write (?i:…) for (?i)")
    assert contract(with_field("type: string, pattern: '(?i:a)'"))
