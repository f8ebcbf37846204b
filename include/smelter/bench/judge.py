"""`smelt bench judge`: bytes to Arrow in one process, beside DuckDB's read_json and `json.loads`, as ratios."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from smelter.bench.contenders import Measure
from smelter.bench.meters import machine
from smelter.contracts import load_contract
from smelter.errors import Refused
from smelter.producer import Faults, Format, Plan, produce

PER_FILE = 1_000
LARGE_BYTES = 1_000_000_000
ROUNDS = 3
_START = datetime(2026, 1, 1, tzinfo=UTC)
_BAD = Faults(invalid=0.2, missing=0.2, wrong_type=0.2, extra=0.2, nulls=0.1, garbage=0.1)
Say = Callable[[str], None]
_ABOUT_THE_FILES = (
    "`ndjson` is one file. `arrays` are files of 1,000 events, each one array; `many` the same as NDJSON. `bad` holds",
    "only bad records (rules broken, fields missing, null, unknown or of the wrong type, text that is no JSON), judged",
    "to dead letters in Arrow columns. `large` is one NDJSON file of 1 GB, for the peak of memory.",
)


@dataclass(frozen=True)
class Row:
    """One contender on one set of files: the best of the rounds, and every round."""

    files: str
    contender: str
    records: int
    cpu_seconds: float
    microseconds_per_record: float
    peak_mb: float
    rounds: tuple[float, ...]

    def as_markdown(self) -> str:
        """One row of a table."""
        rounds = " ".join(f"{seconds:.2f}" for seconds in self.rounds)
        return (
            f"| {self.files} | {self.contender} | {self.records:,} | {self.cpu_seconds:.2f} "
            f"| {self.microseconds_per_record:.2f} | {self.peak_mb:.0f} | {rounds} |"
        )


@dataclass(frozen=True)
class JudgeBench:
    """Everything that one run measured."""

    machine: dict[str, str]
    events: int
    rows: tuple[Row, ...]
    ratios: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)

    def as_markdown(self) -> str:
        """For the docs: what was run on what, ratios, raw numbers."""
        lines = [
            "# The judge",
            "",
            f"Written by `smelt bench judge --output docs/benchmarks`: {self.events:,} events of about 340 bytes,",
            "bytes to Arrow in one process, contenders in turn. Processor time of the best round; imports not counted.",
            "DuckDB is `read_json` with types given and one thread: it checks nothing. `json.loads` makes no columns.",
            "",
            ", ".join(f"{name} {value}" for name, value in self.machine.items()) + ".",
            "",
            "| ratio of processor time per record | × |",
            "|---|---|",
            *(f"| {name} | {ratio:.2f} |" for name, ratio in self.ratios.items()),
            "",
            "| files | contender | records | CPU-s | µs each | peak MB | every round, CPU-s |",
            "|---|---|---|---|---|---|---|",
            *(row.as_markdown() for row in self.rows),
            "",
            *_ABOUT_THE_FILES,
        ]
        return "\n".join(lines) + "\n"


def bench_judge(contract_file: Path, scratch: Path, events: int, say: Say) -> JudgeBench:
    """Make the files, run every contender on them in turn, and compare."""
    _make_files(contract_file, scratch, events, say)
    rows = [
        *_compare(contract_file, scratch, "ndjson", ("judge", "duckdb", "json_loads"), say),
        *_compare(contract_file, scratch, "arrays", ("judge", "duckdb", "json_loads"), say),
        *_compare(contract_file, scratch, "many", ("judge",), say),
        *_compare(contract_file, scratch, "bad", ("judge", "duckdb_on_good"), say),
        *_compare(contract_file, scratch, "large", ("judge",), say, rounds=1),
    ]
    return JudgeBench(machine("msgspec", "pyarrow", "numpy", "duckdb"), events, tuple(rows), _ratios(rows))


def _make_files(contract_file: Path, scratch: Path, events: int, say: Say) -> None:
    """NDJSON in one file; the same events in files of 1,000, as NDJSON and as arrays; bad ones; one large file."""
    contract = load_contract(contract_file)
    say(f"making {events:,} events")
    plan = Plan(events, scratch / "many", 1, _START, records_per_file=PER_FILE, format=Format.NDJSON)
    many = produce(contract, plan).files
    for name in ("ndjson", "arrays", "large"):
        (scratch / name).mkdir()
    whole = scratch / "ndjson" / "one.ndjson"
    with whole.open("wb") as target:
        for file in many:
            text = file.read_bytes()
            target.write(text)
            (scratch / "arrays" / f"{file.stem}.json").write_bytes(b"[" + b",".join(text.splitlines()) + b"]")
    say(f"making {events // 5:,} bad events")
    bad = Plan(events // 5, scratch / "bad", 2, _START, records_per_file=10_000, format=Format.NDJSON, faults=_BAD)
    made = produce(contract, bad)
    if made.good > 0.05 * made.records:
        raise Refused(f"of {made.records} bad events {made.good} are good: this contract has too few rules to break")
    _make_large(whole, scratch / "large")
    for name in ("ndjson", "arrays", "many", "bad", "large"):
        _make_warm_up(whole, scratch / name / "warm-up")


def _make_large(whole: Path, folder: Path) -> None:
    with (folder / "large.ndjson").open("wb") as target:
        while target.tell() < LARGE_BYTES:
            with whole.open("rb") as source:
                shutil.copyfileobj(source, target, 1024 * 1024)


def _make_warm_up(whole: Path, folder: Path) -> None:
    folder.mkdir()
    with whole.open("rb") as lines:
        (folder / "warm-up.ndjson").write_bytes(b"".join(islice(lines, PER_FILE)))


def _compare(
    contract_file: Path, scratch: Path, files: str, contenders: tuple[str, ...], say: Say, rounds: int | None = None
) -> list[Row]:
    """Contenders take turns, so that a busy machine is busy for all of them."""
    rounds = rounds or ROUNDS
    taken: dict[str, list[Measure]] = {name: [] for name in contenders}
    for number in range(rounds):
        say(f"{files}: round {number + 1} of {rounds}")
        for name in contenders:
            folder = scratch / ("ndjson" if name == "duckdb_on_good" else files)
            taken[name].append(_measured(name.removesuffix("_on_good"), contract_file, folder))
    return [_row(files, name, measures) for name, measures in taken.items()]


def _measured(name: str, contract_file: Path, folder: Path) -> Measure:
    words = [sys.executable, "-m", "smelter.bench.contenders", name, str(contract_file), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no word"]
        raise Refused(f"{name} failed on {folder.name}: {last[0]}", data="only scratch files were written")
    return Measure(**json.loads(done.stdout))


def _row(files: str, contender: str, measures: list[Measure]) -> Row:
    best = min(measures, key=lambda measure: measure.cpu_seconds)
    each = best.cpu_seconds / best.records * 1e6
    peak = max(measure.peak_bytes for measure in measures) / 1e6
    rounds = tuple(round(measure.cpu_seconds, 3) for measure in measures)
    return Row(files, contender, best.records, round(best.cpu_seconds, 3), round(each, 3), round(peak, 1), rounds)


def _ratios(rows: list[Row]) -> dict[str, float]:
    cost = {(row.files, row.contender): row.microseconds_per_record for row in rows}
    ratios = {
        "ndjson: judge / duckdb": cost["ndjson", "judge"] / cost["ndjson", "duckdb"],
        "ndjson: judge / json.loads": cost["ndjson", "judge"] / cost["ndjson", "json_loads"],
        "arrays of 1,000: judge / duckdb": cost["arrays", "judge"] / cost["arrays", "duckdb"],
        "arrays of 1,000: judge / json.loads": cost["arrays", "judge"] / cost["arrays", "json_loads"],
        "all bad: judge / duckdb on good": cost["bad", "judge"] / cost["bad", "duckdb_on_good"],
        "files of 1,000 / one file": cost["many", "judge"] / cost["ndjson", "judge"],
    }
    return {name: round(ratio, 2) for name, ratio in ratios.items()}
