"""`smelt bench stream`: what does one small batch cost when the stream has seen a hundred files, and ten thousand?"""

from __future__ import annotations

import os
import queue
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from smelter.bronze.batch import Report
from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.contracts import Contract
from smelter.lake.home import Lake
from smelter.producer import Plan, produce
from smelter.records import Limits

SMALL_BATCHES = 15
RECORDS = 100
_TICKS = os.sysconf("SC_CLK_TCK")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Seen:
    """Small batches after a number of files: each is one new file of a hundred records."""

    files: int
    cpu_seconds: float
    seconds: float
    commit_seconds: float
    rounds: tuple[float, ...]


@dataclass(frozen=True)
class StreamBench:
    """Everything that one run measured; ratios compare the last with the first."""

    rows: tuple[Seen, ...]

    @property
    def ratios(self) -> dict[str, float]:
        """How much more a small batch costs when many files have been seen."""
        first, last = self.rows[0], self.rows[-1]
        return {
            "CPU-seconds": last.cpu_seconds / first.cpu_seconds,
            "seconds from arrival to commit": last.seconds / first.seconds,
        }

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        return {"rows": [asdict(row) for row in self.rows], "ratios": self.ratios}


def bench_stream(lake: Lake, contract: Contract, counts: tuple[int, ...], say: Say) -> StreamBench:
    """Follow a folder, fill it to each count in turn, and time single files after each."""
    reports: queue.Queue[Report] = queue.Queue()
    over = threading.Event()
    hooks = Hooks(report=reports.put, should_stop=over.is_set)
    pace = Pace(follow=True, trigger_seconds=0.1)
    failure: list[BaseException] = []
    driver = threading.Thread(target=_drive, args=(lake, contract, pace, hooks, failure))
    driver.start()
    try:
        landing, rows, made = lake.landing(contract), [], 0
        for count in counts:
            made = _fill(landing, contract, made, count, reports, failure)
            say(f"{count:,} files seen")
            rows.append(_measure(landing, contract, count, reports, failure))
            made += SMALL_BATCHES
    finally:
        over.set()
        driver.join()
    return StreamBench(tuple(rows))


def _drive(lake: Lake, contract: Contract, pace: Pace, hooks: Hooks, failure: list[BaseException]) -> None:
    try:
        ingest(lake, contract, Limits(), pace, hooks)
    except BaseException as problem:
        failure.append(problem)


def _fill(
    landing: Path, contract: Contract, made: int, count: int, reports: queue.Queue[Report], failure: list[BaseException]
) -> int:
    plan = Plan(count=count - made, to=landing / f"to-{count}", seed=count, records_per_file=1)
    wanted = len(produce(contract, plan).files)
    while wanted > 0:
        wanted -= _next(reports, failure).files
    return count


def _measure(
    landing: Path, contract: Contract, count: int, reports: queue.Queue[Report], failure: list[BaseException]
) -> Seen:
    cpu, seconds, commits = [], [], []
    for number in range(SMALL_BATCHES):
        aside = landing / f".small-{count}-{number}"
        plan = Plan(count=RECORDS, to=aside, seed=count + number, records_per_file=RECORDS)
        (file,) = produce(contract, plan).files
        time.sleep(0.5)  # let the last batch's own tidying end, so that it is not counted here
        used, started = _cpu_seconds(), time.monotonic()
        file.rename(landing / f"small-{count}-{number}.json")
        report = _next(reports, failure)
        seconds.append(time.monotonic() - started)
        cpu.append(_cpu_seconds() - used)
        commits.append(report.seconds)
    half = SMALL_BATCHES // 2  # the first ones still warm up
    return Seen(
        count,
        statistics.median(cpu[half:]),
        statistics.median(seconds[half:]),
        statistics.median(commits[half:]),
        tuple(round(one, 3) for one in seconds),
    )


def _next(reports: queue.Queue[Report], failure: list[BaseException]) -> Report:
    while True:
        try:
            return reports.get(timeout=1)
        except queue.Empty:
            if failure:
                raise failure[0] from None


def _cpu_seconds() -> float:
    """What this process and all below it have used: the JVM and Spark's workers are among them."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(words[1])
            used[int(folder.name)] = int(words[11]) + int(words[12])
    return sum(ticks for pid, ticks in used.items() if _is_below(pid, parents)) / _TICKS


def _is_below(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()
