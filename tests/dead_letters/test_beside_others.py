"""One run at a time changes letters; the stream goes on beside it, and nothing is lost or doubled."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from boxes import BAD, COUPON, COUPONED, GOOD, Box

from smelter.bronze.books import Books
from smelter.dead_letters.run import Hooks
from smelter.errors import Refused
from smelter.lake.batches import BatchRecords, Done
from smelter.lake.home import BRONZE, Lake
from smelter.lake.lease import holder_of
from smelter.lake.removal import remove_batch
from smelter.lake.tables import load_table


class Stop:
    """Holds whoever reaches a point there until somebody lets it go on."""

    def __init__(self, point: str) -> None:
        self._point, self._is_there, self._may_go_on = point, threading.Event(), threading.Event()

    def reach(self, point: str) -> None:
        if point == self._point:
            self._is_there.set()
            assert self._may_go_on.wait(60)

    @contextmanager
    def held(self, box: Box) -> Iterator[None]:
        """A replay has come to the point, and goes on to its end afterwards."""
        with ThreadPoolExecutor(1) as pool:
            replay = pool.submit(box.replay, hooks=Hooks(reach=self.reach))
            assert self._is_there.wait(60)
            try:
                yield
            finally:
                self._may_go_on.set()
            replay.result()

    def go_on(self) -> None:
        self._may_go_on.set()


@pytest.fixture
def box(box: Box) -> Box:
    return with_letters(box)


def with_letters(box: Box) -> Box:
    """One that passes now, and one that never will."""
    box.arrive("a.json", GOOD, COUPONED, BAD)
    box.become()
    return box


@pytest.mark.parametrize("point", ["judged", "before_resolutions"])
def test_a_second_run_is_refused_with_the_name_of_the_first(box: Box, point: str) -> None:
    said: list[str] = []
    with Stop(point).held(box):
        before = box.state()
        for act in (box.replay, box.discard):
            with pytest.raises(Refused, match="smelt dlq replay orders") as refusal:
                act(hooks=Hooks(say=said.append), wait=0.2)
            assert "--wait" in refusal.value.next_step
        assert [line for line in said if "waiting up to" in line]
        assert box.state() == before
    box.check()
    assert box.ids() == [1, 2]


def test_a_second_replay_waits_for_the_first_and_then_finds_nothing_to_do(box: Box) -> None:
    box.discard(reason="wrong_type")
    stop, said = Stop("before_resolutions"), []

    def say(line: str) -> None:
        said.append(line)
        stop.go_on()

    with stop.held(box):
        found = box.replay(hooks=Hooks(say=say))
    assert (found.run, found.recovered) == (None, 0)
    assert "smelt dlq replay orders" in said[0]
    assert holder_of(box.lake, "dead_letters", box.name) is None
    assert box.ids() == [1, 2]
    box.check()


@pytest.mark.parametrize("point", ["prepared", "before_resolutions", "committed"])
def test_a_stream_starts_and_commits_while_a_replay_is_at_any_point(box: Box, point: str) -> None:
    with Stop(point).held(box):
        for number in range(2):
            box.arrive(f"later_{number}.json", {"id": 10 + number}, BAD)
        box.check()
        box.check_that_none_is_hidden()
    box.check()
    assert box.ids() == [1, 2, 10, 11]
    box.arrive("last.json", {"id": 20})
    box.check()


def test_replays_and_undoings_beside_a_busy_stream_lose_and_double_nothing(box: Box) -> None:
    waiting, batches = range(100, 104), range(200, 208)
    for number in waiting:
        box.arrive(f"old_{number}.json", {"id": number, "gift": "x"}, BAD)
    box.become(version=3, fields=f"{COUPON}  gift: {{type: string}}\n")

    def be_busy() -> None:
        for number in batches:
            box.arrive(f"new_{number}.json", {"id": number}, BAD)

    with ThreadPoolExecutor(1) as pool:
        stream = pool.submit(be_busy)
        for number in waiting:
            run = box.replayed(source=f"old_{number}")
            if number % 2:
                box.undo(run)
        stream.result()
    box.replay()
    assert Counter(box.ids()) == Counter([1, 2, *waiting, *batches])
    box.check()
    box.arrive("last.json", {"id": 999})
    box.check()


def test_rows_that_the_stream_adds_while_others_leave_are_no_conflict(lake: Lake) -> None:
    box = with_letters(Box(lake))
    run = box.replayed()
    old = load_table(box.lake, BRONZE, box.name)
    box.arrive("later.json", {"id": 10})
    assert remove_batch(old, run, "undo:test") == 1, "the table was read before the stream's commit"
    assert box.ids() == [1, 10]


class _Overtaken(BatchRecords):
    """Records of a run that is finished by another process just after somebody has looked for finished ones."""

    def done(self) -> list[Done]:
        found = super().done()
        for intent in self.prepared():
            self.finish(intent, {})
        return found


def test_a_run_that_ends_while_the_stream_reads_the_books_is_known_to_it(box: Box) -> None:
    with Stop("committed").held(box):
        folder = box.lake.letter_runs(box.name)
        (intent,) = BatchRecords(folder).prepared()
        books = Books(BatchRecords(box.receipts), _Overtaken(folder))
        assert books.last_ingested_at == intent.ingested_at
