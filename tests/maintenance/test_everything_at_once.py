"""The short form of the soak: a stream commits all the while, and beside it care, silver and replay, with crashes."""

from __future__ import annotations

import random
import threading
from contextlib import suppress

import pytest
from conftest import NewShed
from sheds import Shed, later

from bronze.accounts import check
from bronze.crashes import Crash, crash_at
from dead_letters.boxes import Box
from smelter.lake.home import BRONZE, DEAD_LETTERS, SILVER
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.steps import Step

pytestmark = pytest.mark.jvm
POINTS = ("before_compaction", "compacted", "before_expiry", "expired", "before_manifests")


@pytest.mark.parametrize("seed", [1])
def test_a_stream_silver_replay_and_care_at_once_with_crashes_lose_and_double_nothing(make: NewShed, seed: int) -> None:
    chance = random.Random(seed)
    shed = make(maintenance="snapshots: 1m, most_snapshots: 10")
    shed.commit(6)
    problems: list[BaseException] = []
    stream = threading.Thread(target=_commit, args=(shed, 30, problems))
    stream.start()
    rounds = 0
    while stream.is_alive() or rounds < 4:
        rounds += 1
        with suppress(Crash):
            crash = crash_at(chance.choice(POINTS)) if chance.random() < 0.5 else lambda _point: None
            for report in shed.care(BRONZE, DEAD_LETTERS, now=later(hours=rounds), reach=crash):
                assert report.problem is None, report.problem
        shed.build_silver()
        if chance.random() < 0.5:
            Box(shed.lake, shed.contract).replay()
    stream.join()
    assert problems == []
    shed.build_silver()
    shed.care(BRONZE, DEAD_LETTERS, SILVER, now=later(days=1))
    check(shed)
    assert reconcile(shed.lake, shed.name).is_balanced
    assert sorted(row["id"] for row in shed.rows(SILVER)) == sorted(row["id"] for row in shed.rows())
    assert not any(step.step == Step.COMPACT for one in shed.plan(BRONZE, DEAD_LETTERS, SILVER) for step in one.steps)


def _commit(shed: Shed, batches: int, problems: list[BaseException]) -> None:
    try:
        shed.commit(batches)
    except BaseException as problem:
        problems.append(problem)
