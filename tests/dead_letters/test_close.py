"""Letters are edited, discarded and retired, and what was done is undone; each record stays in exactly one place."""

from __future__ import annotations

import time
from typing import Any

import pytest
from boxes import BAD, COUPONED, GOOD, Box

from smelter.errors import Refused
from smelter.lake.home import BRONZE
from smelter.lake.lease import lease
from smelter.lake.tables import load_table
from smelter.ledger.standing import standing_of
from smelter.ledger.trace import trace
from smelter.records import Limits

KEEP = "dead_letters: {keep: 1s}\n"


@pytest.fixture
def box(box: Box) -> Box:
    box.arrive("a.json", GOOD, COUPONED, BAD)
    return box


def found(box: Box, position: int) -> str:
    return trace(box.lake, box.name, box.source("a.json"), position).found


def test_a_corrected_letter_goes_home_and_the_original_stays_in_the_history(box: Box) -> None:
    done = box.edit("a.json", 2, {"id": 3, "note": "é"}, because="it was a text")
    rows = load_table(box.lake, BRONZE, box.name).scan(f"_batch = '{done.run}'").to_arrow().to_pylist()
    assert [(row["id"], row["note"], row["_position"]) for row in rows] == [(3, "é", 2)]
    assert done.run.startswith("edit:")
    letter = next(one for one in box.letters() if one["_position"] == 2)
    assert (letter["status"], letter["raw"], letter["attempts"]) == ("edited", '{"id": "not a number"}', 1)
    (told,) = box.resolutions()
    assert (told["outcome"], told["raw"], told["because"]) == ("edited", '{"id": 3, "note": "é"}', "it was a text")
    assert found(box, 2) == "accepted, after it was a dead letter: edited"
    box.check()


@pytest.mark.parametrize(
    ("corrected", "said"),
    [
        ({"id": "still not"}, "`id` should be long"),
        (b'{"id": 3}\n{"id": 4}', "not JSON"),
        (b'{"id": 3} {"id": 4}', "not JSON"),
        (b'{"id": "\xff"}', "UTF-8"),
        (b'[{"id": 3}]', "object"),
        (b"", "not JSON"),
        ({"id": 3, "coupon": 1, "gift": 2}, "`gift`"),
        ({"id": 3, "note": "x" * 2000}, "longer than 1,000 bytes"),
    ],
)
def test_a_text_that_is_not_good_changes_nothing_and_all_that_is_wrong_is_said(
    box: Box, corrected: Any, said: str
) -> None:
    box.limits = Limits(max_record_bytes=1000)
    before = box.state()
    with pytest.raises(Refused, match="is not good either") as refusal:
        box.edit("a.json", 2, corrected)
    assert said in refusal.value.what
    assert refusal.value.next_step
    assert box.state() == before
    box.check()


def test_a_text_that_breaks_several_rules_is_told_all_of_them(box: Box) -> None:
    with pytest.raises(Refused) as refusal:
        box.edit("a.json", 2, {"id": "x", "gift": 1, "note": 5})
    assert len(refusal.value.what.splitlines()) == 4


@pytest.mark.parametrize("close", ["edit", "discard", "replay"])
def test_a_letter_that_is_closed_is_not_edited(box: Box, close: str) -> None:
    box.become()
    if close == "edit":
        box.edit("a.json", 1, {"id": 5})
    else:
        getattr(box, close)(field="coupon") if close == "discard" else box.replay()
    before = box.state()
    with pytest.raises(Refused, match=r"is (edited|discarded|replayed)") as refusal:
        box.edit("a.json", 1, {"id": 6})
    assert "smelt dlq undo" in refusal.value.next_step
    assert box.state() == before


def test_a_letter_about_a_file_is_not_edited(box: Box) -> None:
    box.arrive_bytes("cut.json", b'{"id": 1')
    with pytest.raises(Refused, match="about its file") as refusal:
        box.edit("cut.json", 0, {"id": 1})
    assert refusal.value.next_step.endswith("smelt dlq replay orders --reason truncated_batch")
    box.check()


def test_an_edit_that_is_undone_is_as_if_it_had_never_been(box: Box) -> None:
    before = box.rows(), box.wrongs()
    box.undo(box.edit("a.json", 2, {"id": 3}).run, because="a mistake")
    assert (box.rows(), box.wrongs()) == before
    assert [(row["outcome"], row["because"]) for row in box.resolutions()] == [
        ("edited", None),
        ("reopened", "a mistake"),
    ]
    box.edit("a.json", 2, {"id": 4})
    assert box.ids() == [1, 4]
    box.check()


def test_discarded_letters_are_closed_with_a_reason_and_stay_where_they_are(box: Box) -> None:
    done = box.discard("nobody wants them", reason="wrong_type")
    assert done.letters == 1
    assert box.statuses() == {("a.json", 1): "open", ("a.json", 2): "discarded"}
    assert [(row["action"], row["outcome"], row["because"]) for row in box.resolutions()] == [
        ("discard", "discarded", "nobody wants them")
    ]
    assert found(box, 2) == "a dead letter: wrong_type, discarded"
    box.become()
    assert box.replay().recovered == 1
    assert box.statuses()["a.json", 2] == "discarded", "a replay does not look at it"
    box.check()
    assert done.run is not None
    box.undo(done.run)
    assert box.statuses()["a.json", 2] == "open"
    assert found(box, 2) == "a dead letter: wrong_type"
    box.check()


def test_discarding_nothing_is_no_run(box: Box) -> None:
    done = box.discard(source="no such file")
    assert (done.run, done.letters, box.resolutions()) == (None, 0, [])


