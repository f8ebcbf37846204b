"""`smelt bench bronze`: files to tables, everything on, beside what else could be done with the same files.

Every contender is a process of its own that is warm before it is measured. Contenders take turns, so that a busy
machine is busy for all of them. A figure is given only for a right result.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from smelter.bench.bronze_contenders import Answer
from smelter.bench.bronze_files import (
    ARRAYS,
    FileSet,
    Say,
    make_comparison,
    make_one_and_many,
    make_small_and_large,
    make_warm_ups,
)
from smelter.bench.bronze_result import BronzeBench, Figure, Round
from smelter.bench.meters import PeakMemory, machine
from smelter.bench.small_batches import Batch, SmallBatches
from smelter.contracts import load_contract
from smelter.errors import Refused

NAMES = ("smelter", "duckdb", "pyiceberg", "plain_spark")
CHECKS_NOTHING = ("duckdb", "pyiceberg")
ROUNDS = 3
SLOW_ROUNDS = 2  # of the plain Spark job, which takes as long as all the others together
SMALL_BATCHES = 500
PACKAGES = ("pyspark", "pyiceberg", "pyarrow", "msgspec", "duckdb", "numpy")


@dataclass(frozen=True)
class Place:
    """Where a run finds and leaves things."""

    contract_file: Path
    jars: Path
    scratch: Path


class Process:
    """A contender that waits for folders."""

    def __init__(self, name: str, place: Place) -> None:
        self.name = name
        self._log = place.scratch / f"{name}.log"
        self._started = time.monotonic()
        words = [sys.executable, "-m", "smelter.bench.bronze_contenders", name]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*words, str(place.contract_file), str(place.jars), str(place.scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @property
    def age_seconds(self) -> float:
        """How long ago it was started."""
        return time.monotonic() - self._started

    def take(self, files: FileSet) -> Round:
        """Let it take the files in; a wrong result is no result."""
        with PeakMemory(self._process.pid) as memory:
            answer = Answer(**self._ask(files.as_request(), files.name))
        self._check(answer, files)
        return Round(round(answer.seconds, 3), round(answer.cpu_seconds, 2), round(memory.bytes / 1e6, 1))

    def take_small_batches(self, count: int) -> SmallBatches:
        """Let it take in one small file after another."""
        answer = self._ask(json.dumps({"small_batches": count}), "small batches")
        return SmallBatches(tuple(Batch(**batch) for batch in answer["batches"]))

    def close(self) -> None:
        """Nobody asks any more."""
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
        self._process.wait()

    def _ask(self, request: str, about: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(request, file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            last = self._log.read_text("utf-8", "replace").strip().splitlines()[-1:] or ["no word"]
            raise Refused(f"{self.name} failed on {about}: {last[0]}", data="only scratch files were written")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _check(self, answer: Answer, files: FileSet) -> None:
        wanted = (files.records, 0) if self.name in CHECKS_NOTHING else (files.good, files.dead)
        if (answer.good, answer.dead) != wanted:
            raise Refused(
                f"{self.name} made {answer.good:,} rows and {answer.dead:,} letters of {files.name}, "
                f"not {wanted[0]:,} and {wanted[1]:,}",
                data="only scratch files were written",
            )


def bench_bronze(place: Place, events: int, small_batches: int, say: Say) -> BronzeBench:
    """Make the files, let all contenders take them in, then look closer at ours."""
    sets = make_comparison(load_contract(place.contract_file), place.scratch, events, say)
    warm_ups = make_warm_ups(sets[:2], place.scratch)
    first_commits: dict[str, float] = {}
    with _started(NAMES, place, warm_ups, first_commits, say) as processes:
        figures = [figure for files in sets for figure in _compare(processes, files, say)]
    sizes, spread, small = _look_closer(place, sets[0], warm_ups, small_batches, say)
    return BronzeBench(
        machine=machine(*PACKAGES),
        events=events,
        bytes_per_event=_bytes_per_event(sets[0]),
        figures=tuple(figures),
        first_commits=first_commits,
        spread=spread,
        sizes=sizes,
        small=small,
    )


def _look_closer(
    place: Place, files: FileSet, warm_ups: list[FileSet], small_batches: int, say: Say
) -> tuple[tuple[Figure, Figure], tuple[Figure, Figure], SmallBatches]:
    """Ours alone, in a fresh process, so that the memory of what went before is not in the way."""
    aside = place.scratch / "closer"
    aside.mkdir()
    with _started(("smelter",), replace(place, scratch=aside), warm_ups[:1], {}, say) as (ours,):
        say("one small file, one large file")
        small, large = make_small_and_large(files, place.scratch)
        sizes = _figure("smelter", small, [ours.take(small)]), _figure("smelter", large, [ours.take(large)])
        say("one file, many files")
        one, many = make_one_and_many(files, place.scratch)
        rounds = [(ours.take(one), ours.take(many)) for _ in range(2 * ROUNDS)]  # short ones: chance weighs more
        spread = _figure("smelter", one, [a for a, _ in rounds]), _figure("smelter", many, [b for _, b in rounds])
        say(f"{small_batches:,} batches of one small file")
        return sizes, spread, ours.take_small_batches(small_batches)


@contextmanager
def _started(
    names: tuple[str, ...], place: Place, warm_ups: list[FileSet], first_commits: dict[str, float], say: Say
) -> Iterator[list[Process]]:
    """One process after another, each until its first commit; then all of them warm."""
    with ExitStack() as stack:
        processes = []
        for name in names:
            say(f"starting {name}")
            process = Process(name, place)
            stack.callback(process.close)
            for files in warm_ups:
                if _can_read(name, files.form):
                    process.take(files)
                    first_commits.setdefault(name, round(process.age_seconds, 2))
            processes.append(process)
        yield processes


def _can_read(name: str, form: str) -> bool:
    return name != "pyiceberg" or form != ARRAYS


def _compare(processes: list[Process], files: FileSet, say: Say) -> list[Figure]:
    able = [process for process in processes if _can_read(process.name, files.form)]
    taken: dict[str, list[Round]] = {process.name: [] for process in able}
    for number in range(ROUNDS):
        say(f"{files.name}: round {number + 1} of {ROUNDS}")
        for process in able:
            if process.name != "plain_spark" or number < SLOW_ROUNDS:
                taken[process.name].append(process.take(files))
    return [_figure(name, files, rounds) for name, rounds in taken.items()]


def _figure(contender: str, files: FileSet, rounds: list[Round]) -> Figure:
    return Figure(files.name, contender, files.records, tuple(rounds))


def _bytes_per_event(files: FileSet) -> int:
    return sum(file.stat().st_size for file in files.folder.iterdir()) // files.records
