"""What `smelt bench bronze` found: figures, the ratios that follow from them, and the page that tells them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from smelter.bench.small_batches import KEPT_SNAPSHOTS, SmallBatches

TITLES = {
    "smelter": "Smelter",
    "duckdb": "DuckDB to Parquet",
    "pyiceberg": "PyArrow + PyIceberg",
    "plain_spark": "plain Spark job",
}
ABOUT = {
    "smelter": "every check, dead letters, two tables, receipts, exactly once",
    "duckdb": "no check, no table: the ceiling",
    "pyiceberg": "no check, one table; reads no arrays",
    "plain_spark": "the checks that Spark's functions can make, two tables",
}


@dataclass(frozen=True)
class Round:
    """One contender, once over one set of files."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Figure:
    """One contender on one set of files, every round."""

    files: str
    contender: str
    records: int
    rounds: tuple[Round, ...]

    @property
    def rows_per_second(self) -> float:
        """Of the quickest round."""
        return self.records / min(one.seconds for one in self.rounds)

    @property
    def rows_per_cpu_second(self) -> float:
        """Of the round that used least."""
        return self.records / min(one.cpu_seconds for one in self.rounds)

    @property
    def peak_mb(self) -> float:
        """The most of all rounds."""
        return max(one.peak_mb for one in self.rounds)

    def as_json(self) -> dict[str, Any]:
        """With what follows from the rounds."""
        return {
            **asdict(self),
            "rows_per_second": round(self.rows_per_second),
            "rows_per_cpu_second": round(self.rows_per_cpu_second),
            "peak_mb": self.peak_mb,
        }

    def cells(self) -> tuple[str, ...]:
        """One row of a table."""
        return (
            self.files,
            TITLES[self.contender],
            f"{self.rows_per_second:,.0f}",
            f"{self.rows_per_cpu_second:,.0f}",
            f"{self.peak_mb:,.0f}",
            " ".join(f"{one.seconds:.2f}" for one in self.rounds),
            " ".join(f"{one.cpu_seconds:.2f}" for one in self.rounds),
        )


COLUMNS = ("files", "contender", "rows/s", "rows/CPU-s", "peak MB", "every round, s", "every round, CPU-s")


@dataclass(frozen=True)
class Ratio:
    """One number to remember, and what was promised of it."""

    name: str
    value: float
    wanted: str

    def cells(self) -> tuple[str, str, str]:
        """One row of a table."""
        return self.name, f"{self.value:.2f}", self.wanted


