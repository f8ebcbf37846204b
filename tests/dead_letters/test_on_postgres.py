"""Dead letters of a lake whose catalog is a PostgreSQL database: the same journeys as with the file in the lake."""

from __future__ import annotations

from pathlib import Path

import pytest
from boxes import Box
from killed import begun, check_what_a_kill_left, kill, letters_of_every_kind, replay_letters, undo_run

# The behaviour suite of the file, on the database: these functions are collected here with the fixtures below.
from test_beside_others import (  # noqa: F401
    test_rows_that_the_stream_adds_while_others_leave_are_no_conflict,
)
from test_replay import (  # noqa: F401
    test_a_record_comes_home_under_the_identity_and_arrival_that_it_always_had,
    test_an_undone_replay_can_be_done_again_with_the_same_result,
)

from postgres_server import PostgresServer
from smelter.lake.home import Lake
from smelter.settings import Settings


@pytest.fixture
def lake(tmp_path: Path, postgres: PostgresServer) -> Lake:
    """A lake of its own, with a database of its own."""
    return Lake.at(Settings(lake=tmp_path / "lake", catalog=postgres.database()))


def test_killed_runs_are_finished_and_everything_goes_back(lake: Lake) -> None:
    box = letters_of_every_kind(lake)
    before = box.rows(), box.wrongs()
    kill(box, replay_letters, "before_resolutions")
    check_what_a_kill_left(box, "before_resolutions")
    assert box.replay().recovered == 0
    box.check()
    assert box.ids() == [1, 2, 10, 12, 14]
    run = next(row["run"] for row in box.resolutions() if row["outcome"] == "replayed")
    kill(box, undo_run, "before_removal", run)
    check_what_a_kill_left(box, "before_removal")
    box.discard(source="no such file")
    box.check()
    assert begun(box) == []
    assert (box.rows(), box.wrongs()) == before


def test_letters_are_planned_edited_discarded_and_retired(lake: Lake) -> None:
    box: Box = letters_of_every_kind(lake)
    assert box.plan().passing == 2
    edited = box.edit("plain.json", 2, {"id": 3})
    assert box.discard(source="cut.json").letters == 2
    box.become(version=3, rest="dead_letters: {keep: 1s}\n")
    while box.retire(dry_run=True).letters < 3:
        pass
    assert box.retire().letters == 3
    box.check()
    assert box.statuses() == {("plain.json", 1): "open"}
    assert box.ids() == [1, 3, 10]
    assert edited.run in {row["run"] for row in box.resolutions()}
