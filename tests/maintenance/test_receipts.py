"""Old records of batches are folded into `ops.ledger`, and nobody notices: not the stream, not its readers, no kill."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from many_batches import (
    BATCHES,
    LATER,
    NAME,
    a_lake_with_five_batches,  # noqa: F401
    check,
    files_of,
    five_batches,  # noqa: F401
    folded,
    leave_records,
    ledger_rows,
    made_up,
    sequences,
    told,
)

from bronze.crashes import Crash, crash_at, do_at
from bronze.streams import Stream
from smelter.errors import Refused, Unreachable
from smelter.explore import connect
from smelter.lake.batches import DONE, BatchRecords, Done, Record
from smelter.lake.drop import sources_that_are_gone
from smelter.lake.fold_marks import FoldMark, read_mark
from smelter.lake.home import LEDGER, OPS, Lake
from smelter.lake.tables import load_table
from smelter.ledger.standing import standing_of
from smelter.ledger.trace import trace
from smelter.maintenance import receipts
from smelter.maintenance.receipts import Due, Folded, due, fold
from smelter.settings import Settings

POINTS = ("leftovers_removed", "begun", "appended", "marked", "removing", "removed")
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.at(Settings(lake=tmp_path / "lake"))


def test_folded_batches_are_told_as_before_and_only_the_newest_files_stay(stream: Stream) -> None:
    before = told(stream)
    done = folded(stream)
    assert (done.batches, done.receipts, done.commits) == (4, 4, 1)
    assert done.bytes > 1_000
    assert files_of(stream) == [5]
    assert told(stream) == before
    check(stream)
    assert folded(stream) == Folded(NAME)


def test_folded_receipts_can_be_asked_for_in_sql(stream: Stream) -> None:
    folded(stream)
    question = "select place, sequence, source, records, accepted, dead, is_whole from ops.ledger order by sequence"
    with connect(stream.lake.root) as explorer:
        rows = explorer.execute(question).arrow().to_pylist()
    source = (stream.landing / "0.json").as_uri()
    assert list(rows[0].values()) == ["stream", 1, source, 4, 3, 1, True]
    assert [row["sequence"] for row in rows] == [1, 2, 3, 4]


@pytest.mark.parametrize("point", POINTS)
def test_a_fold_that_is_killed_loses_nothing_and_is_finished_by_the_next(stream: Stream, point: str) -> None:
    before = told(stream)
    with pytest.raises(Crash):
        folded(stream, crash_at(point, 2 if point == "removing" else 1))
    assert told(stream) == before
    check(stream)
    assert stream.drain_here() == []
    folded(stream)
    assert (told(stream), files_of(stream)) == (before, [5])
    assert [row["sequence"] for row in ledger_rows(stream.lake)] == [1, 2, 3, 4]


class _Interrupted(BatchRecords):
    """A reader that sleeps after the first record that it opens, while somebody folds."""

    def __init__(self, records: BatchRecords, act: Callable[[], object]) -> None:
        super().__init__(records.folder, records._folded)
        self._act = act

    def _read_all(self, state: str, kind: type[Record]) -> Iterator[Record]:
        for number, record in enumerate(super()._read_all(state, kind)):
            yield record
            if number == 0 and state == DONE:
                self._act()


def test_a_reader_that_listed_the_files_before_they_went_misses_none(stream: Stream) -> None:
    before = told(stream)
    reader = _Interrupted(stream.lake.batches(NAME), lambda: folded(stream))
    assert reader.done() == before
    assert files_of(stream) == [5]


def test_reconcile_is_balanced_before_in_the_middle_of_and_after_a_fold(stream: Stream) -> None:
    reached: list[str] = []

    def look(point: str) -> None:
        if point not in reached:
            reached.append(point)
            check(stream)

    folded(stream, look)
    check(stream)
    assert tuple(reached) == POINTS


def test_status_and_trace_know_folded_batches(stream: Stream) -> None:
    source = (stream.landing / "0.json").as_uri()
    before = standing_of(stream.lake, NAME), trace(stream.lake, NAME, source, 0)
    folded(stream)
    assert (standing_of(stream.lake, NAME), trace(stream.lake, NAME, source, 0)) == before
    assert (before[0].batches, before[1].batch_state) == (BATCHES, "done")


def test_sources_whose_file_is_gone_are_counted_before_a_drop_also_if_they_were_folded(stream: Stream) -> None:
    folded(stream)
    stream.delete("0.json")
    assert sources_that_are_gone(stream.lake.root) == 1


def test_two_folds_at_once_take_turns(stream: Stream) -> None:
    def another() -> None:
        with pytest.raises(Refused, match=r"receipts\.orders is being changed by smelt maintain"):
            fold(stream.lake, NAME, datetime.now(UTC) + LATER, wait_seconds=0)

    folded(stream, do_at("appended", another))
    assert len(ledger_rows(stream.lake)) == 4


def test_records_are_due_when_there_are_200_of_them_older_than_a_day_beside_the_newest_100(lake: Lake) -> None:
    batches = [made_up(number, LONG_AGO) for number in range(1, 501)]
    leave_records(lake.receipts(NAME), batches[:299])
    assert due(lake, NAME, LONG_AGO + timedelta(days=9)) is None
    leave_records(lake.receipts(NAME), batches[299:])
    assert due(lake, NAME, batches[198].ingested_at + timedelta(days=1, seconds=1)) is None
    assert due(lake, NAME, batches[199].ingested_at + timedelta(days=1)) is None, "exactly a day is not more"
    found = due(lake, NAME, batches[199].ingested_at + timedelta(days=1, seconds=1))
    assert found == Due(NAME, 200, sum(path.stat().st_size for path in lake.batches(NAME).done_files()[:200]))
    assert (found := due(lake, NAME, LONG_AGO + timedelta(days=9))) is not None
    assert found.batches == 400


def test_a_commit_has_a_bounded_number_of_batches_and_receipts_and_splits_no_batch(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "NEWEST_KEPT", 1)
    monkeypatch.setattr(receipts, "BATCHES_AT_ONCE", 3)
    monkeypatch.setattr(receipts, "RECEIPTS_AT_ONCE", 10)
    sizes = [1, 1, 1, 1, 9, 2, 30, 0, 1, 1]
    batches = [made_up(number, LONG_AGO, size) for number, size in enumerate(sizes, 1)]
    batches[7] = msgspec.structs.replace(batches[7], settles=["a", "recovered"], gaps=[3, 4], removes=["b"])
    leave_records(lake.receipts(NAME), batches)
    done = fold(lake, NAME, LONG_AGO + LATER)
    assert (done.batches, done.receipts, done.commits) == (9, 46, 5)
    assert lake.batches(NAME).done() == batches
    (alone,) = (row for row in ledger_rows(lake) if row["source"] is None)
    assert (alone["sequence"], alone["receipts"]) == (8, 0)


def test_the_same_rows_twice_are_one_batch_and_a_part_of_its_rows_is_none(lake: Lake) -> None:
    leave_records(lake.receipts(NAME), [made_up(number, LONG_AGO, 3) for number in range(1, 102)])
    fold(lake, NAME, LONG_AGO + LATER)
    table = load_table(lake, OPS, LEDGER)
    table.append(table.scan().to_arrow())
    assert sequences(lake.batches(NAME)) == list(range(1, 102))
    table.delete("source = 'file:///landing/orders/000001-2.json'")
    assert sequences(lake.batches(NAME)) == list(range(2, 102))


def test_rows_of_a_folder_that_was_lost_are_not_taken_for_those_of_its_next_life(lake: Lake) -> None:
    for token in ("first", "second"):
        shutil.rmtree(lake.receipts(NAME), ignore_errors=True)
        batches = [
            msgspec.structs.replace(made_up(number, LONG_AGO), token=f"orders:{token}:{number}:0")
            for number in range(1, 102)
        ]
        leave_records(lake.receipts(NAME), batches)
        fold(lake, NAME, LONG_AGO + LATER)
        assert lake.batches(NAME).done() == batches


def test_runs_over_dead_letters_are_folded_apart_from_the_stream_and_their_numbers_go_on(lake: Lake) -> None:
    leave_records(lake.receipts(NAME), [made_up(number, LONG_AGO) for number in range(1, 104)])
    runs = [msgspec.structs.replace(made_up(number, LONG_AGO), token=f"replay:{number}") for number in range(1, 103)]
    leave_records(lake.letter_runs(NAME), runs)
    assert fold(lake, NAME, LONG_AGO + LATER).batches == 5
    assert (sequences(lake.batches(NAME))[-1], lake.letter_batches(NAME).done()) == (103, runs)
    assert sorted({row["place"] for row in ledger_rows(lake)}) == ["dead_letters", "stream"]
    for path in lake.letter_batches(NAME).done_files():
        path.unlink()
    assert lake.letter_batches(NAME).last_sequence() == 2, "a folded number is never given again"


def test_nothing_is_opened_as_long_as_nothing_was_folded(lake: Lake) -> None:
    leave_records(lake.receipts(NAME), [made_up(1, LONG_AGO)])
    assert sequences(lake.batches(NAME)) == [1]
    assert "catalog" not in vars(lake)


def test_a_fold_whose_rows_do_not_come_back_removes_no_file(lake: Lake) -> None:
    leave_records(lake.receipts(NAME), [made_up(number, LONG_AGO) for number in range(1, 110)])

    def lose() -> None:
        load_table(lake, OPS, LEDGER).delete("sequence = 3")

    with pytest.raises(Unreachable, match="1 of 9 records of batches do not come back"):
        fold(lake, NAME, LONG_AGO + LATER, do_at("appended", lose))
    assert len(lake.batches(NAME).done_files()) == 109
    assert read_mark(lake.receipts(NAME)) == FoldMark(read_mark(lake.receipts(NAME)).book, 0)  # type: ignore[union-attr]


def test_only_the_lake_makes_records_of_batches_because_it_knows_where_folded_ones_are() -> None:
    code = Path(receipts.__file__).parents[1]
    makers = {
        path.relative_to(code).as_posix() for path in code.rglob("*.py") if "BatchRecords(" in path.read_text("utf-8")
    }
    assert makers <= {"lake/batches.py", "lake/folded.py", "maintenance/strays.py"}, "use Lake.batches"


def test_ten_thousand_folded_batches_are_read_beside_as_many_files(
    lake: Lake, capsys: pytest.CaptureFixture[str]
) -> None:
    batches = [made_up(number, LONG_AGO) for number in range(1, 10_101)]
    leave_records(lake.receipts(NAME), batches)
    seconds, found = timed(lake.batches(NAME).done)
    assert found == batches
    fold(lake, NAME, LONG_AGO + timedelta(days=9))
    after, found = timed(lake.batches(NAME).done)
    assert found == batches
    with capsys.disabled():
        print(f" 10,000 batches: {seconds:.2f} s from files, {after:.2f} s folded: {seconds / after:.1f} x")


def timed(read: Callable[[], list[Done]]) -> tuple[float, list[Done]]:
    started = time.perf_counter()
    found = read()
    return time.perf_counter() - started, found