def over(box: Box, letters: int) -> None:
    """A second is the shortest time that a contract can keep closed letters."""
    while box.retire(dry_run=True).letters < letters:
        time.sleep(0.1)


def test_retention_removes_what_was_closed_long_enough_ago_and_never_an_open_letter(box: Box) -> None:
    box.arrive("b.json", BAD, {"id": "y"}, COUPONED)
    box.become(rest=KEEP)
    run = box.replayed(source="a.json", reason="unknown_field")
    edited = box.edit("b.json", 0, {"id": 30})
    discarded = box.discard(source="b.json", reason="wrong_type")
    over(box, 3)
    before = box.rows()
    assert box.retire().letters == 3
    assert box.retire().letters == 0
    assert box.statuses() == {("a.json", 2): "open", ("b.json", 2): "open"}
    assert box.rows() == before
    box.check()
    for name in (run, edited.run, discarded.run):
        assert name is not None
        with pytest.raises(Refused, match="their time was up"):
            box.undo(name)
    box.check()
    assert found(box, 1) == "accepted, after it was a dead letter: replayed"
    gone = trace(box.lake, box.name, box.source("b.json"), 1)
    assert (gone.found, gone.places) == ("a dead letter that was discarded, and removed when its time was up", ())
    assert [event.outcome for event in gone.history] == ["discarded"]
    assert box.replay().recovered == 1
    box.check()


def test_an_undo_that_waits_for_bronze_in_vain_has_begun_nothing(box: Box) -> None:
    run = box.edit("a.json", 2, {"id": 3}).run
    before = box.state()
    with lease(box.lake, BRONZE, box.name, "a compaction"), pytest.raises(Refused, match="changed by a compaction"):
        box.undo(run, wait_seconds=0)
    assert box.lake.letter_batches(box.name).prepared() == []
    box.discard(reason="not_json")  # would finish what was begun
    assert box.state() == before


def test_letters_of_a_file_that_retention_has_removed_keep_its_replay_from_being_undone(box: Box) -> None:
    box.arrive_bytes("cut.json", b'{"id": 10}\n{"id": "x')
    box.become(rest=KEEP)
    box.rewrite("cut.json", b'{"id": 10}\n{"id": "x"}\n{"id": 12}\n')
    run = box.replayed(source="cut.json")
    box.discard(source="cut.json")
    over(box, 1)
    box.retire()
    box.check()
    with pytest.raises(Refused, match="their time was up"):
        box.undo(run)
    box.check()


def test_without_a_word_about_it_letters_are_kept_for_ever(box: Box) -> None:
    box.discard()
    done = box.retire()
    assert (done.keep, done.letters) == (None, 0)
    assert len(box.letters()) == 2


def test_letters_that_are_closed_for_a_shorter_time_stay(box: Box) -> None:
    box.become(rest="dead_letters: {keep: 1h}\n")
    box.discard()
    assert (box.retire(dry_run=True).letters, box.retire().letters) == (0, 0)
    assert len(box.letters()) == 2


def test_a_run_is_undone_once_and_by_its_name_or_what_comes_after_its_colon(box: Box) -> None:
    box.become()
    run = box.replayed()
    done = box.undo(run.partition(":")[2])
    assert (done.run, done.letters, done.has_left_bronze) == (run, 1, True)
    with pytest.raises(Refused, match=f"{run} was undone by {done.by}") as refusal:
        box.undo(run)
    assert refusal.value.next_step == "smelt dlq replay orders"
    again = box.replayed()
    with pytest.raises(Refused, match=f"{run} was undone by {done.by}"):
        box.undo(run)
    box.undo(again)
    box.check()


@pytest.mark.parametrize("run", ["replay:20200101-000000-0000", "x", "", "' or true --", "replay:"])
def test_a_run_that_there_is_not_cannot_be_undone(box: Box, run: str) -> None:
    box.become()
    box.replay()
    with pytest.raises(Refused, match="there is no run") as refusal:
        box.undo(run)
    assert refusal.value.next_step == "smelt dlq runs lists them"


def test_a_run_that_closed_nothing_cannot_be_undone(box: Box) -> None:
    run = box.replayed()
    with pytest.raises(Refused, match="closed no letter") as refusal:
        box.undo(run)
    assert refusal.value.next_step == "smelt dlq replay orders"


def test_an_undoing_cannot_be_undone(box: Box) -> None:
    box.become()
    undone = box.undo(box.replayed())
    with pytest.raises(Refused, match="is an undoing itself"):
        box.undo(undone.by)


def test_runs_are_undone_in_any_order_where_they_have_nothing_to_do_with_each_other(box: Box) -> None:
    box.become()
    before = box.rows(), box.wrongs()
    runs = [box.replayed(), box.edit("a.json", 2, {"id": 3}).run]
    for run in runs:
        box.undo(run)
        box.check()
    assert (box.rows(), box.wrongs()) == before


def test_status_counts_open_and_closed_letters(box: Box) -> None:
    box.become()
    assert standing_of(box.lake, box.name).letters_by_reason == {"unknown_field": 1, "wrong_type": 1}
    run = box.replayed()
    box.discard()
    found = standing_of(box.lake, box.name)
    assert (found.letters_by_reason, found.closed_letters) == ({}, 2)
    assert found.rows["bronze.orders"] == 2
    box.undo(run)
    found = standing_of(box.lake, box.name)
    assert (found.letters_by_reason, found.closed_letters) == ({"unknown_field": 1}, 1)


def test_status_tells_the_reason_that_a_letter_has_now(box: Box) -> None:
    box.become(fields="  coupon: {type: int}\n")
    box.replay()
    assert standing_of(box.lake, box.name).letters_by_reason == {"wrong_type": 2}
