"""The crash matrix in its short form: what only a real Spark shows, and what no test of another room has."""

from __future__ import annotations

import pytest

from smelter.prove.ground import Ground
from smelter.prove.kills import kill_at_their_points
from smelter.prove.points import POINTS
from smelter.prove.rounds import Round, State, prove

pytestmark = pytest.mark.jvm
SEED = 20261116
SHORT = (
    *(point.name for point in POINTS if point.strike is kill_at_their_points),
    "kill_worker",
    "kill_jvm",
    "kill_at_random",
    "kill_in_restart",
    "care_after_crash",
    "care_beside_stream",
    "lose_file_list",
    "lose_receipts",
    "lose_prepared_data",
    "file_overwritten",
    "contract_changed_between_crash_and_restart",
    "contract_changed_beside_prepared_batch",
    "contract_changed_while_following",
)
ROUNDS = [Round(number, point, SEED + number) for number, point in enumerate(POINTS, start=1) if point.name in SHORT]


@pytest.fixture(scope="module")
def outcomes(ground: Ground) -> dict[str, tuple[State, tuple[str, ...]]]:
    return {one.round.point.name: (one.state, one.why) for one in prove(ground, ROUNDS)}


@pytest.mark.parametrize("point", [one.point.name for one in ROUNDS])
def test_every_record_is_in_one_place_after(outcomes: dict[str, tuple[State, tuple[str, ...]]], point: str) -> None:
    assert outcomes[point] == (State.HELD, ())


def test_nothing_is_left_of_rounds_that_held(
    ground: Ground, outcomes: dict[str, tuple[State, tuple[str, ...]]]
) -> None:
    assert outcomes
    assert ground.children == []
    names = {one.dataset for one in ROUNDS}
    assert [path for path in ground.folder.rglob("*") if path.name in names] == []
