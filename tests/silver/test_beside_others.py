"""Silver beside somebody who compacts it: a merge that meets them is done again, and nothing is lost or doubled."""

from __future__ import annotations

import threading
from typing import Any

from conftest import Make
from things import LATEST, moment, recomputed

from smelter.lake.home import SILVER
from smelter.lake.tables import load_table


def some(*ids: str, seq: int) -> list[dict[str, Any]]:
    return [{"id": one, "region": 1, "at": moment(3), "seq": seq} for one in ids]


def test_merges_go_on_beside_a_compaction(make: Make) -> None:
    things = make(LATEST)
    things.arrive(some("a", "b", seq=0))
    things.build()
    over = threading.Event()
    compaction = f"CALL lake.system.rewrite_data_files(table => 'lake.silver.{things.name}', options => "
    failures: list[str] = []

    def compact() -> None:
        session = things.spark.newSession()
        while not over.wait(0.7):
            try:
                session.sql(compaction + "map('rewrite-all', 'true'))")
            except Exception as problem:  # theirs may fail beside ours; ours must not
                failures.append(str(problem))

    beside = threading.Thread(target=compact)
    beside.start()
    try:
        for seq in range(1, 7):
            things.arrive(some("a", f"c{seq}", seq=seq))
            things.build()
    finally:
        over.set()
        beside.join()
    assert things.silver() == recomputed(things)
    operations = {
        str(one.summary.operation) for one in load_table(things.lake, SILVER, things.name).snapshots() if one.summary
    }
    assert "Operation.REPLACE" in operations, failures
