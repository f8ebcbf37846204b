"""The crash matrix in its short form: every point that needs no process of its own, and one kill of a real driver."""

from __future__ import annotations

import pytest

from smelter.prove.ground import Ground
from smelter.prove.points import POINTS
from smelter.prove.rounds import Round, State, prove

pytestmark = pytest.mark.jvm
SEED = 20261116
# These start a driver of their own each, which tests/bronze does too; `smelt prove` has them all.
IN_THE_LONG_FORM = {"kill_jvm", "stop_in_batch", "two_drivers"}
ROUNDS = [
    Round(number, point, SEED + number)
    for number, point in enumerate(POINTS, start=1)
    if point.name not in IN_THE_LONG_FORM
]


@pytest.fixture(scope="module")
def outcomes(ground: Ground) -> dict[str, tuple[State, tuple[str, ...]]]:
    return {one.round.point.name: (one.state, one.why) for one in prove(ground, ROUNDS)}


@pytest.mark.parametrize("point", [one.point.name for one in ROUNDS])
def test_every_record_is_in_one_place_after(outcomes: dict[str, tuple[State, tuple[str, ...]]], point: str) -> None:
    state, why = outcomes[point]
    if state is State.NOT_RUN:
        pytest.skip(why[0])
    assert (state, why) == (State.HELD, ())


def test_nothing_is_left_of_rounds_that_held(
    ground: Ground, outcomes: dict[str, tuple[State, tuple[str, ...]]]
) -> None:
    assert outcomes
    assert ground.children == []
    names = {one.dataset for one in ROUNDS}
    assert [path for path in ground.folder.rglob("*") if path.name in names] == []
