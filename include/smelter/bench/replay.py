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
from typing import Any

from smelter.bench.bronze_files import FILES, files_in
from smelter.bench.bronze_result import Ratio
from smelter.bench.meters import cpu_seconds, machine
from smelter.bench.silver import Cost, markdown_table
from smelter.bronze.batch import Bronze
from smelter.bronze.spread import OnSpark
from smelter.contracts import Contract, parse_contract
from smelter.contracts.write import contract_text
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.replay import replay
from smelter.dead_letters.undo import undo
from smelter.lake.evolution import apply_contract
from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.lake.sources import unit_of
from smelter.producer import Format, Plan, produce
from smelter.records import Limits

Say = Callable[[str], None]
ROUNDS = 3
COMMAND_ROUNDS = 3
NEW_FIELD = "properties"
_COMMANDS = "letters"
_SMELT = "from smelter.cli.main import main; main()"
_START = datetime(2026, 1, 1, tzinfo=UTC)
_WANTED = {"ls": "below 3 s", "plan, nothing passes": "below 20 s", "plan, all pass": "below 20 s"}
_METHOD = """Events as the shipped contract has them, in ten files. Bronze is one batch of the stream, from its plan to
its commits, in tasks of a warm Spark session. Replay is one run, from its first question to its commits, in processes
of its own, whose start is part of it. They take turns, each with tables of its own, and the first round does not
count. The last replay is then undone and done again, so that there is a history of every letter to read. Commands are
measured from the start of Python to its end; where nothing passes, `plan` also judges under the contract that it
proposes."""


@dataclass(frozen=True)
class ReplayBench:
    """Everything that one run measured."""

    machine: dict[str, str]
    letters: int
    commands: dict[str, tuple[Cost, ...]]
    bronze: tuple[Cost, ...]
    replay: tuple[Cost, ...]
    again: tuple[Cost, ...]  # after undoings, so that there is a history to read

    def rows_per_second(self, rounds: tuple[Cost, ...]) -> float:
        """Of the round in the middle."""
        return self.letters / _middle(rounds)

    @property
    def ratios(self) -> list[Ratio]:
        """What the figures say, beside what was promised."""
        seconds = self.rows_per_second(self.replay[1:]) / self.rows_per_second(self.bronze[1:])
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
        for name, rounds in self._all_rounds().items():
            counted = rounds if rounds is self.again else rounds[1:]  # the others begin with one that warms up
            rate = "" if name in self.commands else f"{self.rows_per_second(counted):,.0f}"
            costs = [" ".join(f"{getattr(one, what):.2f}" for one in rounds) for what in ("seconds", "cpu_seconds")]
            yield name, rate, *costs

    def _all_rounds(self) -> dict[str, tuple[Cost, ...]]:
        ours = {"bronze": self.bronze, "replay": self.replay, "undone, and replayed again": self.again}
        return {**self.commands, **ours}

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
    bench = _Bench(lake, shipped, letters, say)
    commands = bench.commands()
    taken, replayed = zip(*(bench.turn(number) for number in range(1 + ROUNDS)), strict=True)
    again = tuple(bench.again() for _ in range(ROUNDS))
    bench.spark.stop()
    return ReplayBench(machine("pyspark", "pyiceberg", "duckdb"), letters, commands, taken, replayed, again)


