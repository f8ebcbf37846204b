"""`smelt bench maintain`: what many small commits do to a question, what care gives back, and what a look costs."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from smelter.bench.bronze_result import Ratio
from smelter.bench.meters import machine
from smelter.bench.silver import markdown_table
from smelter.bronze.batch import Bronze
from smelter.bronze.spread import Here
from smelter.contracts import Contract, parse_contract
from smelter.explore import Explorer, connect
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.sources import unit_of
from smelter.lake.tables import load_table
from smelter.maintenance.care import Hooks, Wishes, new_run, run
from smelter.maintenance.engine import Engine
from smelter.maintenance.subjects import subjects_of
from smelter.maintenance.survey import survey
from smelter.records import Limits

Say = Callable[[str], None]
ROUNDS = 7
LOOKS = 3
_NAME = "taken"
_RECORDS = 20  # of one small file
_SMELT = "from smelter.cli.main import main; main()"
_QUESTIONS = {"count(*)": "select count(*) from bronze.taken", "one record": "from bronze.taken where key = $key"}
_METHOD = """Every commit is one file of 20 records with keys in no order, taken in as the stream takes it. Questions go
through one open connection, as in `smelt sql`; the first of each does not count. Care is what `smelt maintain run`
does, twice, in Spark sessions of its own, as it would be two days later and two days after that, so that snapshots are
past their time. A look is `smelt maintain plan` as a person runs it, from the start of Python to its end, over tables
that need nothing."""


@dataclass(frozen=True)
class MaintenanceBench:
    """Everything that one run measured."""

    machine: dict[str, str]
    commits: int
    before: dict[str, tuple[float, ...]]  # question to the seconds of every round
    after: dict[str, tuple[float, ...]]
    numbers: tuple[dict[str, int], dict[str, int]]  # of bronze, before and after
    care_seconds: float
    tables: int
    looks: tuple[float, ...]

    @property
    def ratios(self) -> list[Ratio]:
        """What the figures say, beside what was promised."""
        faster = [
            Ratio(f"{name}, before / after", _middle(self.before[name]) / _middle(self.after[name]), "5 or more")
            for name in self.before
        ]
        size = Ratio("kB of metadata.json afterwards", self.numbers[1]["metadata_bytes"] / 1000, "below 200")
        look = Ratio(f"s of a look at {self.tables} healthy tables", _middle(self.looks), "below 3")
        return [*faster, size, look]

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The figures as rows of a table, with every round."""
        for name in self.before:
            yield name, *(" ".join(f"{one * 1000:.0f}" for one in rounds[name]) for rounds in (self.before, self.after))
        for name in ("files", "manifests", "snapshots", "metadata_bytes", "rows"):
            yield name, *(f"{numbers[name]:,}" for numbers in self.numbers)

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "ratios": [asdict(ratio) for ratio in self.ratios]}

    def as_markdown(self) -> str:
        """The page."""
        lines = [
            "# Maintenance, measured",
            "",
            "Made by `smelt bench maintain --output docs/benchmarks`, in one run.",
            "",
        ]
        lines += [", ".join(f"{name} {value}" for name, value in self.machine.items()), ""]
        lines += [f"{self.commits:,} commits; questions in ms, every round. Care took {self.care_seconds:.1f} s.", ""]
        lines += markdown_table(("what", "before", "after"), self.rows())
        looks = " ".join(f"{one:.2f}" for one in self.looks)
        lines += ["", f"Every look at {self.tables} healthy tables, s: {looks}.", ""]
        lines += markdown_table(("measure", "found", "wanted"), (ratio.cells() for ratio in self.ratios))
        return "\n".join([*lines, "", _METHOD]) + "\n"


