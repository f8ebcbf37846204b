"""Appends in a loop beside compaction in a loop, on one table. The long form is `make soak`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from datasets import Dataset, contract_of

from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import load_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 10
PAUSE_SECONDS = 0.25  # a stream commits every second or so; without any pause a compaction never gets its turn


@dataclass(frozen=True)
class Found:
    """What became of both."""

    batches: int
    compactions: int
    conflicts: int
    rows: int
    expected: int


def append_beside_compaction(spark: SparkSession, data: Dataset, *, batches: int = 0, seconds: float = 0) -> Found:
    """Run until so many batches, or so many seconds; a batch that fails raises."""
    data.take([{"a": number} for number in range(ROWS)])
    over = threading.Event()
    counts = {"compactions": 0, "conflicts": 0}
    compactor = threading.Thread(target=_compact, args=(spark, data.name, over, counts))
    compactor.start()
    done, ends = 1, time.monotonic() + seconds
    try:
        while compactor.is_alive() and (done < batches or time.monotonic() < ends or not counts["compactions"]):
            data.take([{"a": number} for number in range(ROWS)])
            done += 1
            time.sleep(PAUSE_SECONDS)
    finally:
        over.set()
        compactor.join()
    rows = load_table(data.lake, BRONZE, data.name).scan().to_arrow().num_rows
    return Found(done, counts["compactions"], counts["conflicts"], rows, done * ROWS)


def _compact(spark: SparkSession, name: str, over: threading.Event, counts: dict[str, int]) -> None:
    """What somebody's cron script would do, with no thought for the stream."""
    options = "map('rewrite-all', 'true')"
    while not over.is_set():
        try:
            spark.sql(
                f"call lake.system.rewrite_data_files(table => 'lake.bronze.{name}', options => {options})"
            ).collect()
            counts["compactions"] += 1
        except Exception as problem:  # the compaction may lose against the stream; never the other way round
            if "CommitFailed" not in str(problem) and "Validation" not in str(problem):
                raise
            counts["conflicts"] += 1


def main() -> int:
    from smelter.lake.session import start_spark
    from smelter.settings import load_settings

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory(prefix="smelter-soak-") as scratch:
        settings = load_settings().values.model_copy(update={"lake": Path(scratch) / "lake", "catalog": None})
        lake = Lake.at(settings)
        spark = start_spark(lake, "soak", Path(scratch) / "run")
        found = append_beside_compaction(spark, Dataset(lake, contract_of("a: {type: int}")), seconds=seconds)
        spark.stop()
    print(found)
    return 0 if found.rows == found.expected else 1


if __name__ == "__main__":
    sys.exit(main())