@dataclass(frozen=True)
class BronzeBench:
    """Everything that one run measured."""

    machine: dict[str, str]
    events: int
    bytes_per_event: int
    figures: tuple[Figure, ...]
    first_commits: dict[str, float]
    spread: tuple[Figure, Figure]
    sizes: tuple[Figure, Figure]
    small: SmallBatches

    @property
    def ratios(self) -> list[Ratio]:
        """What the figures say, beside what was promised."""
        return [*self._beside_others(), *self._beside_itself()]

    def _beside_others(self) -> Iterator[Ratio]:
        found = {(figure.files, figure.contender): figure for figure in self.figures}
        for files in dict.fromkeys(figure.files for figure in self.figures):
            ours, ceiling, spark = (found[files, name] for name in ("smelter", "duckdb", "plain_spark"))
            share = ours.rows_per_second / ceiling.rows_per_second
            yield Ratio(
                f"{files}: rows/s, Smelter / DuckDB", share, "at least 0.30, aim 0.50" if "0 %" in files else ""
            )
            gain = ours.rows_per_cpu_second / spark.rows_per_cpu_second
            yield Ratio(f"{files}: rows/CPU-s, Smelter / plain Spark", gain, "at least 2.5")

    def _beside_itself(self) -> Iterator[Ratio]:
        one, many = self.spread
        cost = one.rows_per_cpu_second / many.rows_per_cpu_second
        yield Ratio(f"CPU per record, {many.files} / {one.files} of {one.records:,}", cost, "at most 1.3")
        small, large = self.sizes
        more = (large.peak_mb - small.peak_mb) / 1000
        yield Ratio(f"GB of memory that {large.files} takes more than {small.files}", more, "at most 0.25")
        yield Ratio(
            "s from arrival to commit, one file of 100 records, median", self.small.seconds, "below 0.9, aim 0.5"
        )
        ends = f"last {self.small.compared} / first {self.small.compared} of {len(self.small.batches)}"
        yield Ratio(f"s per small batch, {ends}", self.small.growth(lambda batch: batch.seconds), "no growth")
        yield Ratio(f"CPU-s per small batch, {ends}", self.small.growth(lambda batch: batch.cpu_seconds), "no growth")

    def first_commit_cells(self) -> list[tuple[str, str]]:
        """Seconds from the start of a process to its first commit."""
        return [(TITLES[name], f"{seconds:.1f}") for name, seconds in self.first_commits.items()]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "machine": self.machine,
            "events": self.events,
            "bytes_per_event": self.bytes_per_event,
            "figures": [figure.as_json() for figure in self.figures],
            "seconds_to_first_commit": self.first_commits,
            "one_file_and_many": [figure.as_json() for figure in self.spread],
            "small_file_and_large": [figure.as_json() for figure in self.sizes],
            "small_batches": [[round(b.seconds, 3), round(b.cpu_seconds, 2)] for b in self.small.batches],
            "ratios": {ratio.name: round(ratio.value, 3) for ratio in self.ratios},
        }

    def as_markdown(self) -> str:
        """For the docs: what was run on what, ratios, raw numbers."""
        figures = [*self.figures, *self.spread, *self.sizes]
        lines = [
            "# Bronze",
            "",
            "![Rows per second and per CPU-second of each contender](bronze.png)",
            "",
            f"Written by `smelt bench bronze --output docs/benchmarks`: {self.events:,} events of about "
            f"{self.bytes_per_event} bytes,",
            "files to tables. Every contender is a warm process of its own and writes zstd; they take turns.",
            "Processor time and memory are those of the whole tree of processes: JVM and Spark's Python workers too.",
            "",
            ", ".join(f"{name} {value}" for name, value in self.machine.items()) + ".",
            "",
            *_table(("contender", "what it does"), [(TITLES[name], about) for name, about in ABOUT.items()]),
            "",
            *_table(("ratio, from this one run", "found", "wanted"), [ratio.cells() for ratio in self.ratios]),
            "",
            *_table(COLUMNS, [figure.cells() for figure in figures]),
            "",
            *_table(("contender", "s from start to first commit, cold"), self.first_commit_cells()),
            "",
            *_ABOUT_THE_RUN,
        ]
        return "\n".join(lines) + "\n"


_ABOUT_THE_RUN = (
    "`ndjson` is 10 files, `arrays` are files of 1,000 events with one array each. Dead are records that break a rule,",
    "lack a required field or have an unknown one: every contender can read those. Text that is no JSON, values of the",
    "wrong type and doubled keys, which only Smelter finds, are left out. Smelter follows the landing folder, and is",
    "timed from the moment when all files appear there to the commit of the last; the others from the call to its",
    "return. Rows per second are those of the quickest round, rows per CPU-second those of the round that used least.",
    "Memory is the sum of each process's proportional share (PSS), looked at four times a second, the most of all",
    "rounds. The number of rows is checked after every round: a wrong result has no figure. PyArrow reads no maps from",
    "JSON, so `properties` is a struct for that contender; it cannot read arrays at all.",
    "",
    f"Small batches are files of 100 records, one at a time; the newest {KEPT_SNAPSHOTS} snapshots are kept.",
)


def _table(columns: tuple[str, ...], rows: list[Any]) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *(f"| {' | '.join(row)} |" for row in rows)]
