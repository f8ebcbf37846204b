"""`smelt bench replay`: many open letters: how long do `ls` and `plan` take, and how fast do they come home?

Replay is measured beside bronze, in turns, over the same records: bronze reads them from files and takes them, replay
reads them from the letters that they became under a contract with a field less.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smelter.bench.bronze_files import FILES, files_in
from smelter.bench.bronze_result import Ratio
from smelter.bench.meters import cpu_seconds, machine
from smelter.bench.silver import Cost, markdown_table
from smelter.bronze.batch import Bronze
from smelter.bronze.spread import OnSpark
from smelter.contracts import Contract, parse_contract
from smelter.contracts.write import contract_text
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.replay import ReplayReport, Wishes, replay
from smelter.dead_letters.undo import undo
from smelter.lake.evolution import apply_contract
from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.lake.sources import unit_of
from smelter.producer import Format, Plan, produce
from smelter.records import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Say = Callable[[str], None]
ROUNDS = 3
COMMAND_ROUNDS = 3
NEW_FIELD = "properties"
LETTERS = "letters"
_SMELT = "from smelter.cli.main import main; main()"
_START = datetime(2026, 1, 1, tzinfo=UTC)
_WANTED = {"ls": "below 3 s", "plan, nothing passes": "below 20 s", "plan, all pass": "below 20 s"}
_METHOD = """Events as the shipped contract has them, in ten files. Bronze is one batch of the stream, from its plan to
its commits, in tasks of a warm Spark session. Replay is one run, from its first question to its commits, in processes
of its own, whose start is part of it. They take turns, and the first round of each does not count. Between two replays
the first is undone, so that later rounds also read what became of every letter before. Commands are measured from the
start of Python to its end; where nothing passes, `plan` also judges under the contract that it proposes."""


@dataclass(frozen=True)
class ReplayBench:
    """Everything that one run measured."""

    machine: dict[str, str]
    letters: int
    commands: dict[str, tuple[Cost, ...]]
    bronze: tuple[Cost, ...]
    replay: tuple[Cost, ...]

    def rows_per_second(self, rounds: tuple[Cost, ...]) -> float:
        """Of the round in the middle, without the first."""
        return self.letters / statistics.median(one.seconds for one in rounds[1:])

    @property
    def ratios(self) -> list[Ratio]:
        """What the figures say, beside what was promised."""
        seconds = self.rows_per_second(self.replay) / self.rows_per_second(self.bronze)
        middle = [statistics.median(one.cpu_seconds for one in rounds[1:]) for rounds in (self.bronze, self.replay)]
        commands = [
            Ratio(f"s of {name} on {self.letters:,} letters", _middle(rounds), _WANTED[name])
            for name, rounds in self.commands.items()
        ]
        return [
            *commands,
            Ratio("rows per second, replay / bronze", seconds, "0.5 or more"),
            Ratio("rows per CPU-second, replay / bronze", middle[0] / middle[1], ""),
        ]

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The figures as rows of a table, with every round."""
        for name, rounds in {**self.commands, "bronze": self.bronze, "replay": self.replay}.items():
            rate = f"{self.rows_per_second(rounds):,.0f}" if name in ("bronze", "replay") else ""
            costs = [" ".join(f"{getattr(one, what):.2f}" for one in rounds) for what in ("seconds", "cpu_seconds")]
            yield name, rate, *costs

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {**asdict(self), "ratios": [asdict(ratio) for ratio in self.ratios]}

    def as_markdown(self) -> str:
        """The page."""
        columns = ("what", "rows/s", "every round, s", "every round, CPU-s")
        lines = ["# Replay, measured", "", "Made by `smelt bench replay --output docs/benchmarks`, in one run.", ""]
        lines += [", ".join(f"{name} {value}" for name, value in self.machine.items()), ""]
        lines += [f"{self.letters:,} letters.", "", *markdown_table(columns, self.rows())]
        lines += ["", *markdown_table(("measure", "found", "wanted"), (ratio.cells() for ratio in self.ratios))]
        return "\n".join([*lines, "", _METHOD]) + "\n"


