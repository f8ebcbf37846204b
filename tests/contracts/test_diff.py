"""Which change to a contract is safe? The list of the design, and everything else refused with a way out."""

from __future__ import annotations

import pytest
from contract_texts import contract, with_fields

from smelter.contracts.diff import Change, compare

ASIDE = "add a new optional field beside it and fill both until nobody needs the old one"
LOOSER = "looser: every stored value is still right"
STRICTER = "stricter: for new records only, what is stored stays as it is"


def changes(old: str, new: str, *, more: str = "", more_new: str | None = None) -> list[Change]:
    """The changes from one list of fields (separated by ` | `) to another, with the next version."""
    before = contract(with_fields(*old.split(" | "), more=more))
    after = contract(with_fields(*new.split(" | "), version=2, more=more if more_new is None else more_new))
    return compare(before, after)


def the_change(old: str, new: str, **more: str) -> Change:
    (change,) = changes(old, new, **more)
    return change


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


def test_an_optional_field_can_be_added_anywhere() -> None:
    change = the_change("a: {type: int}", "b: {type: date} | a: {type: int}")
    assert change == Change("fields.b", "added, date", True, "old rows have null")


def test_an_added_field_may_have_been_ignored_before() -> None:
    change = the_change("a: {type: int}", "a: {type: int} | b: {type: date}", more="unknown_fields: ignore\n")
    assert change.is_safe
    assert "taken with another value under this name" in change.why


def test_a_required_field_cannot_be_added() -> None:
    change = the_change("a: {type: int}", "a: {type: int} | b: {type: int, required: true}")
    assert (change.where, change.what, change.is_safe) == ("fields.b", "added as required", False)
    assert change.why == "rows that are already stored have no value for it"
    assert change.way_out == "add it as optional, and check for null in silver"


def test_a_field_cannot_be_removed() -> None:
    change = the_change("a: {type: int} | b: {type: int}", "a: {type: int}")
    assert (change.where, change.what, change.is_safe) == ("fields.b", "removed", False)
    assert change.way_out == "keep it, as an optional field; if it has a new name, say `was: b` there"


def test_another_order_of_fields_is_safe() -> None:
    change = the_change("a: {type: int} | b: {type: int}", "b: {type: int} | a: {type: int}")
    assert change == Change("fields", "another order", True, "only the order of the columns")


def test_a_rename_is_safe_and_says_what_records_must_say() -> None:
    change = the_change("a: {type: int}", "b: {type: int, was: a}")
    assert (change.where, change.what, change.is_safe) == ("fields.b", "renamed from a", True)
    assert change.why == "the column keeps its values; records must say `b` from now on, or the contract `from: a`"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a: {type: int}", "b: {type: int, was: a, from: a}"),
        ("a: {type: int, from: X}", "b: {type: int, was: a, from: X}"),
        ("a: {type: int, from: b}", "b: {type: int, was: a}"),
    ],
)
def test_a_rename_under_which_records_stay_the_same_is_safe(old: str, new: str) -> None:
    change = the_change(old, new)
    assert change.is_safe
    assert "records go on saying" in change.why


def test_a_rename_that_would_drop_values_in_silence_is_refused() -> None:
    change = the_change("a: {type: int}", "b: {type: int, was: a}", more="unknown_fields: ignore\n")
    assert not change.is_safe
    assert "would lose the value in silence" in change.why
    assert change.way_out == "say `from: a` too"


def test_a_rename_that_reads_another_name_is_refused() -> None:
    change = the_change("a: {type: int, from: X}", "b: {type: int, was: a, from: Y}")
    assert (change.what, change.is_safe) == ("read from X → Y", False)


def test_a_renamed_field_is_compared_with_what_it_was() -> None:
    found = changes("a: {type: long} | z: {type: int}", "z: {type: int} | b: {type: int, was: a, from: a}")
    assert [(change.what, change.is_safe) for change in found] == [
        ("renamed from a", True),
        ("type long → int", False),
        ("another order", True),
    ]


def test_a_rename_of_nothing_is_refused() -> None:
    change = the_change("a: {type: int}", "a: {type: int} | b: {type: int, was: c}")
    assert (change.is_safe, change.why) == (False, "it says `was: c`, and there is no such field")


