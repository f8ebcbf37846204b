"""`smelt bench stream`: what does one small batch cost when the stream has seen a hundred files, and ten thousand?"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from smelter.bench.follower import Follower
from smelter.bench.small_batches import RECORDS, small_batch
from smelter.contracts import Contract
from smelter.lake.home import Lake
from smelter.producer import Plan, produce

SMALL_BATCHES = 15
_SETTLE_SECONDS = 0.5
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
    rows, made = [], 0
    with Follower(lake, contract) as follower:
        for count in counts:
            _fill(follower, made, count)
            say(f"{count:,} files seen")
            rows.append(_measure(follower, count))
            made = count + SMALL_BATCHES
    return StreamBench(tuple(rows))


def _fill(follower: Follower, made: int, count: int) -> None:
    plan = Plan(count=count - made, to=follower.landing / f"to-{count}", seed=count, records_per_file=1)
    follower.wait_for_files(len(produce(follower.contract, plan).files))


def _measure(follower: Follower, count: int) -> Seen:
    batches = []
    for number in range(SMALL_BATCHES):
        aside = follower.landing / f".small-{count}-{number}"
        plan = Plan(count=RECORDS, to=aside, seed=count + number, records_per_file=RECORDS)
        (file,) = produce(follower.contract, plan).files
        batches.append(small_batch(follower, file, f"small-{count}-{number}.json", _SETTLE_SECONDS))
    warm = batches[SMALL_BATCHES // 2 :]  # the first ones still warm up
    return Seen(
        count,
        statistics.median(batch.cpu_seconds for batch in warm),
        statistics.median(batch.seconds for batch in warm),
        statistics.median(batch.commit_seconds for batch in warm),
        tuple(round(batch.seconds, 3) for batch in batches),
    )
