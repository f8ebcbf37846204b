"""One round's dataset: its files arrive, somebody meddles with them, its stream runs; and what was sent is kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from smelter.bronze.batch import Report
from smelter.bronze.recovery import recover
from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.contracts import Contract
from smelter.lake.batches import BatchRecords
from smelter.lake.sources import source_of
from smelter.prove.account import Account, Expected, account_of
from smelter.prove.ground import Ground
from smelter.prove.ore import Content, Mine, contract_of
from smelter.records import Limits

FILES_PER_BATCH = 4
LONG_AGO = 10**9
CHANGED, UNREADABLE = "file_changed", "file_unreadable"


class Crash(Exception):
    """The end of a driver at a point. Nothing in the house knows it, so nothing on disk is put in order."""


@dataclass
class Scene:
    """What was sent is kept here, whatever becomes of the landing folder."""

    ground: Ground
    name: str
    point: str
    seed: int
    sent: dict[str, Expected] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)  # what the fault itself should have shown and did not
    needs_recovery: bool = False
    new: int = 0  # how many records of each file that arrives are good only under the second contract

    def __post_init__(self) -> None:
        self.chance = Random(f"{self.point} {self.seed}")
        self.mine = Mine(self.chance)
        self.contract: Contract = contract_of(self.name)
        self.folder = self.ground.folder / self.name
        self.folder.mkdir(exist_ok=True)
        self.landing.mkdir(parents=True, exist_ok=True)

    @property
    def landing(self) -> Path:
        """Where the files arrive."""
        return self.ground.lake.landing(self.contract)

    @property
    def books(self) -> BatchRecords:
        """The records of the stream's batches."""
        return self.ground.lake.batches(self.name)

    def arrive(self, name: str, content: Content | None = None, *, modified: float | None = None) -> Path:
        """A file arrives whole, under a temporary name first; what it holds is kept."""
        content = content or self.mine.file(new=self.new)
        path = self.landing / name
        self.sent[source_of(path)] = Expected(content.items)
        return self.put(path, content.data, modified)

    def put(self, path: Path, data: bytes, modified: float | None = None) -> Path:
        """Write a file whole, whatever was there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.writing")
        aside.write_bytes(data)
        if modified is not None:
            os.utime(aside, (modified, modified))
        return aside.rename(path)

    def two_waves(self, new: int = 0) -> tuple[list[Path], list[Path]]:
        """The files of a first batch and of a second."""

        def arrive(wave: int, number: int) -> Path:
            return self.arrive(f"{wave}-{number}.json", self.mine.file(new=new), modified=LONG_AGO + 60 * wave)

        first, second = ([arrive(wave, number) for number in range(FILES_PER_BATCH)] for wave in range(2))
        return first, second

    def meddle(self, paths: Sequence[Path], *, shows: bool) -> None:
        """Files of the batch that was struck are replaced, cut, deleted and appended to before the restart.

        `shows`: the batch has not been read for good, so that a file that changed is one letter.
        """
        ways = (self.replace, self.cut, self.delete, self.append, self.leave)
        meddlers = self.chance.sample(ways, len(paths))
        for path, act in zip(paths, meddlers, strict=True):
            reason = act(path)
            if shows and reason:
                self.expect_letter(path, reason)

    def expect_letter(self, path: Path, reason: str) -> None:
        """From now on the truth about a file is one letter about the file itself."""
        source = source_of(path)
        self.sent[source] = replace(self.sent[source], one_letter=reason)

    def replace(self, path: Path) -> str:
        """Somebody puts another file in its place."""
        self.put(path, self.mine.file().data, time.time() + 1)
        return CHANGED

    def leave(self, _path: Path) -> str:
        """Nobody does anything."""
        return ""

    def cut(self, path: Path) -> str:
        """Somebody cuts it in the middle of a record."""
        os.truncate(path, 7)
        return CHANGED

    def append(self, path: Path) -> str:
        """Somebody goes on writing."""
        with path.open("ab") as file:
            file.write(b'{"id": 0}\n')
        return CHANGED

    def delete(self, path: Path) -> str:
        """Somebody deletes it."""
        path.unlink()
        return UNREADABLE

    def drain(self, hooks: Hooks | None = None, *, max_files: int = FILES_PER_BATCH) -> list[Report]:
        """Everything that has arrived, through the warm session, as `smelt ingest --drain` does it."""
        reports: list[Report] = []
        over = self.ground.over
        hooks = replace(hooks or Hooks(), report=reports.append, should_stop=over.is_set)
        ingest(self.ground.lake, self.contract, Limits(), Pace(max_files=max_files), hooks, self.ground.spark)
        self.ground.go_on()
        return reports

    def crash_at(self, point: str, nth: int = 1) -> None:
        """A driver in this process ends at a point of its nth batch, and puts nothing in order."""
        try:
            self.drain(Hooks(reach=at(point, nth, self._crash)))
        except Crash:
            return
        raise AssertionError(f"the driver did not come to {point} of batch {nth}")

    def _crash(self) -> None:
        raise Crash

    def recover(self) -> None:
        """What `smelt ingest --recover` does."""
        recover(self.ground.lake, self.contract, Limits(), None, self.ground.spark)
        self.ground.go_on()

    def has_read(self, *paths: Path) -> bool:
        """Are the files in finished batches?"""
        read = {one.unit.source for done in self.books.done() for one in done.receipts}
        return read.issuperset(map(source_of, paths))

    def restart(self) -> None:
        """Files have arrived while there was no driver; a new one takes them, and another one those that come later."""
        self.arrive("arrived before the restart.json")
        if self.needs_recovery:
            self.recover()
        self.drain(max_files=1000)
        self.arrive("arrived later.json")
        self.drain()

    def account(self) -> Account:
        """The full check, and whatever else the fault should have shown."""
        found = account_of(self.ground.lake, self.name, self.sent)
        return replace(found, wrong=(*self.wrong, *found.wrong))


def at(point: str, nth: int, act: Callable[[], None]) -> Callable[[str], None]:
    """Something happens when a driver comes to a point for the nth time."""
    reached = 0

    def reach(here: str) -> None:
        nonlocal reached
        reached += here == point
        if here == point and reached == nth:
            act()

    return reach
