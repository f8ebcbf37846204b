"""Silver beside somebody who compacts it: a merge that meets them is done again, and nothing is lost or doubled."""

from __future__ import annotations

import threading
from typing import Any

from conftest import Make
from pyiceberg.table.snapshots import Operation
from things import LATEST, moment, recomputed

from smelter.lake.home import SILVER
from smelter.lake.tables import load_table
from smelter.silver.build import Hooks


def some(*ids: str, seq: int) -> list[dict[str, Any]]:
    return [{"id": one, "region": 1, "at": moment(3), "seq": seq} for one in ids]


def test_merges_go_on_beside_a_compaction(make: Make) -> None:
    things = make(LATEST)
    things.arrive(some("a", "b", seq=0))
    things.build()
    compaction = f"CALL lake.system.rewrite_data_files(table => 'lake.silver.{things.name}', options => "
    failures: list[str] = []

    def compact() -> None:
        try:
            things.spark.newSession().sql(compaction + "map('rewrite-all', 'true'))")
        except Exception as problem:  # theirs may fail beside ours; ours must not
            failures.append(str(problem))

    for seq in range(1, 5):
        things.arrive(some("a", f"c{seq}", seq=seq))
        beside = threading.Thread(target=compact)
        things.build(Hooks(reach=lambda point, it=beside: it.start() if point == "table_ready" else None))
        beside.join()
    assert things.silver() == recomputed(things)
    snapshots = load_table(things.lake, SILVER, things.name).snapshots()
    assert any(one.summary and one.summary.operation is Operation.REPLACE for one in snapshots), failures
