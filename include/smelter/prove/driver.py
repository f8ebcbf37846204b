"""A driver in a process of its own, with orders where to end: `python -m smelter.prove.driver PARENT LAKE JARS ORDERS`.

One stream runs in the main thread, as `smelt ingest` does. Several run in threads and end with one kill -9.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.contracts import parse_contract
from smelter.errors import SmelterError
from smelter.lake.home import BRONZE, Lake
from smelter.prove.processes import die_with
from smelter.prove.scene import at
from smelter.records import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_A_TASK = "task_writing"
FOR_EVER = 600.0


class Order(msgspec.Struct, frozen=True):
    """What one stream has to do: come to a point for the nth time, do something there, and say so in a file."""

    contract: str
    act: str  # halt | die | die_in_task | kill_jvm | wait | fill
    point: str
    nth: int
    mark: str  # a file that is made when the point is reached
    said: str = ""  # fill: a file for what the stream said at its end
    place: str = ""  # wait: for as long as this file is there; fill: this folder
    follow: bool = False
    max_files: int = 4


def main(parent: str, lake: str, jars: str, orders: str) -> int:
    """Carry out the orders; the exit code is that of `smelt ingest`."""
    die_with(int(parent))
    home = Lake(Path(lake), Path(jars))
    given = msgspec.json.decode(Path(orders).read_bytes(), type=list[Order])
    if given[0].act == "fill":
        return _fill_together(home, given)
    if len(given) > 1 or given[0].act == "die_in_task":
        return _together(home, given)
    try:
        return _run(home, given[0])
    except SmelterError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code


def _run(lake: Lake, order: Order, spark: SparkSession | None = None) -> int:
    """One stream, as `smelt ingest` runs it."""
    contract = parse_contract(order.contract, "the orders")
    pace = Pace(follow=order.follow, trigger_seconds=0.2, max_files=order.max_files)
    ingest(lake, contract, Limits(), pace, _hooks(lake, order), spark)
    return 0


def _together(lake: Lake, orders: list[Order]) -> int:
    """Streams that halt, each at its point; the last may end all of them from one of its tasks."""
    from smelter.lake.session import start_spark

    spark = start_spark(lake, "smelter prove", Path(orders[0].mark).parent / "spark")
    for order in sorted(orders, key=lambda one: one.act == "die_in_task"):
        if order.act == "die_in_task":
            _await(lambda: all(Path(one.mark).exists() for one in orders if one.act == "halt"))
        threading.Thread(target=_run, args=(lake, order, spark), daemon=True).start()
    time.sleep(FOR_EVER)
    return 1


def _fill_together(lake: Lake, orders: list[Order]) -> int:
    """Streams whose disks are full from a point on, each with a disk of its own; what each said is written down."""
    from smelter.lake.session import start_spark
    from smelter.prove.small_disk import on_a_small_disk

    spark = start_spark(lake, "smelter prove", Path(orders[0].mark).parent / "spark")
    for order in orders:
        with on_a_small_disk(Path(order.place)):
            try:
                _run(lake, order, spark)
            except Exception as problem:
                Path(order.said).write_text(f"{type(problem).__name__}: {problem}", "utf-8")
    return 0


def _await(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.02)


def _hooks(lake: Lake, order: Order) -> Hooks:
    mark = Path(order.mark)
    acts: dict[str, Callable[[], None]] = {
        "halt": lambda: _halt(mark),
        "die": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "kill_jvm": lambda: _kill_jvm(mark),
        "wait": lambda: _wait_while(Path(order.place), mark),
        "fill": lambda: _fill(order),
    }
    if order.act == "die_in_task":
        tables = Path(lake.table_location(BRONZE, parse_contract(order.contract, "the orders").dataset))
        return Hooks(task_reach=KillFromTask(os.getpid(), tables, mark))
    if order.act == "wait":  # at each of its batches, for as long as the gate is shut
        return Hooks(reach=lambda here: acts["wait"]() if here == order.point else None)
    return Hooks(reach=at(order.point, order.nth, acts[order.act]))


def _halt(mark: Path) -> None:
    mark.touch()
    threading.Event().wait()


def _fill(order: Order) -> None:
    from smelter.prove.small_disk import fill

    Path(order.mark).touch()
    fill(Path(order.place))


def _wait_while(gate: Path, mark: Path) -> None:
    while gate.exists():
        mark.touch()
        time.sleep(0.02)
    mark.unlink(missing_ok=True)


def _kill_jvm(mark: Path) -> None:
    from pyspark import SparkContext

    mark.touch()
    assert SparkContext._gateway is not None
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
    time.sleep(0.5)  # until everybody has noticed


@dataclass(frozen=True)
class KillFromTask:
    """Kills the driver from within a task that has a data file half written; it travels to the task."""

    driver: int
    tables: Path
    mark: Path

    def __call__(self, _point: str) -> None:
        """Called by the task after each part of a file."""
        if any(not _is_whole(path) for path in self.tables.rglob("*.parquet")):
            self.mark.touch()
            os.kill(self.driver, signal.SIGKILL)
            time.sleep(FOR_EVER)  # its JVM ends, and this worker with it


def _is_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4))
        return file.read() == b"PAR1"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
