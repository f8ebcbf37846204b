"""What must be where, in plain Python: a dict of files, told of what happens by whoever makes it happen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from smelter.prove.account import Expected
from smelter.prove.ore import Item


@dataclass
class File:
    """One file of the landing folder, from its arrival to its end."""

    items: tuple[Item, ...]
    modified: int
    is_gone: bool = False
    planned: int | None = None  # the moment under which a batch has planned it
    taken: Expected | None = None  # what it is in the tables, or certainly will be


@dataclass
class Model:
    """All files of one dataset, and the batch that was prepared and is not finished."""

    files: dict[str, File] = field(default_factory=dict)
    version: int = 1
    pending: bool = False
    is_catching_up: bool = False
    batch: dict[str, int] = field(default_factory=dict)  # the files that were handed out, with the moment of listing

    def hand_out(self, listed: Mapping[str, int]) -> None:
        """Spark hands out files of a batch."""
        self.batch = {source: moment for source, moment in listed.items() if self.files[source].taken is None}

    def reach(self, point: str) -> None:
        """The driver comes to a point."""
        if self.is_catching_up and not self.pending and point == "planned":
            self.batch = {source: 0 for source, one in self._planned() if one.is_gone}
        if self.is_catching_up and point not in ("planned", "prepared") and not self.batch:
            self.pending = self.pending and point != "done"
            return
        if point == "planned":
            for source, moment in self.batch.items():
                one = self.files[source]
                one.planned = moment if one.planned is None else one.planned
        elif point == "prepared":
            self.pending = True
            for source in self.batch:
                self._take(self.files[source])
        elif point == "done":
            self.pending, self.batch = False, {}

    def forget_plans(self) -> None:
        """The records of batches are lost, and with them what was planned."""
        for one in self.files.values():
            one.planned = None

    def read_again(self) -> None:
        """A recovery takes whatever lies in the landing folder and is in no table."""
        for one in self.files.values():
            if one.taken is None and not one.is_gone:
                one.taken = Expected(one.items, version=self.version)

    def sent(self) -> dict[str, Expected]:
        """What the tables must hold, when nothing is pending."""
        return {source: one.taken for source, one in self.files.items() if one.taken is not None}

    def waiting(self) -> list[str]:
        """Files that are there and in no batch."""
        return [source for source, one in self.files.items() if one.taken is None and not one.is_gone]

    def is_open(self, source: str) -> bool:
        """Is the file in a batch that was planned and never prepared?"""
        return self.files[source].planned is not None and self.files[source].taken is None

    def _planned(self) -> Iterable[tuple[str, File]]:
        return [(source, one) for source, one in self.files.items() if self.is_open(source)]

    def _take(self, one: File) -> None:
        reason = "file_unreadable" if one.is_gone else "file_changed" if one.planned != one.modified else ""
        one.taken = Expected(one.items, reason, self.version)
