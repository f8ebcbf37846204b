"""`smelt bench silver`: what does an increment cost as the table grows, and what do twenty checks add to a run?"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smelter.bench.bronze_result import Ratio
from smelter.bench.meters import cpu_seconds, machine
from smelter.bench.silver_rows import Benched
from smelter.contracts import Contract
from smelter.lake.home import SILVER, Lake
from smelter.lake.session import start_spark
from smelter.lake.tables import load_table
from smelter.silver.build import Wishes, build_silver
from smelter.silver.report import SilverReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]
ROUNDS = 5
GATE_ROUNDS = 9  # whole commands, which a neighbour on the machine makes a fifth slower now and then
_LOOK_SECONDS = 0.1
CHECKS = """
- {name: c01, check: not_null, column: user_id}
- {name: c02, check: not_null, column: event_id}
- {name: c03, check: not_null, column: product_id}
- {name: c04, check: unique, columns: [event_id]}
- {name: c05, check: in_set, column: event_type, values: [page_view, purchase]}
- {name: c06, check: in_set, column: event_type, values: [page_view, purchase, refund]}
- {name: c07, check: between, column: event_timestamp, min: 2020-01-01T00:00:00Z, max: 2100-01-01T00:00:00Z}
- {name: c08, check: between, column: amount, min: 0, max: 1000}
- {name: c09, check: between, column: amount, min: 0, max: 100, on_failure: warn}
- {name: c10, check: row_count, min: 1, max: 100000000}
- {name: c11, check: row_count, min: 1}
- {name: c12, check: null_share, column: product_id, max_share: 10%}
- {name: c13, check: null_share, column: amount, max_share: 99%}
- {name: c14, check: null_share, column: properties, max_share: 1%}
- {name: c15, check: freshness, column: event_timestamp, max_age: 36500d}
- {name: c16, check: regex, column: event_id, pattern: "[0-9a-f]{32}"}
- {name: c17, check: regex, column: user_id, pattern: "user-[0-9]+"}
- {name: c18, check: regex, column: product_id, pattern: "sku-[0-9]+"}
- {name: c19, check: sql, expression: "event_type <> 'purchase' or amount is not null"}
- {name: c20, check: sql, expression: "properties['browser'] is not null"}
"""


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Grown:
    """Increments of one size into a table of another."""

    table_rows: int
    increment_rows: int
    files: int
    files_scanned: int
    rounds: tuple[Cost, ...]

    @property
    def seconds(self) -> float:
        """Of the round in the middle; the first, which warms up, is left out."""
        return statistics.median(one.seconds for one in self.rounds[1:])

    @property
    def cpu_seconds(self) -> float:
        """The same for processor time."""
        return statistics.median(one.cpu_seconds for one in self.rounds[1:])


@dataclass(frozen=True)
class Gate:
    """Whole runs of `smelt silver` on new tables, with twenty checks and without any, in turns."""

    rows: int
    without: tuple[Cost, ...]
    checked: tuple[Cost, ...]


@dataclass(frozen=True)
class SilverBench:
    """Everything that one run measured."""

    machine: dict[str, str]
    grown: tuple[Grown, Grown]
    gate: Gate

    @property
    def ratios(self) -> list[Ratio]:
        """What the figures say, beside what was promised."""
        small, large = self.grown
        sizes = f"{large.table_rows:,} / {small.table_rows:,} rows in the table"
        return [
            Ratio(f"s per increment of {small.increment_rows:,}, {sizes}", large.seconds / small.seconds, "below 1.5"),
            Ratio("the same, CPU-s", large.cpu_seconds / small.cpu_seconds, ""),
            Ratio(f"s of a run on {self.gate.rows:,} rows, 20 checks / none", self._gate("seconds"), "below 1.15"),
            Ratio("the same, CPU-s", self._gate("cpu_seconds"), ""),
        ]

    def _gate(self, what: str) -> float:
        def middle(rounds: tuple[Cost, ...]) -> float:
            return statistics.median(float(getattr(one, what)) for one in rounds)

        return middle(self.gate.checked) / middle(self.gate.without)

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The figures as rows of a table, with every round."""
        for one in self.grown:
            what = f"{one.increment_rows:,} into {one.table_rows:,}, {one.files_scanned} of {one.files} files scanned"
            yield what, *_cells(one.rounds)
        yield f"first run, {self.gate.rows:,} rows, no check", *_cells(self.gate.without)
        yield f"first run, {self.gate.rows:,} rows, 20 checks", *_cells(self.gate.checked)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "ratios": [asdict(ratio) for ratio in self.ratios]}

    def as_markdown(self) -> str:
        """The page."""
        lines = ["# Silver, measured", "", "Made by `smelt bench silver --output docs/benchmarks`, in one run.", ""]
        lines += [", ".join(f"{name} {value}" for name, value in self.machine.items()), ""]
        lines += markdown_table(("run", "every round, s", "every round, CPU-s"), self.rows())
        lines += ["", *markdown_table(("ratio", "found", "wanted"), (ratio.cells() for ratio in self.ratios))]
        return "\n".join([*lines, "", _METHOD]) + "\n"


