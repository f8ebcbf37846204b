"""An undoing that was killed is finished, and what strangers do to files and snapshots of a killed run hurts none."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from boxes import Box, State
from killed import (
    BEFORE_THE_INTENT,
    begun,
    check_what_a_kill_left,
    kill,
    letters_of_every_kind,
    points,
    replay_letters,
    undo_run,
)

from smelter.dead_letters.run import Hooks
from smelter.errors import Refused
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS
from smelter.lake.tables import load_table
from smelter.lake.written import WrittenFile


@pytest.fixture(scope="module")
def undone(tmp_path_factory: pytest.TempPathFactory) -> State:
    """What the tables hold after a replay and its undoing."""
    box = letters_of_every_kind(tmp_path_factory.mktemp("unharmed") / "lake")
    box.undo(box.replayed())
    return box.state()


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> State:
    box = letters_of_every_kind(tmp_path_factory.mktemp("unharmed") / "lake")
    box.replay()
    return box.state()


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return letters_of_every_kind(tmp_path / "lake")


@pytest.mark.parametrize(
    ("point", "nth"),
    points(
        [("judged", 1), ("before_resolutions", 1), ("before_removal", 1), ("before_removal", 2)],
        [("prepared", 1), ("between_commits", 1), ("committed", 1), ("done", 1)],
    ),
)
def test_an_undoing_that_was_killed_takes_everything_back_once(box: Box, undone: State, point: str, nth: int) -> None:
    before, run = box.rows(), box.replayed()
    kill(box, undo_run, point, run, nth=nth)
    check_what_a_kill_left(box, point)
    if point in BEFORE_THE_INTENT:
        box.undo(run)
    else:
        with pytest.raises(Refused, match="was undone by"):
            box.undo(run)
    box.check()
    assert begun(box) == []
    assert box.state() == undone
    assert box.rows() == before


def compact_and_expire(box: Box) -> None:
    """A stranger writes every row anew and leaves one snapshot: no token is told by any summary."""
    for name in ((BRONZE, box.name), (DEAD_LETTERS, box.name), (DEAD_LETTERS, RESOLUTIONS)):
        table = load_table(box.lake, *name)
        if table.current_snapshot() is not None:
            table.overwrite(table.scan().to_arrow())
            table.maintenance.expire_snapshots().older_than(datetime(2100, 1, 1, tzinfo=UTC)).commit()
            assert len(load_table(box.lake, *name).metadata.snapshots) == 1


@pytest.mark.parametrize("point", points(["before_resolutions"], ["between_commits", "committed"]))
def test_a_replay_whose_snapshots_a_stranger_expired_is_in_the_tables_once(
    box: Box, replayed: State, point: str
) -> None:
    kill(box, replay_letters, point)
    compact_and_expire(box)
    check_what_a_kill_left(box, point)
    box.discard(source="no such file")
    box.check()
    assert begun(box) == []
    assert box.state() == replayed


@pytest.mark.parametrize(("point", "nth"), points([("before_removal", 2)], [("before_removal", 1)]))
def test_an_undoing_whose_snapshots_a_stranger_expired_takes_everything_back(
    box: Box, undone: State, point: str, nth: int
) -> None:
    run = box.replayed()
    kill(box, undo_run, point, run, nth=nth)
    compact_and_expire(box)
    check_what_a_kill_left(box, point)
    box.discard(source="no such file")
    box.check()
    assert box.state() == undone


def remove(files: Iterable[WrittenFile]) -> None:
    for file in files:
        Path(file.path).unlink()


@pytest.mark.parametrize(
    ("point", "lost"),
    points(
        [("prepared", "bronze"), ("before_resolutions", "resolutions")],
        [("prepared", "letters"), ("prepared", "resolutions"), ("between_commits", "bronze")],
    ),
)
def test_a_run_whose_data_files_somebody_removed_is_taken_back_and_its_letters_are_open(
    box: Box, point: str, lost: str
) -> None:
    before = box.state()
    kill(box, replay_letters, point)
    (intent,) = begun(box)
    remove(getattr(intent, lost))
    said: list[str] = []
    box.discard(source="no such file", hooks=Hooks(say=said.append))
    assert [line for line in said if "taken back, its letters are open" in line]
    assert begun(box) == []
    box.check()
    assert box.state() == before


def test_a_run_that_was_taken_back_can_be_run_again(box: Box, replayed: State) -> None:
    kill(box, replay_letters, "before_resolutions")
    (intent,) = begun(box)
    remove(intent.resolutions)
    box.replay()
    box.check()
    assert box.state() == replayed


def test_an_undoing_whose_data_files_somebody_removed_is_taken_back_and_nothing_is_undone(
    box: Box, replayed: State
) -> None:
    run = box.replayed()
    kill(box, undo_run, "before_resolutions", run)
    (intent,) = begun(box)
    remove(intent.resolutions)
    box.discard(source="no such file")
    box.check()
    assert box.state() == replayed
    assert box.undo(run).letters == 2