class _Bench:
    """The events as files, and datasets that they are letters or rows of."""

    def __init__(self, lake: Lake, shipped: Contract, letters: int, say: Say) -> None:
        self._lake, self._shipped, self._letters, self._say = lake, shipped, letters, say
        self._folder, self._contracts = lake.root / "made", lake.root / "contracts"
        produce(shipped, Plan(letters, self._folder, 1, _START, None, -(-letters // FILES), Format.NDJSON))
        self._contracts.mkdir()
        self._run = ""
        self.spark = start_spark(lake, "smelter bench", lake.root / "run" / "bench", builds=True)

    def commands(self) -> dict[str, tuple[Cost, ...]]:
        """What a person waits for, before a change of the contract and after it."""
        self._make_letters(_COMMANDS)
        found = {"ls": self._smelt("ls"), "plan, nothing passes": self._smelt("plan")}
        apply_contract(self._lake, _contract(self._shipped, _COMMANDS, 2))
        return {**found, "plan, all pass": self._smelt("plan")}

    def turn(self, number: int) -> tuple[Cost, Cost]:
        """Bronze takes the files in, and replay brings home as many new letters."""
        taken = _measured(lambda: self._take_in(_contract(self._shipped, f"taken_{number}", 1)))
        name = f"letters_{number}"
        self._make_letters(name)
        apply_contract(self._lake, _contract(self._shipped, name, 2))
        replayed = _measured(lambda: self._replay(name), _without_spark)
        self._say(f"bronze {taken.seconds:.1f} s, replay {replayed.seconds:.1f} s")
        return taken, replayed

    def again(self) -> Cost:
        """The last replay is undone, and the letters come home once more."""
        undo(self._lake, self._run, Limits())
        cost = _measured(lambda: self._replay(f"letters_{ROUNDS}"), _without_spark)
        self._say(f"undone, and again {cost.seconds:.1f} s")
        return cost

    def _replay(self, name: str) -> None:
        done = replay(self._lake, name, Filters(), Limits())
        assert done.recovered == self._letters, f"{done.recovered:,} letters came home, not {self._letters:,}"
        self._run = str(done.run)

    def _make_letters(self, name: str) -> None:
        contract = _contract(self._shipped, name, 1, without=NEW_FIELD)
        (self._contracts / f"{name}.yaml").write_text(contract_text(contract), "utf-8")
        self._take_in(contract)

    def _take_in(self, contract: Contract) -> None:
        landing = self._lake.landing(contract)
        landing.mkdir(parents=True)
        for file in files_in(self._folder):
            (landing / file.name).hardlink_to(file)
        bronze = Bronze(self._lake, contract, Limits(), OnSpark(self.spark))
        bronze.take_in([unit_of(file) for file in files_in(landing)], "bench", 1)

    def _smelt(self, command: str) -> tuple[Cost, ...]:
        """The command as a person runs it, several times."""
        words = [sys.executable, "-c", _SMELT, "--lake", str(self._lake.root), "dlq", command, _COMMANDS, "--json"]
        environ = {word: value for word, value in os.environ.items() if not word.startswith("SMELTER_")}
        environ["SMELTER_CONTRACTS"] = str(self._contracts)
        environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        costs = []
        for _ in range(COMMAND_ROUNDS):
            started, before = time.monotonic(), os.times()
            done = subprocess.run(words, env=environ, stdout=subprocess.PIPE, check=True)
            seconds, after = time.monotonic() - started, os.times()
            found = json.loads(done.stdout)
            told = found["letters"] if command == "plan" else sum(one["letters"] for one in found["groups"])
            assert told == self._letters, f"smelt dlq {command} tells of {told:,} letters, not {self._letters:,}"
            used = after.children_user + after.children_system - before.children_user - before.children_system
            costs.append(Cost(round(seconds, 2), round(used, 2)))
            self._say(f"smelt dlq {command}: {seconds:.1f} s")
        return tuple(costs)


def _contract(shipped: Contract, name: str, version: int, without: str = "") -> Contract:
    words = shipped.model_dump(mode="json", by_alias=True, exclude_unset=True)
    fields = {field: rules for field, rules in words["fields"].items() if field != without}
    words = {"dataset": name, "version": version, "fields": fields, "source": {"files": f"landing/{name}"}}
    return parse_contract(json.dumps(words), "the bench")


def _measured(work: Callable[[], Any], processor: Callable[[], float] = cpu_seconds) -> Cost:
    started, used = time.monotonic(), processor()
    work()
    return Cost(round(time.monotonic() - started, 3), round(processor() - used, 2))


def _without_spark() -> float:
    """This process and those that it waited for; Spark's idle workers come and go meanwhile."""
    return sum(os.times()[:4])


def _middle(rounds: tuple[Cost, ...]) -> float:
    return statistics.median(one.seconds for one in rounds)