_METHOD = """An increment is mostly of the last two days; one row in fifty is up to a week late, one in twenty is known
already. The tables have 100,000 rows a day, and grow in turns. The first round warms up and does not count. The runs
with and without checks are whole commands, from the start of Python to its end, each on a table that is not there yet,
in turns."""


def bench_silver(lake: Lake, shipped: Contract, sizes: tuple[int, int], increment: int, say: Say) -> SilverBench:
    """Grow two tables in turns, then run the command with checks and without."""
    spark = start_spark(lake, "smelter bench", lake.root / "run" / "bench", builds=True)
    tables = [_Growing(spark, lake, shipped, rows, increment, say) for rows in sizes]
    for number in range(ROUNDS):
        for table in tables:  # in turns: the JVM is quicker in each round than in the one before
            table.grow(number)
    small, large = (table.grown() for table in tables)
    datasets = {name: Benched.of(lake, shipped, name, quality) for name, quality in _GATES.items()}
    for one in datasets.values():
        one.fill(spark, sizes[0])
    spark.stop()
    gate = _gate(datasets, sizes[0], say)
    return SilverBench(machine("pyspark", "pyiceberg", "great-expectations"), (small, large), gate)


_SMELT = "from smelter.cli.main import main; main()"
_GATES = {"unchecked": "", "checked": f"quality:{CHECKS}"}


class _Growing:
    """A table of a number of rows, into which increments are merged."""

    def __init__(self, spark: SparkSession, lake: Lake, shipped: Contract, rows: int, increment: int, say: Say) -> None:
        self._spark, self._rows, self._increment, self._say = spark, rows, increment, say
        self._data = Benched.of(lake, shipped, f"grown_{rows}")
        self._data.fill(spark, rows)
        self._build()
        self._rounds: list[Cost] = []
        self._scanned = 0
        say(f"a table of {rows:,} rows")

    def grow(self, number: int) -> None:
        """Merge one increment."""
        self._data.add(self._spark, self._rows, self._increment, number)
        started, used = time.monotonic(), cpu_seconds()
        report = self._build()
        cost = Cost(round(time.monotonic() - started, 3), round(cpu_seconds() - used, 2))
        self._rounds.append(cost)
        spans = report.taken[0].spans
        self._scanned = _files(self._data, spans.filter("event_timestamp") if spans is not None else None)
        self._say(f"{self._increment:,} rows into {self._rows:,}: {cost.seconds:.2f} s, {cost.cpu_seconds:.2f} CPU-s")

    def grown(self) -> Grown:
        """What it took."""
        return Grown(self._rows, self._increment, _files(self._data, None), self._scanned, tuple(self._rounds))

    def _build(self) -> SilverReport:
        return build_silver(self._data.lake, self._data.contract.dataset, Wishes(), spark=self._spark)


def _files(data: Benched, row_filter: Any) -> int:
    table = load_table(data.lake, SILVER, data.contract.dataset)
    scan = table.scan() if row_filter is None else table.scan(row_filter=row_filter)
    return sum(1 for _ in scan.plan_files())


def _gate(datasets: dict[str, Benched], rows: int, say: Say) -> Gate:
    costs: dict[str, list[Cost]] = {name: [] for name in datasets}
    for _ in range(GATE_ROUNDS):
        for name, data in datasets.items():
            cost = _smelt_silver(data.lake, name)
            costs[name].append(cost)
            say(f"smelt silver on {rows:,} rows, {name}: {cost.seconds:.1f} s, {cost.cpu_seconds:.1f} CPU-s")
            data.lake.catalog.drop_table((SILVER, name))
    return Gate(rows, tuple(costs["unchecked"]), tuple(costs["checked"]))


def _smelt_silver(lake: Lake, name: str) -> Cost:
    """The command, as a person runs it. Its JVM is nobody's child when it ends, so it is looked at until then."""
    words = [sys.executable, "-c", _SMELT, "--lake", str(lake.root), "silver", name, "--json"]
    environ = {word: value for word, value in os.environ.items() if not word.startswith("SMELTER_")}
    environ["SMELTER_JARS"] = str(lake.jars)
    environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    started, used = time.monotonic(), 0.0
    with tempfile.TemporaryFile("w+") as said, subprocess.Popen(words, env=environ, stdout=said) as process:
        while process.poll() is None:
            used = max(used, cpu_seconds(process.pid))
            time.sleep(_LOOK_SECONDS)
        seconds = time.monotonic() - started
        said.seek(0)
        assert process.returncode == 0, f"smelt silver {name} failed"
        assert json.load(said)["rows"] > 0, f"smelt silver {name} did nothing"
    return Cost(round(seconds, 3), round(used, 2))


def _cells(rounds: tuple[Cost, ...]) -> tuple[str, str]:
    return " ".join(f"{one.seconds:.2f}" for one in rounds), " ".join(f"{one.cpu_seconds:.2f}" for one in rounds)


def markdown_table(columns: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> list[str]:
    """A table of a page."""
    return [f"| {' | '.join(line)} |" for line in (columns, ("---",) * len(columns), *rows)]