def bench_maintenance(lake: Lake, healthy: Lake, commits: int, tables: int, say: Say) -> MaintenanceBench:
    """Commit, ask, care, ask again; then look at a lake that needs nothing."""
    say(f"making {commits:,} commits")
    _commit(lake, _NAME, commits)
    numbers, asked = _numbers(lake), _ask(lake)
    say("looking after the tables")
    seconds = _care(lake)
    again = _ask(lake)
    say(f"making {tables} healthy tables")
    made = _make_healthy(healthy, tables)
    looks = tuple(_look(healthy, made) for _ in range(LOOKS))
    return MaintenanceBench(
        machine("pyspark", "pyiceberg", "duckdb"),
        commits,
        asked,
        again,
        (numbers, _numbers(lake)),
        seconds,
        made,
        looks,
    )


def _commit(lake: Lake, name: str, commits: int) -> None:
    """One small file after another, each a batch of its own; keys have no order, as the ids of events have none."""
    bronze = Bronze(lake, _contract(name), Limits(), Here())
    landing = lake.landing(bronze.contract)
    landing.mkdir(parents=True)
    for number in range(commits):
        file = landing / f"{number:06}.json"
        numbers = range(number * _RECORDS, (number + 1) * _RECORDS)
        file.write_text("".join(f'{{"key": "{_key(one)}", "number": {one}}}\n' for one in numbers))
        bronze.take_in([unit_of(file)], "bench", number)


def _contract(name: str) -> Contract:
    words = {
        "dataset": name,
        "version": 1,
        "fields": {"key": {"type": "string", "required": True}, "number": {"type": "long"}},
        "source": {"files": f"landing/{name}"},
    }
    return parse_contract(json.dumps(words), "the bench")


def _key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()[:16]


def _numbers(lake: Lake) -> dict[str, int]:
    (subject,) = subjects_of(lake, [f"{BRONZE}.{_NAME}"])
    return survey(load_table(lake, BRONZE, _NAME), subject).numbers()


def _ask(lake: Lake) -> dict[str, tuple[float, ...]]:
    with connect(lake.root, catalog=lake.address) as explorer:
        return {name: tuple(_rounds(explorer, name)) for name in _QUESTIONS}


def _rounds(explorer: Explorer, name: str) -> Iterator[float]:
    values = {"key": _key(7)} if "$key" in _QUESTIONS[name] else None
    for number in range(1 + ROUNDS):
        started = time.monotonic()
        rows = explorer.execute(_QUESTIONS[name], values).fetchall()
        assert len(rows) == 1, f"{name} has {len(rows)} rows"
        if number:
            yield round(time.monotonic() - started, 4)


def _care(lake: Lake) -> float:
    started, now = time.monotonic(), datetime.now(UTC)
    subjects = subjects_of(lake, [f"{name}.{_NAME}" for name in (BRONZE, DEAD_LETTERS)])
    for _ in range(2):  # files that the first replaced go with the second, when no reader can be at them any more
        now += timedelta(days=2)
        with Engine(lake) as engine:
            for report in run(lake, subjects, engine, new_run(now), Wishes(now=now), Hooks()):
                if report.problem is not None:
                    raise report.problem
    return round(time.monotonic() - started, 1)


def _make_healthy(lake: Lake, tables: int) -> int:
    """Two tables for each dataset, and one of what became of letters."""
    for number in range(tables // 2):
        _commit(lake, f"healthy_{number}", 2)
    return len(subjects_of(lake))


def _look(lake: Lake, tables: int) -> float:
    words = [sys.executable, "-c", _SMELT, "--lake", str(lake.root), "maintain", "plan", "--json"]
    environ = {word: value for word, value in os.environ.items() if not word.startswith("SMELTER_")}
    environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    started = time.monotonic()
    done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, check=True)
    seconds = time.monotonic() - started
    outcomes = [one["outcome"] for one in json.loads(done.stdout)["tables"]]
    assert outcomes == ["nothing"] * tables, f"{outcomes} of tables that need nothing"
    return round(seconds, 2)


def _middle(rounds: tuple[float, ...]) -> float:
    return statistics.median(rounds)
