"""Letters about files: the file is read again when it is whole, and only what is in no table yet is written."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable

import pytest
from boxes import Box, lines

from bronze.crashes import do_at
from smelter.bronze.recovery import reread
from smelter.bronze.rehearsal import rehearse
from smelter.errors import Refused
from smelter.lake.home import Lake
from smelter.ledger.standing import standing_of
from smelter.ledger.trace import trace
from smelter.records import Limits

CUT = b'{"id": 1}\n{"id": "x"}\n{"id": 3'
WHOLE = CUT + b'}\n{"id": 4}\n'
_chance = random.Random(8)
PACKED = gzip.compress(lines(*({"id": number, "note": _chance.randbytes(60).hex()} for number in range(200))), mtime=0)
LARGE = {"id": 2, "note": "x" * 5000}
Act = Callable[[Box], object]


def meddled(box: Box, meddle: Act) -> None:
    """Something happens to a file after it was listed and before it is read."""
    box.put("a.json", lines({"id": 9}), modified=1_600_000_000)

    def act() -> None:
        meddle(box)

    box.drain_here(do_at("planned", act))


# How such a letter comes to be, how the file is mended, which records are in bronze then, and how many are letters.
KINDS: dict[str, tuple[Act, Act, list[int], int]] = {
    "truncated_batch": (
        lambda box: box.arrive_bytes("a.json", CUT),
        lambda box: box.rewrite("a.json", WHOLE),
        [1, 3, 4],
        1,
    ),
    "file_unreadable": (
        lambda box: meddled(box, lambda box: box.delete("a.json")),
        lambda box: box.rewrite("a.json", WHOLE),
        [1, 3, 4],
        1,
    ),
    "file_unreadable, cut in its packing": (
        lambda box: box.arrive_bytes("a.json", PACKED[: len(PACKED) // 2]),
        lambda box: box.rewrite("a.json", PACKED),
        list(range(200)),
        0,
    ),
    "file_changed": (
        lambda box: meddled(box, lambda box: box.rewrite("a.json", WHOLE)),
        lambda box: None,
        [1, 3, 4],
        1,
    ),
    "record_too_large": (
        lambda box: box.arrive("a.json", {"id": 1}, LARGE, {"id": "x"}, {"id": 4}),
        lambda box: setattr(box, "limits", Limits()),
        [1, 2, 4],
        1,
    ),
}


@pytest.fixture
def box(lake: Lake) -> Box:
    """Records may have 1,000 bytes, as long as a test does not say otherwise."""
    box = Box(lake)
    box.limits = Limits(max_record_bytes=1000)
    return box


def about_the_file(box: Box) -> list[tuple[int, str]]:
    """Positions and reasons of letters about files."""
    return [(one["_position"], one["reason"]) for one in box.wrongs() if one["reason"] != "wrong_type"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_whole_now_comes_home_and_goes_back_and_comes_home_again(box: Box, kind: str) -> None:
    begin, mend, ids, bad = KINDS[kind]
    box.arrive("other.json", {"id": 1000}, {"id": "y"})
    begin(box)
    box.check()
    ((_, reason),) = about_the_file(box)
    assert kind.startswith(reason)
    before = box.rows(), box.wrongs()
    mend(box)
    run = box.replayed(reason=reason)
    box.check()
    assert box.ids() == [*ids, 1000]
    assert len(box.wrongs()) == bad + 1
    first = box.rows(), box.wrongs()
    box.undo(run)
    box.check()
    assert (box.rows(), box.wrongs()) == before
    box.replay(reason=reason)
    box.check()
    assert (box.rows(), box.wrongs()) == first


@pytest.mark.parametrize("kind", KINDS)
def test_plan_recovery_status_and_trace_know_a_file_that_comes_home(box: Box, kind: str) -> None:
    begin, mend, ids, bad = KINDS[kind]
    begin(box)
    mend(box)
    before = box.state()
    planned = box.plan()
    assert box.state() == before
    done = box.replay()
    assert (planned.would_pass, planned.would_fail, planned.files) == (done.passed, done.failed, done.files)
    recovery = rehearse(box.lake, box.name, box.limits)
    assert (recovery.rows, recovery.letters) == (0, 0)
    assert standing_of(box.lake, box.name).landing.rewritten == ()
    last = trace(box.lake, box.name, box.source("a.json"), len(ids) + bad - 1)
    assert last.found.startswith("accepted")
    assert last.records_in_source == len(ids) + bad
    assert last.text is not None


def test_a_file_whose_next_record_is_bad_is_planned_as_it_is_replayed_and_can_be_edited(box: Box) -> None:
    box.arrive_bytes("a.json", b'{"id": 1')
    box.rewrite("a.json", lines({"id": "x"}, {"id": 2}))
    planned, done = box.plan(), box.replay()
    assert (planned.would_pass, planned.would_fail) == (done.passed, done.failed) == ({}, {"wrong_type": 1})
    assert [one["raw"] for one in box.wrongs()] == ['{"id": "x"}']
    box.edit("a.json", 0, {"id": 1})
    assert box.ids() == [1, 2]
    box.check()


def test_a_file_with_other_records_is_refused_and_the_way_out_is_named(box: Box) -> None:
    box.arrive_bytes("a.json", CUT)
    box.rewrite("a.json", lines({"id": 7}, {"id": 8}, {"id": 9}))
    before = box.rows()
    found = box.replay(reason="truncated_batch")
    assert found.failed == {"file_changed": 1}
    assert "--reread" in found.files[0].problem
    assert box.rows() == before
    assert box.attempts()["a.json", 2] == 1
    box.check()


def test_a_file_that_is_gone_stays_a_letter(box: Box) -> None:
    box.arrive_bytes("a.json", CUT)
    box.delete("a.json")
    found = box.replay(reason="truncated_batch")
    assert (found.recovered, found.failed) == (0, {"file_unreadable": 1})
    assert box.attempts()["a.json", 2] == 1
    box.check()


def test_a_file_that_is_empty_now_brings_nothing(box: Box) -> None:
    box.arrive_bytes("a.json", b'{"id": 1')
    box.rewrite("a.json", b"")
    found = box.replay()
    assert (found.recovered, found.failed) == (0, {"file_changed": 1})
    box.check()


def test_a_file_of_which_nothing_is_in_the_tables_may_be_any_other_one(box: Box) -> None:
    box.arrive_bytes("a.json", b'{"id": 1')
    box.rewrite("a.json", lines({"id": 7}, {"id": 8}))
    assert box.replay().recovered == 1
    assert box.ids() == [7, 8]
    box.check()


def test_a_file_that_is_as_broken_as_before_has_one_more_attempt(box: Box) -> None:
    box.arrive_bytes("a.json", CUT)
    before = box.rows(), box.wrongs()
    for attempt in (1, 2):
        found = box.replay(reason="truncated_batch")
        assert (found.recovered, found.failed) == (0, {"truncated_batch": 1})
        assert box.attempts()["a.json", 2] == attempt
        assert (box.rows(), box.wrongs()) == before
        box.check()


def test_a_file_that_grows_comes_home_bit_by_bit_and_goes_back_bit_by_bit(box: Box) -> None:
    texts = [b'{"id": 1}\n', b'{"id": 2}\n', b'{"id": 3}\n', b'{"id": 4}\n']
    box.arrive_bytes("a.json", b"".join(texts[:2])[:-3])
    states, runs = [(box.rows(), box.wrongs())], []
    for count in (3, 4, 5):
        box.rewrite("a.json", b"".join(texts[:count])[: -3 if count < 5 else None])
        runs.append(box.replayed())
        box.check()
        states.append((box.rows(), box.wrongs()))
    assert box.ids() == [1, 2, 3, 4]
    with pytest.raises(Refused, match=runs[1]):
        box.undo(runs[0])
    for run in reversed(runs):
        states.pop()
        box.undo(run)
        box.check()
        assert (box.rows(), box.wrongs()) == states[-1]


def test_a_run_whose_record_was_edited_since_is_not_undone_before_the_edit_is(box: Box) -> None:
    box.arrive_bytes("a.json", b'{"id": 1}\n{"id": "x')
    box.rewrite("a.json", lines({"id": 1}, {"id": "x"}, {"id": 3}))
    run = box.replayed()
    edited = box.edit("a.json", 1, {"id": 2})
    with pytest.raises(Refused, match=edited.run) as refusal:
        box.undo(run)
    assert refusal.value.next_step == f"smelt dlq undo {edited.run}"
    box.check()
    box.undo(edited.run)
    box.undo(run)
    box.check()
    assert (box.ids(), about_the_file(box)) == ([1], [(1, "truncated_batch")])


@pytest.mark.parametrize("close", ["discard", "replay"])
def test_a_run_whose_new_letters_were_tried_since_can_be_undone_when_they_are_open(box: Box, close: str) -> None:
    box.arrive_bytes("a.json", b'{"id": 1')
    box.rewrite("a.json", lines({"id": 1}, {"id": "x"}))
    run = box.replayed()
    if close == "discard":
        later = box.discard().run
        assert later is not None
        with pytest.raises(Refused, match=later):
            box.undo(run)
        box.undo(later)
    else:
        assert box.replay().still_open == 1
    box.undo(run)
    box.check()
    assert (box.ids(), about_the_file(box)) == ([], [(0, "truncated_batch")])


def test_a_file_that_was_taken_in_as_a_new_source_is_not_read_a_second_time(box: Box) -> None:
    box.arrive_bytes("a.json", b'{"id": 1')
    path = box.rewrite("a.json", lines({"id": 1}, {"id": 2}))
    reread(box.lake, box.contract, box.limits, path)
    found = box.replay()
    assert (found.recovered, found.failed) == (0, {"file_changed": 1})
    assert "smelt dlq discard" in found.files[0].problem
    assert box.ids() == [1, 2]
    box.check()


def test_a_nightly_replay_brings_what_a_file_holds_also_if_the_record_of_its_letter_is_bad(box: Box) -> None:
    box.arrive_bytes("a.json", b'{"id": 1}\n{"id": "x')
    box.rewrite("a.json", lines({"id": 1}, {"id": "x"}, {"id": 3}))
    found = box.replay(auto=True)
    assert (found.recovered, found.still_open) == (0, 1)
    assert box.ids() == [1, 3]
    box.check()
    assert found.run is not None
    box.undo(found.run)
    box.check()
    assert (box.ids(), about_the_file(box)) == ([1], [(1, "truncated_batch")])


def test_a_record_that_is_too_large_still_does_not_keep_the_others_of_its_file_away(box: Box) -> None:
    box.arrive("a.json", {"id": 1}, LARGE, {"id": 3, "note": "y" * 2000})
    box.limits = Limits(max_record_bytes=3000)
    found = box.replay()
    assert (found.recovered, found.failed) == (1, {"record_too_large": 1})
    assert box.plan().would_fail == {"record_too_large": 1}
    box.limits = Limits()
    assert box.replay().recovered == 1
    assert box.ids() == [1, 2, 3]
    box.check()
