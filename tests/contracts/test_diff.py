"""Which change to a contract is safe? The list of the design, and everything else refused with a way out."""

from __future__ import annotations

import pytest
from contract_texts import contract, the_change, with_fields

from smelter.contracts.diff import Change, compare

ASIDE = "add a new optional field beside it and fill both until nobody needs the old one"
LOOSER = "looser: every stored value is still right"
STRICTER = "stricter: for new records only, what is stored stays as it is"


def field_change(old: str, new: str) -> Change:
    return the_change(f"a: {{{old}}} | z: {{type: int}}", f"a: {{{new}}} | z: {{type: int}}")


def test_two_equal_contracts_have_no_changes() -> None:
    text = with_fields("a: {type: int, min: 1}")
    assert compare(contract(text), contract(text)) == []


def test_another_spelling_of_the_same_is_no_change() -> None:
    old = contract(with_fields('a: {type: "decimal(4,2)", required: false}', more="unknown_fields: dead_letter\n"))
    assert compare(old, contract(with_fields('a: {type: "decimal( 4 , 2 )"}'))) == []


SAFE = [
    ("type: int", "type: long", "type int → long", "wider"),
    ("type: float", "type: double", "type float → double", "wider"),
    ('type: "decimal(10,2)"', 'type: "decimal(12,2)"', "type decimal(10,2) → decimal(12,2)", "wider"),
    ('type: "array<int>"', 'type: "array<long>"', "type array<int> → array<long>", "wider"),
    ('type: "map<string,float>"', 'type: "map<string,double>"', "map<string,double>", "wider"),
    ('type: "struct<x: int>"', 'type: "struct<x: long>"', "struct<x: long>", "wider"),
    ('type: "struct<x: int>"', 'type: "struct<x: int, y: date>"', "struct<x: int, y: date>", "wider"),
    ('type: "struct<x: int not null>"', 'type: "struct<x: int>"', "struct<x: int>", "wider"),
    ('type: "struct<x: int, y: int>"', 'type: "struct<y: int, x: int>"', "struct<y: int, x: int>", "wider"),
    ('type: "array<struct<x: map<string,int>>>"', 'type: "array<struct<x: map<string,long>>>"', "long", "wider"),
    ("type: int, required: true", "type: int", "required → optional", LOOSER),
    ("type: int", "type: int, about: The a.", "about changed", "only the comment of the column"),
    ("type: int, min: 2", "type: int, min: 1", "min 2 → 1", LOOSER),
    ("type: int, min: 1", "type: int, min: 2", "min 1 → 2", STRICTER),
    ("type: int, min: 1", "type: int", "min 1 → none", LOOSER),
    ("type: int", "type: int, min: 1", "min none → 1", STRICTER),
    ("type: int, max: 1", "type: int, max: 2", "max 1 → 2", LOOSER),
    ("type: int, max: 2", "type: int, max: 1", "max 2 → 1", STRICTER),
    ("type: timestamp, min: 2020-01-01T00:00:00Z", "type: timestamp, min: 2019-01-01T00:00:00Z", "min 2020", LOOSER),
    ("type: date, max: 2020-01-01", "type: date, max: 2019-01-01", "max 2020", STRICTER),
    ('type: "decimal(9,2)", max: 9.5', 'type: "decimal(9,2)", max: 10', "max 9.5 → 10", LOOSER),
    ("type: string, one_of: [x]", "type: string, one_of: [x, y]", "one_of x → x, y", LOOSER),
    ("type: string, one_of: [x, y]", "type: string, one_of: [x]", "one_of x, y → x", STRICTER),
    ("type: string, one_of: [x]", "type: string, one_of: [y]", "one_of x → y", "another rule: for new records only"),
    ("type: string", "type: string, one_of: [x]", "one_of none → x", STRICTER),
    ("type: string, pattern: x", "type: string", "pattern x → none", LOOSER),
    ("type: string", "type: string, pattern: x", "pattern none → x", STRICTER),
    ("type: string, pattern: x", "type: string, pattern: y", "pattern x → y", "another rule: for new records only"),
    ("type: string, min_length: 2", "type: string, min_length: 1", "min_length 2 → 1", LOOSER),
    ("type: string, min_length: 1", "type: string, min_length: 2", "min_length 1 → 2", STRICTER),
    ("type: string, max_length: 1", "type: string, max_length: 2", "max_length 1 → 2", LOOSER),
    ("type: string, max_length: 2", "type: string, max_length: 1", "max_length 2 → 1", STRICTER),
    ("type: date, not_after_arrival: 1h", "type: date, not_after_arrival: 2h", "1h → 2h", LOOSER),
    ("type: date, not_after_arrival: 1d", "type: date, not_after_arrival: 23h", "1d → 23h", STRICTER),
    ("type: date, not_after_arrival: 1h", "type: date", "not_after_arrival 1h → none", LOOSER),
]


