"""A changed contract reaches silver: columns at the next run, keys and derived columns by a rebuild."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import Make
from things import FIELDS, FIRST, LATEST, STABLE, Things, contract_of, moment, recomputed

from smelter.errors import Refused
from smelter.lake.derived import evolve
from smelter.lake.home import BRONZE, SILVER
from smelter.lake.tables import load_table
from smelter.silver.definition import origins, properties_of, wanted_schema
from smelter.silver.standing import standing_of


def some(*ids: str, **more: Any) -> list[dict[str, Any]]:
    return [{"id": one, "region": 1, "at": moment(3), "seq": 1, **more} for one in ids]


def change(things: Things, silver: str, fields: str = FIELDS, drop: tuple[str, ...] = ()) -> None:
    version = things.contract.version + 1
    things.become(contract_of(silver, name=things.name, version=version, fields=fields), drop)


def column_names(things: Things) -> list[str]:
    return [field.name for field in load_table(things.lake, SILVER, things.name).schema().fields]


def test_a_new_column_reaches_silver_also_when_no_row_came(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a"))
    things.build()
    change(things, FIRST, FIELDS + "  more: {type: string}\n")
    assert things.build().columns_changed
    assert column_names(things)[5] == "more"
    things.arrive(some("b", more="x"))
    things.build()
    assert [row["more"] for row in things.silver()] == [None, "x"]
    assert things.silver() == recomputed(things)


def test_columns_that_came_after_the_last_row_are_there_in_a_first_run(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a", text="x"))
    renamed = FIELDS.replace("text:   {type: string}", "words: {type: string, was: text}") + "  more: {type: int}\n"
    change(things, FIRST, renamed)
    things.build()
    assert [(row["words"], row["more"]) for row in things.silver()] == [("x", None)]


def test_a_changed_column_is_seen_by_who_reads_silver_at_a_snapshot(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a"))
    things.build()
    change(things, FIRST, FIELDS + "  more: {type: string}\n")
    things.build()
    table = load_table(things.lake, SILVER, things.name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.schema_id == table.schema().schema_id
    assert things.build().taken == ()


def test_a_renamed_column_keeps_its_values_and_needs_no_rebuild(make: Make) -> None:
    things = make(FIRST + ", columns: {loud: 'upper(text)'}")
    things.arrive(some("a", text="x"))
    things.build()
    renamed = FIELDS.replace("text:   {type: string}", "words: {type: string, was: text}")
    change(things, FIRST + ", columns: {loud: 'upper(words)'}", renamed)
    things.arrive(some("b", words="y"))
    things.build()
    assert [(row["words"], row["loud"]) for row in things.silver()] == [("x", "X"), ("y", "Y")]


def test_a_column_that_was_dropped_and_came_back_has_none_of_its_old_values(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a", text="old"))
    things.build()
    without = FIELDS.replace("  text:   {type: string}\n", "")
    change(things, FIRST, without, drop=("text",))
    things.build()
    assert "text" not in column_names(things)
    change(things, FIRST)
    things.arrive(some("b", text="new"))
    things.build()
    assert [row["text"] for row in things.silver()] == [None, "new"]


def test_a_changed_key_asks_for_a_rebuild_which_is_one_commit(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a", "b") + some("a", region=2))
    things.build()
    change(things, FIRST.replace("[id, region]", "[id]"))
    before = things.snapshots()
    standing = standing_of(things.lake, things.name)
    assert standing is not None
    assert standing.rebuild_due == ("its key",)
    with pytest.raises(Refused, match="its key changed") as told:
        things.build()
    assert "--rebuild" in told.value.next_step
    assert things.snapshots() == before
    things.build(rebuild=True)
    assert len(things.snapshots()) == len(before) + 1
    assert things.silver() == recomputed(things)
    assert len(things.silver()) == 2
    things.arrive(some("c"))
    report = things.build()
    assert not report.columns_changed
    assert things.silver() == recomputed(things)


@pytest.mark.parametrize(
    "after", ["columns: {number: 'try_cast(text as double)'}", "columns: {digits: 'length(text)'}"]
)
def test_a_changed_derived_column_is_rebuilt_with_its_new_type(make: Make, after: str) -> None:
    things = make(FIRST + ", columns: {number: 'try_cast(text as int)'}")
    things.arrive(some("a", text="7"))
    things.build()
    change(things, f"{FIRST}, {after}")
    with pytest.raises(Refused, match="derived columns"):
        things.build()
    things.build(rebuild=True)
    things.arrive(some("b", text="8"))
    things.build()
    name = "number" if "number" in after else "digits"
    assert [row[name] for row in things.silver()] == ([7.0, 8.0] if name == "number" else [1, 1])


def test_a_wider_field_under_a_derived_column_asks_for_a_rebuild(make: Make) -> None:
    silver = FIRST + ", columns: {twice: 'region + region'}"
    things = make(silver)
    things.arrive(some("a"))
    things.build()
    change(things, silver, FIELDS.replace("region: {type: int}", "region: {type: long}"))
    with pytest.raises(Refused, match="derived columns"):
        things.build()
    things.build(rebuild=True)
    things.arrive(some("b", region=3_000_000_000))
    things.build()
    assert [row["twice"] for row in things.silver()] == [2, 6_000_000_000]


def test_columns_that_a_killed_run_changed_get_their_snapshot_from_the_next(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a"))
    things.build()
    change(things, FIRST, FIELDS + "  more: {type: string}\n")
    table, bronze = load_table(things.lake, SILVER, things.name), load_table(things.lake, BRONZE, things.name)
    contract = things.contract
    evolve(table, wanted_schema(table, contract), origins(table, contract, bronze), properties_of(contract, bronze))
    things.build()
    table = load_table(things.lake, SILVER, things.name)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.schema_id == table.schema().schema_id


def test_a_promise_about_time_changes_without_a_rebuild(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a"))
    things.build()
    change(things, STABLE)
    things.arrive(some("a", "b"))
    things.build()
    assert things.silver() == recomputed(things)


def test_keep_first_becomes_keep_latest_by_a_rebuild(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a", seq=1) + some("a", seq=2))
    things.build()
    change(things, LATEST)
    things.build(rebuild=True)
    assert [row["seq"] for row in things.silver()] == [2]


def test_casts_that_fail_are_counted(make: Make) -> None:
    things = make(FIRST + ", columns: {number: 'try_cast(text as int)', other: 'coalesce(try_cast(text as int), 0)'}")
    things.arrive(some("a", text="7") + some("b", text="seven") + some("c", text="8x") + some("d"))
    assert things.build().failed_casts == {"number": 2, "other": 2}


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("at - at", "silver.columns: odd would have the type interval day to second, which tables do not keep"),
        ("null", "silver.columns: odd would have the type void, which tables do not keep"),
        ("try_cast(seq as smallint)", "silver.columns: odd would have the type smallint, which tables do not keep"),
        ("array(struct(seq, seq))", "silver.columns: odd would have two members `seq`, which tables do not keep"),
        ("named_struct('a', 1, 'A', 2)", "silver.columns: odd would have two members `A`, which tables do not keep"),
    ],
)
def test_a_first_build_and_a_rebuild_refuse_the_same_columns_before_anything_is_written(
    make: Make, expression: str, said: str
) -> None:
    odd = FIRST + f', columns: {{odd: "{expression}"}}'
    fresh, built = make(odd), make(FIRST)
    for things in (fresh, built):
        things.arrive(some("a"))
    built.build()
    before = load_table(built.lake, SILVER, built.name).metadata_location
    change(built, odd)
    for things, rebuild in ((fresh, False), (fresh, True), (built, True)):
        with pytest.raises(Refused) as refused:
            things.build(rebuild=rebuild)
        assert refused.value.what == said
    assert fresh.snapshots() == []
    assert load_table(built.lake, SILVER, built.name).metadata_location == before


def test_no_column_of_silver_can_have_the_name_of_a_partition_that_it_has_or_had(make: Make) -> None:
    things = make(FIRST)
    things.arrive(some("a"))
    things.build()
    later, renamed = FIRST.replace("at", "moment"), FIELDS.replace("at:     {", "moment: {was: at, from: at, ")
    change(things, later, renamed)
    things.build()
    before = load_table(things.lake, SILVER, things.name).metadata_location
    kept = renamed.replace("was: at, ", "")
    change(things, later, kept + "  at_day: {type: string}\n")
    for rebuild in (False, True):
        with pytest.raises(Refused, match="there cannot be a column `at_day`: silver") as refused:
            things.build(rebuild=rebuild)
        assert "`was: at_day`" in refused.value.next_step
    assert load_table(things.lake, SILVER, things.name).metadata_location == before
    change(things, later, kept + "  of_day: {type: string, was: at_day, from: at_day}\n")
    things.arrive([{**one, "at_day": "x"} for one in some("b")])
    things.build()
    assert [row["of_day"] for row in things.silver()] == [None, "x"]
    change(things, later + ", columns: {at_day: 'text'}", kept + "  of_day: {type: string, from: at_day}\n")
    with pytest.raises(Refused, match="there cannot be a column `at_day`"):
        things.build(rebuild=True)


def test_a_contract_without_silver_says_so(make: Make) -> None:
    things = make("")
    things.arrive(some("a"))
    with pytest.raises(Refused, match="no `silver:`"):
        things.build()
