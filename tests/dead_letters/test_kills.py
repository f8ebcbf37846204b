"""kill -9 of whoever replays, edits or discards, at any point: run again, the tables are as if nothing had happened."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from boxes import Box, State
from killed import (
    BEFORE_THE_INTENT,
    begun,
    check_what_a_kill_left,
    discard_letters,
    edit_letter,
    kill,
    letters_of_every_kind,
    points,
    replay_letters,
)

from smelter.errors import Refused

CORRECTED = {"id": 3}
ACTS: dict[str, Callable[[Box], object]] = {
    "replay": lambda box: box.replay(),
    "edit": lambda box: box.edit("plain.json", 2, CORRECTED),
    "discard": lambda box: box.discard(),
    "a file": lambda box: box.arrive("later.json", {"id": 30}, {"id": "z"}),
}
After = Callable[..., State]


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> After:
    """What the tables hold where nobody was killed."""

    @cache
    def after(*acts: str) -> State:
        box = letters_of_every_kind(tmp_path_factory.mktemp("unharmed") / "lake")
        for act in acts:
            ACTS[act](box)
        return box.state()

    return after


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return letters_of_every_kind(tmp_path / "lake")


def check(box: Box, expected: State) -> None:
    box.check()
    assert begun(box) == []
    assert box.state() == expected


@pytest.mark.parametrize("point", BEFORE_THE_INTENT)
def test_a_replay_that_was_killed_before_its_intent_has_done_nothing(box: Box, unharmed: After, point: str) -> None:
    kill(box, replay_letters, point)
    check_what_a_kill_left(box, point)
    assert box.state() == unharmed()
    box.replay()
    check(box, unharmed("replay"))


@pytest.mark.parametrize("point", ["prepared", "between_commits", "before_resolutions", "committed", "done"])
def test_a_replay_that_was_killed_after_its_intent_is_finished_before_the_next_one(
    box: Box, unharmed: After, point: str
) -> None:
    kill(box, replay_letters, point)
    check_what_a_kill_left(box, point)
    assert box.replay().recovered == 0, "what was begun came home by itself, and nothing is left to bring"
    check(box, unharmed("replay", "replay"))
    assert box.ids() == [1, 2, 10, 12, 14]


@pytest.mark.parametrize(
    "point", points(["judged", "before_resolutions"], ["prepared", "between_commits", "committed", "done"])
)
def test_an_edit_that_was_killed_is_there_once(box: Box, unharmed: After, point: str) -> None:
    kill(box, edit_letter, point, "plain.json", 2, CORRECTED)
    check_what_a_kill_left(box, point)
    if point in BEFORE_THE_INTENT:
        ACTS["edit"](box)
    else:
        with pytest.raises(Refused, match="is edited"):
            ACTS["edit"](box)
    check(box, unharmed("edit"))
    assert box.ids() == [1, 3, 10]


@pytest.mark.parametrize("point", points(["committed"], ["judged", "prepared"]))
def test_a_discarding_that_was_killed_closes_each_letter_once(box: Box, unharmed: After, point: str) -> None:
    kill(box, discard_letters, point)
    check_what_a_kill_left(box, point)
    assert box.discard().letters == (4 if point in BEFORE_THE_INTENT else 0)
    check(box, unharmed("discard"))


def test_what_another_command_finds_begun_it_finishes_first(box: Box, unharmed: After) -> None:
    kill(box, replay_letters, "between_commits")
    assert box.discard().letters == 3, "two that failed again, and the one that the file brought"
    check(box, unharmed("replay", "discard"))


def test_a_stream_takes_in_files_while_a_killed_replay_waits_to_be_finished(box: Box, unharmed: After) -> None:
    kill(box, replay_letters, "before_resolutions")
    ACTS["a file"](box)
    check_what_a_kill_left(box, "before_resolutions")
    ACTS["discard"](box)
    check(box, unharmed("replay", "a file", "discard"))
