"""How a batch is spread over tasks: balanced by bytes, with few tasks where there is little to do."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from smelter.bronze.work import Outcome, Work, do
from smelter.lake.batches import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

OPEN_COST_BYTES = 64 * 1024
TASK_BYTES = 4 * 1024 * 1024  # less than this is not worth a second task
_OUTCOME = "outcome binary"


def shares(units: Sequence[Unit], most: int | None = None) -> list[list[Unit]]:
    """The units of each task: the longest first, always to the task with the least."""
    weights = {unit.source: max(unit.length, 0) + OPEN_COST_BYTES for unit in units}
    wanted = -(-sum(weights.values()) // TASK_BYTES)
    count = max(1, min(len(units), most or os.cpu_count() or 1, wanted))
    parts: list[list[Unit]] = [[] for _ in range(count)]
    heap = [(0, number) for number in range(count)]
    for unit in sorted(units, key=lambda one: -weights[one.source]):
        weight, number = heapq.heappop(heap)
        parts[number].append(unit)
        heapq.heappush(heap, (weight + weights[unit.source], number))
    return [part for part in parts if part]


class OnSpark:
    """Runs work as tasks of a Spark job: one row per task goes in, one outcome per task comes out."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self, works: Sequence[Work]) -> Iterable[Outcome]:
        """All outcomes of one job."""
        numbers = self._spark.range(0, len(works), 1, len(works))
        rows = numbers.mapInArrow(_task_of(tuple(works)), _OUTCOME).collect()
        return [msgspec.json.decode(bytes(row.outcome), type=Outcome) for row in rows]


class Here:
    """Runs work in this process, for what is not worth a JVM."""

    def __call__(self, works: Sequence[Work]) -> Iterable[Outcome]:
        """All outcomes, one after another."""
        return [do(work) for work in works]


def _task_of(works: tuple[Work, ...]):  # type: ignore[no-untyped-def]  # Spark's own signature
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            outcomes = [msgspec.json.encode(do(works[number])) for number in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(outcomes, pa.binary())], names=["outcome"])

    return run
