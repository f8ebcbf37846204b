"""Fields that come, go or get another name; and changes of the other parts of a contract."""

from __future__ import annotations

import pytest
from contract_texts import MINIMAL, changes, contract, the_change, with_fields

from smelter.contracts.diff import Change, compare

STRICTER = "stricter: for new records only, what is stored stays as it is"


def test_an_optional_field_can_be_added_anywhere() -> None:
    change = the_change("a: {type: int}", "b: {type: date} | a: {type: int}")
    assert change == Change("fields.b", "added, date", True, "old rows have null")


def test_an_added_field_may_have_been_ignored_before() -> None:
    change = the_change("a: {type: int}", "a: {type: int} | b: {type: date}", more="unknown_fields: ignore\n")
    assert change.is_safe
    assert "taken with another value under this name" in change.why
    assert change.refuses_what_passed


def test_a_new_member_of_a_struct_may_have_been_ignored_before() -> None:
    old, new = 'a: {type: "struct<x: int>"}', 'a: {type: "struct<x: int, y: int>"}'
    assert the_change(old, new, more="unknown_fields: ignore\n").refuses_what_passed
    assert not the_change(old, new).refuses_what_passed


def test_a_required_field_cannot_be_added() -> None:
    change = the_change("a: {type: int}", "a: {type: int} | b: {type: int, required: true}")
    assert (change.where, change.what, change.is_safe) == ("fields.b", "added as required", False)
    assert change.why == "rows that are already stored have no value for it"
    assert change.way_out == "add it as optional, and check for null in silver"


def test_a_field_cannot_take_the_name_of_one_that_is_there() -> None:
    change, _ = changes("a: {type: int} | b: {type: int}", "b: {type: int, was: a}", dropped=("a",))
    assert (change.where, change.what, change.is_safe) == ("fields.b", "renamed from a", False)
    assert change.way_out == "drop b in a version of its own first"


def test_a_field_that_is_dropped_by_name_may_go() -> None:
    change = the_change("a: {type: int} | b: {type: int}", "a: {type: int}", dropped=("b",))
    assert (change.where, change.what, change.is_safe) == ("fields.b", "dropped", True)


def test_a_field_cannot_be_removed() -> None:
    change = the_change("a: {type: int} | b: {type: int}", "a: {type: int}")
    assert (change.where, change.what, change.is_safe) == ("fields.b", "removed", False)
    assert change.way_out == "keep it, as an optional field; or say `was: b` at its new name; or --drop b"


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
        ("", "bronze: {keep_rows: 9d}\n", "bronze", "from the next maintenance on"),
        ("bronze: {keep_rows: 9d}\n", "", "bronze", "from the next maintenance on"),
    ],
)
def test_a_safe_change_of_a_section_is_told(old: str, new: str, where: str, why: str) -> None:
    change = the_change(PART, PART, more=old, more_new=new)
    assert (change.where, change.is_safe, change.why) == (where, True, why)


@pytest.mark.parametrize(
    ("old", "new", "what", "why"),
    [
        ("", "pause_at: 20%", "pause_at changed", "from the next batch on"),
        ("pause_at: 20%", "pause_at: 20%, over: 5 records", "over changed", "from the next batch on"),
        ("pause_at: 20%", "", "pause_at changed", "from the next batch on"),
        ("", "keep: 30d", "keep changed", "from the next night on"),
        ("auto_replay: true", "", "auto_replay changed", "from the next night on"),
        (
            "pause_at: 0.2, auto_replay: true",
            "pause_at: 0.3, over: 9 records, keep: 1d",
            "pause_at, over, keep, auto_replay changed",
            "from the next batch on and from the next night on",
        ),
    ],
)
def test_another_way_with_dead_letters_is_always_safe(old: str, new: str, what: str, why: str) -> None:
    more, more_new = (f"dead_letters: {{{words}}}\n" for words in (old, new))
    change = the_change(PART, PART, more=more, more_new=more_new)
    assert change == Change("dead_letters", what, True, why)


def test_what_dead_letters_have_by_themselves_is_the_same_whether_it_is_said_or_not() -> None:
    said = contract(MINIMAL + "dead_letters: {pause_at: null, keep: null, auto_replay: false}\n")
    assert compare(contract(MINIMAL), said) == []


@pytest.mark.parametrize(
    ("new", "what"),
    [
        ("silver: {key: [t], event_time: t}\n", "key changed"),
        ("silver: {key: [a], event_time: u}\n", "event_time changed"),
        ("silver: {key: [a], event_time: t, columns: {b: upper(a)}}\n", "columns changed"),
        (
            "silver: {key: [a], event_time: t, on_duplicate: keep_latest, order_by: u}\n",
            "on_duplicate, order_by changed",
        ),
        ("", "removed"),
    ],
)
def test_another_silver_is_safe_and_says_what_becomes_of_it(new: str, what: str) -> None:
    change = the_change(PART, PART, more="silver: {key: [a], event_time: t}\n", more_new=new)
    assert (change.where, change.what, change.is_safe) == ("silver", what, True)
    assert ("rebuilt once" in change.why) == (what != "removed")


def test_how_long_silver_keeps_its_rows_is_no_reason_to_rebuild_it() -> None:
    change = the_change(PART, PART, more="silver: {key: [a]}\n", more_new="silver: {key: [a], keep_rows: 9d}\n")
    assert change == Change("silver", "keep_rows none → 9d", True, "from the next maintenance on")


def test_silver_follows_a_renamed_field() -> None:
    change = the_change(
        "a: {type: string}", "b: {type: string, was: a}", more="silver: {key: [a]}\n", more_new="silver: {key: [b]}\n"
    )
    assert change.what == "renamed from a"


def test_what_becomes_of_read_files_can_be_changed() -> None:
    old = contract(with_fields("a: {type: int}"))
    text = with_fields("a: {type: int}", version=2)
    new = contract(text.replace("{files: landing/things}", "{files: landing/things, after_commit: archive}"))
    (change,) = compare(old, new)
    assert (change.where, change.what, change.is_safe) == ("source.after_commit", "keep → archive", True)


@pytest.mark.parametrize(
    ("before", "after", "what", "why"),
    [
        ("", ", every: 15m", "none → 15m", "drained on this timetable, and no stream"),
        (", every: 15m", ", every: 1h", "15m → 1h", "drained on this timetable, and no stream"),
        (", every: 15m", "", "15m → none", "a stream that runs on and on"),
    ],
)
def test_another_timetable_is_always_safe(before: str, after: str, what: str, why: str) -> None:
    old = contract(with_fields("a: {type: int}").replace("landing/things", f"landing/things{before}"))
    new = contract(with_fields("a: {type: int}", version=2).replace("landing/things", f"landing/things{after}"))
    (change,) = compare(old, new)
    assert (change.where, change.what, change.is_safe, change.why) == ("source.every", what, True, why)


def test_no_timetable_is_the_same_whether_it_is_said_or_not() -> None:
    old, new = contract(MINIMAL), contract(MINIMAL.replace("landing/things", "landing/things, every: null"))
    assert old == new
    assert compare(old, new) == []


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
