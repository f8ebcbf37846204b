"""Silver is bronze with each thing once, whatever the order, the increments and the interruptions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from conftest import Make
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from things import FIRST, LATEST, LATEST_STABLE, NUMBER, STABLE, Things, moment, recomputed

from smelter.silver.build import Hooks

if TYPE_CHECKING:
    from collections.abc import Sequence

POINTS = ("spark_started", "read", "judged", "table_ready", "published")
EXAMPLES = int(os.environ.get("EXAMPLES", "3"))


class _Killed(BaseException):
    """What stops a run in the middle."""


def killed_at(point: str) -> Hooks:
    def reach(reached: str) -> None:
        if reached == point:
            raise _Killed

    return Hooks(reach=reach)


records = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "ü", None]), "region": st.sampled_from([1, 2, None])},
    optional={
        "at": st.builds(moment, st.integers(0, 20), st.integers(0, 80_000)),
        "seq": st.integers(0, 3) | st.none(),
        "text": st.sampled_from(["1", "-7", "seven", ""]),
    },
)
batches = st.lists(records, min_size=1, max_size=6)
steps = st.lists(
    st.tuples(
        st.lists(batches, min_size=1, max_size=3),
        st.booleans(),  # the first file of the step arrives a second time
        st.sampled_from([None, None, *POINTS]),  # where the run is killed
        st.booleans(),  # whether it is run again at once
    ),
    min_size=1,
    max_size=4,
)


def stable(record: dict[str, Any]) -> dict[str, Any]:
    """The same record with a time that its key alone decides."""
    day = sum(map(ord, f"{record['id']}{record['region']}")) % 20
    return record | {"at": moment(day)}


@pytest.mark.parametrize("silver", [FIRST, STABLE, LATEST, LATEST_STABLE])
def test_silver_is_a_plain_recomputation_from_bronze(make: Make, silver: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=EXAMPLES <= 3,
        database=None,
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if EXAMPLES > 3 else [])],
        suppress_health_check=list(HealthCheck),
    )
    @given(steps, st.sampled_from([2, 5, 1000]))
    def holds(steps: Sequence[Any], most_rows: int) -> None:
        things = make(f"{silver}, {NUMBER}")
        for arrivals, again, killed, goes_on in steps:
            told = [[stable(one) for one in batch] for batch in arrivals] if "stable" in silver else arrivals
            for batch in [*told, *(told[:1] if again else [])]:
                things.arrive(batch)
            run(things, most_rows, killed)
            if goes_on:
                things.build(most_rows=most_rows)
        things.build(most_rows=most_rows)
        assert things.silver() == recomputed(things)
        rests = things.snapshots()
        things.build()
        assert things.snapshots() == rests

    holds()


def run(things: Things, most_rows: int, killed: str | None) -> None:
    if killed is None:
        things.build(most_rows=most_rows)
        return
    with pytest.raises(_Killed):
        things.build(killed_at(killed), most_rows=most_rows)
