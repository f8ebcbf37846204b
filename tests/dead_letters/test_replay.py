"""Letters that are good now go home, each once and as the record that it always was; the others stay what they are."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from boxes import BAD, COUPONED, GOOD, Box, orders

from smelter.dead_letters import letters as letters_module
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters
from smelter.dead_letters.replay import Wishes, replay, worth_a_try
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import load_table
from smelter.settings import Settings

NOT_TEXT = b'{"id": 5, "note": "\xff"}'


def test_a_record_comes_home_under_the_identity_and_arrival_that_it_always_had(box: Box) -> None:
    box.arrive("a.json", GOOD, COUPONED)
    box.become()
    (letter,) = box.letters()
    run = box.replayed()
    rows = load_table(box.lake, BRONZE, box.name).scan(f"_batch = '{run}'").to_arrow().to_pylist()
    (row,) = rows
    assert {name: row[name] for name in ("id", "note", "coupon")} == {"id": 2, "note": None, "coupon": "SPRING"}
    kept = ("_source", "_position", "_arrived_at")
    assert [row[name] for name in kept] == [letter[name] for name in kept]
    (told,) = box.resolutions()
    assert (row["_contract"], row["_ingested_at"]) == ("orders@2", told["resolved_at"])
    assert (told["action"], told["outcome"], told["run"], told["contract"]) == ("replay", "replayed", run, "orders@2")
    assert row["_ingested_at"] > letter["_ingested_at"]
    box.check()


def test_a_second_replay_finds_nothing_to_do(box: Box) -> None:
    box.arrive("a.json", GOOD, COUPONED)
    box.become()
    assert box.replay().recovered == 1
    before = box.state()
    again = box.replay()
    assert (again.run, again.recovered, again.still_open) == (None, 0, 0)
    assert box.state() == before


def test_a_letter_that_always_fails_has_one_more_attempt_each_time_and_nothing_else_changes(box: Box) -> None:
    box.arrive("a.json", GOOD, BAD, b'{"id": ', NOT_TEXT, "[1]")
    before, wrongs = box.rows(), box.wrongs()
    for attempt in (1, 2, 3):
        found = box.replay()
        assert (found.recovered, found.still_open) == (0, 4)
        assert set(box.attempts().values()) == {attempt}
        assert (box.rows(), box.wrongs()) == (before, wrongs)
        assert set(box.statuses().values()) == {"open"}
        box.check()
    assert len(box.resolutions()) == 12


def test_a_letter_that_fails_again_tells_what_the_newest_contract_found(box: Box) -> None:
    box.arrive("a.json", COUPONED)
    box.become(fields="  coupon: {type: int}\n")
    box.replay()
    (letter,) = box.letters()
    assert (letter["reason"], letter["judged_by"], letter["_contract"]) == ("wrong_type", "orders@2", "orders@1")
    assert [error["field"] for error in letter["errors"]] == ["coupon"]
    assert letter["raw"] == '{"id": 2, "coupon": "SPRING"}'


def test_only_letters_that_are_meant_are_tried(box: Box) -> None:
    box.arrive("a.json", COUPONED, BAD)
    box.arrive("b.json", COUPONED)
    box.become()
    assert box.replay(source="b.json").recovered == 1
    assert box.attempts() == {("a.json", 0): 0, ("a.json", 1): 0, ("b.json", 0): 1}
    box.check()


def test_an_undone_replay_can_be_done_again_with_the_same_result(box: Box) -> None:
    box.arrive("a.json", GOOD, COUPONED, BAD)
    box.become()
    before = box.rows(), box.wrongs()
    run = box.replayed()
    first = box.rows(), box.wrongs()
    box.undo(run)
    assert (box.rows(), box.wrongs()) == before
    again = box.replayed()
    assert again != run
    assert (box.rows(), box.wrongs()) == first
    assert box.attempts() == {("a.json", 1): 2, ("a.json", 2): 2}
    box.check()


def test_moments_of_runs_and_batches_only_grow(box: Box) -> None:
    for number in range(3):
        box.arrive(f"{number}.json", COUPONED)
        box.replay()
    box.become()
    box.undo(box.replayed())
    runs = [row["resolved_at"] for row in box.resolutions()]
    assert len(set(runs)) == 5
    assert runs == sorted(runs)
    rows = load_table(box.lake, BRONZE, box.name).scan().to_arrow().to_pylist()
    assert rows == []


def test_runs_over_one_dataset_leave_another_alone(lake: Lake) -> None:
    first, second = Box(lake), Box(lake, orders(dataset="others"))
    for box in (first, second):
        box.arrive("a.json", GOOD, COUPONED)
        box.become()
    before = second.state()
    run = first.replayed()
    first.undo(run)
    first.discard()
    assert second.state() == before
    assert second.replay().recovered == 1
    assert first.statuses() == {("a.json", 1): "discarded"}
    for box in (first, second):
        box.check()


def test_a_nightly_replay_tries_no_letter_that_the_active_contract_has_refused(box: Box) -> None:
    box.arrive("a.json", COUPONED, BAD)
    _, why = worth_a_try(box.lake, box.name, Filters())
    assert why.startswith("orders@1 does not say auto_replay: true; nothing was replayed; smelt dlq replay orders")
    rest = "dead_letters: {auto_replay: true}\n"
    box.become(fields="", rest=rest)
    filters, why = worth_a_try(box.lake, box.name, Filters())
    assert why == ""
    found = replay(box.lake, box.name, filters, box.limits, Wishes(only_passing=True))
    assert (found.recovered, found.still_open, found.run) == (0, 2, None)
    assert set(box.attempts().values()) == {0}, "a letter that fails gets no attempt"
    box.replay()
    found = replay(box.lake, box.name, filters, box.limits, Wishes(only_passing=True))
    assert (found.recovered, found.still_open) == (0, 0), "orders@2 has refused both"
    box.become(version=3, rest=rest)
    filters, _ = worth_a_try(box.lake, box.name, Filters())
    found = replay(box.lake, box.name, filters, box.limits, Wishes(only_passing=True))
    assert (found.recovered, found.still_open) == (1, 1)
    box.check()


def test_many_letters_are_judged_in_several_processes_with_the_same_result(box: Box, tmp_path: Path) -> None:
    other = Box(Lake.at(Settings(lake=tmp_path / "other")))
    for one in (box, other):
        for number in range(3):
            one.arrive(f"{number}.json", GOOD, COUPONED, BAD)
        one.become()
    wishes = Wishes(here_letters=0)
    found = replay(box.lake, box.name, Filters(), box.limits, wishes)
    assert (found.passed, found.failed) == ({"unknown_field": 3}, {"wrong_type": 3})
    other.replay()
    assert box.state() == other.state()
    box.check()


@pytest.mark.parametrize("processes", [1, 2, 3, 7])
def test_shares_hold_each_letter_once(box: Box, processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(letters_module, "PIECE_ROWS", 4)
    for number in range(3):
        box.arrive(f"{number}.json", *({"id": f"x{at}"} for at in range(9)))
    box.discard(source="1.json")
    with Letters(box.lake, box.name) as letters:
        shares = letters.shares(processes)
        assert len(shares) == processes
        found = [
            name for share in shares for part in letters.whole(Filters(), share) for name in part["_id"].to_pylist()
        ]
    assert len(found) == 18
    assert sorted(found) == sorted(one["_id"] for one in box.letters() if one["status"] == "open")


def test_letters_since_a_moment_are_those_that_were_written_from_then_on(box: Box) -> None:
    box.arrive("a.json", COUPONED)
    between = datetime.now(UTC)
    box.arrive("b.json", COUPONED)
    box.become()
    assert box.plan(since=between).letters == box.plan(until=between).letters == 1
    assert box.replay(until=between).recovered == 1
    assert box.statuses() == {("a.json", 0): "replayed", ("b.json", 0): "open"}
