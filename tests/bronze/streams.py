"""A stream with its landing folder, which remembers what was sent to it; and the ways to run it."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.spread import Here
from smelter.bronze.stream import Hooks, Pace, _catch_up, driving, ingest
from smelter.contracts import Contract, parse_contract
from smelter.lake.batches import Unit
from smelter.lake.home import Lake
from smelter.lake.landing import Landing, look_at
from smelter.lake.sources import source_of, unit_of
from smelter.records import Limits, files_under
from smelter.supervise.lock import LOCK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMITS = Limits()
NS = 1_000_000_000
_numbers = itertools.count(1)


def contract_of(dataset: str, *, version: int = 1, more_fields: str = "", after_commit: str = "keep") -> Contract:
    """A contract with a number and a note."""
    text = (
        f"dataset: {dataset}\nversion: {version}\nfields:\n"
        f"  id: {{type: long, required: true}}\n  note: {{type: string}}\n{more_fields}"
        f"source: {{files: landing/{dataset}, after_commit: {after_commit}}}\n"
    )
    return parse_contract(text, f"{dataset}.yaml")


def records(good: int = 3, bad: int = 1) -> bytes:
    """Lines of JSON whose numbers are used nowhere else; the bad ones come between the good ones."""
    lines = [b'{"id": %d}' % next(_numbers) for _ in range(good)]
    for at in range(bad):
        lines.insert(1 + 2 * at, b'{"id": "not the number %d"}' % next(_numbers))
    return b"\n".join(lines) + b"\n"


@dataclass(frozen=True)
class Sent:
    """What a source held when it was sent, and when that was."""

    data: bytes
    modified_ns: int


@dataclass
class Stream:
    """One dataset of a lake. What it was sent is kept here, whatever becomes of the landing folder."""

    lake: Lake
    contract: Contract
    sent: dict[str, Sent] = field(default_factory=dict)
    one_letter: dict[str, str] = field(default_factory=dict)  # sources that are one letter about the file itself

    @property
    def name(self) -> str:
        return self.contract.dataset

    @property
    def landing(self) -> Path:
        return self.lake.root / self.contract.source.files

    @property
    def checkpoint(self) -> Path:
        return self.lake.checkpoint(self.name)

    @property
    def receipts(self) -> Path:
        return self.lake.receipts(self.name)

    def add(self, name: str, data: bytes | None = None, *, modified: float | None = None, reading: int = 1) -> Path:
        """A file arrives whole, under a temporary name first; its truth is remembered."""
        path = self.put(name, records() if data is None else data, modified=modified)
        self.sent[source_of(path, reading)] = Sent(path.read_bytes(), path.stat().st_mtime_ns)
        return path

    def put(self, name: str, data: bytes, *, modified: float | None = None) -> Path:
        """Write a file without remembering it: somebody meddles, or it is none of the stream's business."""
        path = self.landing / name
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.landing.parent / f".{self.name}.writing"
        aside.write_bytes(data)
        if modified is not None:
            os.utime(aside, (modified, modified))
        aside.rename(path)
        return path

    def replace(self, name: str) -> None:
        """Somebody writes other records over a file; a second later, so that it shows."""
        self.put(name, records(good=2, bad=2), modified=time.time() + 1)

    def cut(self, name: str) -> None:
        """Somebody cuts a file in the middle of a record."""
        with (self.landing / name).open("r+b") as file:
            file.truncate(13)

    def delete(self, name: str) -> None:
        (self.landing / name).unlink()

    def lock_is_lost(self) -> None:
        """Somebody removes the lock file of a driver that lives."""
        (self.lake.run_folder(self.name) / LOCK).unlink()

    def expect_letter(self, name: str, reason: str) -> None:
        """From now on the truth about a file is one letter about the file itself."""
        self.one_letter[source_of(self.landing / name)] = reason

    def drain(self, spark: SparkSession, hooks: Hooks | None = None, *, max_files: int = 1000) -> list[Report]:
        """Everything that has arrived, through Spark, as `smelt ingest --drain` does it."""
        reports: list[Report] = []
        hooks = replace(hooks or Hooks(), report=reports.append)
        ingest(self.lake, self.contract, LIMITS, Pace(max_files=max_files), hooks, spark)
        return reports

    def drain_here(self, reach: Callable[[str], None] | None = None, *, batch: int = 0) -> list[Report]:
        """Everything that lies in the landing folder, without a JVM: what a Spark that has lost its memory would do."""
        reports: list[Report] = []
        hooks = Hooks(report=reports.append, reach=reach or (lambda _point: None), task_reach=reach)
        with driving(self.lake, self.name, hooks) as pulse:
            bronze = self.bronze(hooks)
            _catch_up(bronze, pulse)
            report = bronze.take_in(self.units(), "here", batch)
            if report is not None:
                pulse.committed(report)
        return reports

    def bronze(self, hooks: Hooks | None = None) -> Bronze:
        """The dataset's way into its tables, in this process."""
        hooks = hooks or Hooks()
        return Bronze(self.lake, self.contract, LIMITS, Here(), hooks.reach, hooks.task_reach)

    def has_read(self, name: str) -> bool:
        """Is the file in a finished batch?"""
        source = source_of(self.landing / name)
        return any(one.unit.source == source for done in self.lake.batches(self.name).done() for one in done.receipts)

    def landing_now(self) -> Landing:
        """The landing folder as a newly started driver sees it."""
        return look_at(self.landing, self.bronze().books.committed)

    def units(self, names: Iterable[str] | None = None) -> list[Unit]:
        """Landing files as they are now; all that are not empty, unless some are named."""
        paths = files_under(self.landing) if names is None else [self.landing / name for name in names]
        return [unit_of(path) for path in paths if path.stat().st_size]