def test_a_rename_that_was_done_before_is_no_change() -> None:
    text = with_fields("b: {type: int, was: a}")
    assert compare(contract(text), contract(text)) == []


PART = "a: {type: string} | t: {type: timestamp} | u: {type: timestamp}"


@pytest.mark.parametrize(
    ("old", "new", "where", "why"),
    [
        ("", "about: More.\n", "about", "only the comment of the tables"),
        ("", "unknown_fields: ignore\n", "unknown_fields", "looser: fewer dead letters"),
        ("unknown_fields: ignore\n", "", "unknown_fields", STRICTER),
        ("", "bronze: {partition_by: [days(t)]}\n", "bronze", "new files only; old ones stay where they are"),
        ("", "silver: {key: [a]}\n", "silver", "silver begins with the first row of bronze"),
        ("", "maintenance: {snapshots: 7d}\n", "maintenance", "from the next maintenance on"),
    ],
)
def test_a_safe_change_of_a_section_is_told(old: str, new: str, where: str, why: str) -> None:
    change = the_change(PART, PART, more=old, more_new=new)
    assert (change.where, change.is_safe, change.why) == (where, True, why)


@pytest.mark.parametrize(
    ("new", "what"),
    [
        ("silver: {key: [t], event_time: t}\n", "key changed"),
        ("silver: {key: [a], event_time: u}\n", "event_time changed"),
        ("silver: {key: [a], event_time: t, event_time_stable: true}\n", "event_time_stable changed"),
        (
            "silver: {key: [a], event_time: t, on_duplicate: keep_latest, order_by: u}\n",
            "on_duplicate, order_by changed",
        ),
        ("", "removed"),
    ],
)
def test_silver_that_was_merged_under_other_words_cannot_change(new: str, what: str) -> None:
    change = the_change(PART, PART, more="silver: {key: [a], event_time: t}\n", more_new=new)
    assert (change.where, change.what, change.is_safe) == ("silver", what, False)
    assert change.way_out == "make a new dataset that reads the same files, and let its silver take over"


def test_silver_follows_a_renamed_field() -> None:
    change = the_change(
        "a: {type: string}", "b: {type: string, was: a}", more="silver: {key: [a]}\n", more_new="silver: {key: [b]}\n"
    )
    assert change.what == "renamed from a"


def test_another_source_is_refused() -> None:
    old = contract(with_fields("a: {type: int}"))
    new = contract(with_fields("a: {type: int}", version=2).replace("landing/things", "landing/others"))
    (change,) = compare(old, new)
    assert (change.where, change.what, change.is_safe) == ("source", "landing/things → landing/others", False)
    assert change.way_out == "make a new dataset for the new source"


def test_another_dataset_is_refused() -> None:
    old = contract(with_fields("a: {type: int}"))
    (change,) = compare(
        old, contract(with_fields("a: {type: int}", version=2).replace("dataset: things", "dataset: others"))
    )
    assert (change.where, change.is_safe) == ("dataset", False)
    assert change.way_out == "make a new contract for the new dataset"


@pytest.mark.parametrize("version", [1, 3, 4])
def test_a_change_has_the_next_version(version: int) -> None:
    old = contract(with_fields("a: {type: int}", version=2))
    first, second = compare(old, contract(with_fields("a: {type: long}", version=version if version != 3 else 5)))
    assert (first.where, first.is_safe, first.way_out) == ("version", False, "write version: 3")
    assert second.is_safe


def test_a_new_version_has_a_change() -> None:
    (change,) = compare(contract(with_fields("a: {type: int}")), contract(with_fields("a: {type: int}", version=2)))
    assert (change.where, change.why, change.way_out) == ("version", "nothing else changed", "write version: 1")


def test_every_refusal_has_a_reason_and_a_way_out() -> None:
    everything = changes("a: {type: long, from: X} | b: {type: int}", "a: {type: int} | c: {type: int, required: true}")
    assert [change.is_safe for change in everything] == [False] * 4
    assert all(change.why and change.way_out for change in everything)


def test_a_long_list_of_values_is_shortened() -> None:
    values = ", ".join(f"value_{number}" for number in range(50))
    change = field_change("type: string", f"type: string, one_of: [{values}]")
    assert len(change.what) < 90
