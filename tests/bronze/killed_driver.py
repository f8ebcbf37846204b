"""Streams in a process of their own that stop at a point each and are then killed, all by one kill -9.

Usage: killed_driver.py LAKE CONTRACTS DATASET:POINT … (the last point is in a task, and the task does the killing)
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.contracts import load_contract
from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.lake.tables import ensure_tables
from smelter.records import Limits
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES_PER_BATCH = 4
IN_A_TASK = "task_writing"


@dataclass
class Halt:
    """Stops a stream for ever in its second batch."""

    point: str
    reached: threading.Event
    times: int = 0

    def __call__(self, here: str) -> None:
        self.times += here == self.point
        if here == self.point and self.times == 2:
            self.reached.set()
            threading.Event().wait()


@dataclass(frozen=True)
class KillFromTask:
    """Kills the driver from within a task that has a data file half written."""

    driver: int
    tables: Path

    def __call__(self, _point: str) -> None:
        if any(not path.read_bytes().endswith(b"PAR1") for path in self.tables.rglob("*.parquet")):
            os.kill(self.driver, signal.SIGKILL)
            time.sleep(60)  # its JVM ends, and this worker with it


def main(lake_root: str, contracts: str, *halts: str) -> None:
    lake = Lake.at(Settings(lake=Path(lake_root)))
    spark = start_spark(lake, "killed", lake.root / "run" / "killed")
    events: list[threading.Event] = []
    for dataset, _, point in (halt.partition(":") for halt in halts):
        if point == IN_A_TASK:
            await_all(events)
            killer = KillFromTask(os.getpid(), Path(lake.table_location("bronze", dataset)))
            start(lake, contracts, dataset, Hooks(task_reach=killer), spark)
            threading.Event().wait(timeout=120)
            sys.exit("no task killed its driver")
        events.append(threading.Event())
        start(lake, contracts, dataset, Hooks(reach=Halt(point, events[-1])), spark)


def start(lake: Lake, contracts: str, dataset: str, hooks: Hooks, spark: SparkSession) -> None:
    contract = load_contract(Path(contracts) / f"{dataset}.yaml")
    ensure_tables(lake, contract)
    words = (lake, contract, Limits(), Pace(max_files=FILES_PER_BATCH), hooks, spark)
    threading.Thread(target=ingest, args=words, daemon=True).start()


def await_all(events: list[threading.Event]) -> None:
    for event in events:
        if not event.wait(timeout=120):
            sys.exit("a stream did not come to its point")


if __name__ == "__main__":
    main(*sys.argv[1:])