@pytest.mark.parametrize(("old", "new", "what", "why"), SAFE)
def test_a_safe_change_of_a_field_is_told_with_its_reason(old: str, new: str, what: str, why: str) -> None:
    change = field_change(old, new)
    assert (change.where, change.is_safe, change.way_out) == ("fields.a", True, "")
    assert what in change.what
    assert change.why.startswith(why)


REFUSED = [
    ("type: long", "type: int", "type long → int", "stored values of long are not values of int", ASIDE),
    ("type: double", "type: float", "type double → float", "stored values of double", ASIDE),
    ("type: int", "type: double", "type int → double", "stored values of int are not values of double", ASIDE),
    ("type: string", 'type: "decimal(10,2)"', "type string →", "stored values of string are not values", ASIDE),
    ("type: date", "type: timestamp", "type date → timestamp", "stored values of date are not values", ASIDE),
    ('type: "decimal(12,2)"', 'type: "decimal(10,2)"', "type", "stored values may have more digits", ASIDE),
    ('type: "decimal(10,2)"', 'type: "decimal(12,4)"', "type", "the number of digits after the point", ASIDE),
    ('type: "array<long>"', 'type: "array<int>"', "type", "stored values of long are not values of int", ASIDE),
    ('type: "array<int>"', "type: int", "type", "stored values of array<int> are not values of int", ASIDE),
    ('type: "map<string,int>"', 'type: "map<string,string>"', "type", "a map of strings keeps any scalar", ASIDE),
    ('type: "struct<x: int, y: int>"', 'type: "struct<x: int>"', "type", "its member `y` would go", ASIDE),
    ('type: "struct<x: int>"', 'type: "struct<x: int, y: int not null>"', "type", "have no member `y`", ASIDE),
    ('type: "struct<x: int>"', 'type: "struct<x: int not null>"', "type", "may have null for `x`", ASIDE),
    ('type: "struct<x: long>"', 'type: "struct<x: int>"', "type", "`x`: stored values of long", ASIDE),
    ("type: int", "type: int, required: true", "optional → required", "stored rows may hold null", "check for null in"),
    ("type: int", "type: int, from: B", "read from a → B", "records that still say the old name", ASIDE),
    ("type: int, from: B", "type: int", "read from B → a", "records that still say the old name", ASIDE),
    ("type: timestamp", "type: timestamp, zone: UTC", "zone none → UTC", "would not mean the same", ASIDE),
    (
        "type: timestamp, zone: UTC",
        "type: timestamp, zone: Asia/Tokyo",
        "zone UTC → Asia/Tokyo",
        "would not mean",
        ASIDE,
    ),
    ("type: date", 'type: date, format: "%d/%m/%Y"', "format none → %d/%m/%Y", "would not mean the same", ASIDE),
    ("type: int, min: 1", "type: date, min: 2020-01-01", "type int → date", "stored values of int", ASIDE),
]


@pytest.mark.parametrize(("old", "new", "what", "why", "way_out"), REFUSED)
def test_any_other_change_of_a_field_is_refused_with_a_way_out(
    old: str, new: str, what: str, why: str, way_out: str
) -> None:
    change = field_change(old, new)
    assert (change.where, change.is_safe) == ("fields.a", False)
    assert what in change.what
    assert why in change.why
    assert change.way_out.startswith(way_out)


def test_a_long_list_of_values_is_shortened() -> None:
    values = ", ".join(f"value_{number}" for number in range(50))
    change = field_change("type: string", f"type: string, one_of: [{values}]")
    assert len(change.what) < 90