def bench_replay(lake: Lake, shipped: Contract, letters: int, say: Say) -> ReplayBench:
    """Make the letters, ask for them by command, then let bronze and replay take turns."""
    say(f"making {letters:,} events")
    folder = lake.root / "made"
    produce(shipped, Plan(letters, folder, 1, _START, None, -(-letters // FILES), Format.NDJSON))
    spark = start_spark(lake, "smelter bench", lake.root / "run" / "bench", builds=True)
    before, after = _contract(shipped, LETTERS, 1, without=NEW_FIELD), _contract(shipped, LETTERS, 2)
    _take_in(lake, before, folder, spark)
    contracts = lake.root / "contracts"
    contracts.mkdir()
    (contracts / f"{LETTERS}.yaml").write_text(contract_text(before), "utf-8")
    commands = {"ls": _commands(lake, contracts, "ls", letters, say)}
    commands["plan, nothing passes"] = _commands(lake, contracts, "plan", letters, say)
    apply_contract(lake, after)
    commands["plan, all pass"] = _commands(lake, contracts, "plan", letters, say)
    taken, replayed = _in_turns(lake, shipped, folder, letters, spark, say)
    spark.stop()
    return ReplayBench(machine("pyspark", "pyiceberg", "duckdb"), letters, commands, tuple(taken), tuple(replayed))


def _in_turns(
    lake: Lake, shipped: Contract, folder: Path, letters: int, spark: SparkSession, say: Say
) -> tuple[list[Cost], list[Cost]]:
    taken, replayed = [], []
    run = ""
    for number in range(1 + ROUNDS):
        contract = _contract(shipped, f"taken_{number}", 1)
        taken.append(_measured(lambda contract=contract: _take_in(lake, contract, folder, spark)))  # type: ignore[misc]
        if run:
            undo(lake, run, Limits())
        done: list[ReplayReport] = []
        replayed.append(_measured(lambda done=done: done.append(_replay(lake))))  # type: ignore[misc]
        run = str(done[0].run)
        assert done[0].recovered == letters, f"{done[0].recovered:,} letters came home, not {letters:,}"
        say(f"bronze {taken[-1].seconds:.1f} s, replay {replayed[-1].seconds:.1f} s")
    return taken, replayed


def _replay(lake: Lake) -> ReplayReport:
    return replay(lake, LETTERS, Filters(), Limits(), Wishes(here_letters=0))


def _take_in(lake: Lake, contract: Contract, folder: Path, spark: SparkSession) -> None:
    landing = lake.landing(contract)
    landing.mkdir(parents=True)
    for file in files_in(folder):
        (landing / file.name).hardlink_to(file)
    bronze = Bronze(lake, contract, Limits(), OnSpark(spark))
    bronze.take_in([unit_of(file) for file in files_in(landing)], "bench", 1)


def _contract(shipped: Contract, name: str, version: int, without: str = "") -> Contract:
    words = shipped.model_dump(mode="json", by_alias=True, exclude_unset=True)
    fields = {field: rules for field, rules in words["fields"].items() if field != without}
    words = {"dataset": name, "version": version, "fields": fields, "source": {"files": f"landing/{name}"}}
    return parse_contract(json.dumps(words), "the bench")


def _measured(work: Callable[[], Any]) -> Cost:
    started, used = time.monotonic(), cpu_seconds()
    work()
    return Cost(round(time.monotonic() - started, 3), round(cpu_seconds() - used, 2))


def _commands(lake: Lake, contracts: Path, command: str, letters: int, say: Say) -> tuple[Cost, ...]:
    """The command as a person runs it, several times."""
    words = [sys.executable, "-c", _SMELT, "--lake", str(lake.root), "dlq", command, LETTERS, "--json"]
    environ = {word: value for word, value in os.environ.items() if not word.startswith("SMELTER_")}
    environ["SMELTER_CONTRACTS"] = str(contracts)
    environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    costs = []
    for _ in range(COMMAND_ROUNDS):
        started, before = time.monotonic(), os.times()
        done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, check=True)
        seconds, after = time.monotonic() - started, os.times()
        found = json.loads(done.stdout)
        told = found["letters"] if command == "plan" else sum(one["letters"] for one in found["groups"])
        assert told == letters, f"smelt dlq {command} tells of {told:,} letters, not {letters:,}"
        used = after.children_user + after.children_system - before.children_user - before.children_system
        costs.append(Cost(round(seconds, 2), round(used, 2)))
        say(f"smelt dlq {command}: {seconds:.1f} s")
    return tuple(costs)


def _middle(rounds: tuple[Cost, ...]) -> float:
    return statistics.median(one.seconds for one in rounds)
