"""One process of the soak: does its work again and again until it is asked to end. Usage: soak_worker.py NAME LAKE"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from soak import NAME, contract_of

from smelter.bronze.stream import Pace, ingest
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.replay import replay
from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.lake.tables import datasets
from smelter.maintenance.care import Hooks, new_run, run
from smelter.maintenance.engine import Engine
from smelter.maintenance.subjects import subjects_of
from smelter.prove.processes import QUICK_JVM
from smelter.records import Limits
from smelter.settings import Settings
from smelter.silver.build import build_silver
from smelter.supervise.lock import holder

_over = False


def main(name: str, lake: Lake) -> None:
    os.environ.setdefault("JDK_JAVA_OPTIONS", QUICK_JVM)
    if name in ("stream", "drain"):
        ingest(lake, contract_of(1), Limits(), Pace(follow=name == "stream", trigger_seconds=0.5))
        return
    signal.signal(signal.SIGTERM, _end)
    kind, _, once = name.partition("-")
    work = {"silver": _silver, "maintain": _maintain, "replay": _replay}[kind](lake)
    while not _over:
        if NAME in datasets(lake):
            work()
            print("round done", datetime.now(UTC).isoformat(), flush=True)
        if once:
            return
        time.sleep(1)


def _end(*_signal: object) -> None:
    global _over
    _over = True


def _silver(lake: Lake) -> Callable[[], object]:
    spark = start_spark(lake, "soak silver", lake.root / "run" / "soak-silver", cores=1)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    return lambda: build_silver(lake, NAME, spark=spark)


def _maintain(lake: Lake) -> Callable[[], object]:
    engine = Engine(lake, beside_stream=True)
    engine.__enter__()

    def care() -> None:
        live = [NAME] if holder(lake.run_folder(NAME)) is not None else []
        subjects = subjects_of(lake, live=live)
        for report in run(lake, subjects, engine, new_run(datetime.now(UTC)), hooks=Hooks()):
            if report.problem is not None:
                print(f"WRONG {report.table}: {report.problem}".replace("\n", " "), flush=True)
            elif report.steps:
                print(report.table, [one.said for one in report.steps], flush=True)

    return care


def _replay(lake: Lake) -> Callable[[], object]:
    return lambda: replay(lake, NAME, Filters(), Limits())


if __name__ == "__main__":
    main(sys.argv[1], Lake.at(Settings(lake=Path(sys.argv[2]))))
