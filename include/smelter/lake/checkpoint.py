"""What Spark remembers of a stream: which files were in which batch. Read, and mended where Spark would give up.

The plan of a batch is read from here and not from the batch's frame: the frame lists its files again at each use, and
leaves out, in silence, those that are gone or empty.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import Unreachable
from smelter.lake.sources import path_of

ASIDE = "aside"
_LOGS = ("offsets", "commits", "sources/0")


@dataclass(frozen=True)
class Listed:
    """A file that Spark's source found, and when it had last been modified."""

    path: Path
    modified_ns: int


Read = Callable[[Path, int, int], Iterator[Listed]]


class Checkpoint:
    """The checkpoint folder of one stream."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def _source_log(self) -> Path:
        return self.folder / "sources" / "0"

    @property
    def id(self) -> str:
        """Tells this checkpoint from any other that the stream had or will have."""
        text = (self.folder / "metadata").read_text("utf-8")
        return str(json.loads(text)["id"]).replace("-", "")[:12]

    def files_of(self, batch: int) -> list[Listed]:
        """Every file that Spark handed out in this batch, each once."""
        first, last = self._log_offset(batch - 1), self._log_offset(batch)
        if last is None:
            raise Unreachable(
                f"Spark's checkpoint has no offsets for batch {batch}",
                where=str(self.folder / "offsets" / str(batch)),
                data="nothing was read; the landing files are as they were",
                next_step="run it again",
            )
        found: dict[Path, Listed] = {}
        for listed in self._between(-1 if first is None else first, last):
            found.setdefault(listed.path, listed)
        return list(found.values())

    def handed_out(self) -> Iterator[Path]:
        """Every file of every batch that Spark holds for finished; a list that was cut off tells of none."""
        finished = max(self._numbers("commits"), default=-1)
        last = self._log_offset(finished) if finished >= 0 else None
        for listed in self._between(-1, -1 if last is None else last, _entries_if_whole):
            yield listed.path

    def mend(self, say: Callable[[str], None]) -> None:
        """Move aside what would keep Spark from starting: a cut-off entry, or a commit whose offsets are lost.

        Nothing is lost by it: which files are in the tables is known from the records of batches, not from here.
        """
        for log in _LOGS:
            for number in self._numbers(log):
                entry = self.folder / log / str(number)
                if not _is_whole(entry):
                    self._move_aside(log, number, say, "it was cut off")
        offsets = self._numbers("offsets")
        for number in self._numbers("commits"):
            if number not in offsets and number > max(offsets, default=-1):
                self._move_aside("commits", number, say, "its offsets are lost")
        self._remove_stray_checksums()
        if self.folder.exists() and not self._is_complete():
            self._begin_anew(say)

    def _remove_stray_checksums(self) -> None:
        """A checksum without its entry makes Spark believe that another query writes the same entry."""
        for log in _LOGS:
            for checksum in (self.folder / log).glob(".*.crc"):
                if not checksum.with_name(checksum.name[1:].removesuffix(".crc")).exists():
                    checksum.unlink()

    def _is_complete(self) -> bool:
        """Is there everything that Spark asks for at its start: its id, the last two offsets, all lists of files?"""
        offsets, lists = self._numbers("offsets"), self._numbers("sources/0")
        last = max(offsets, default=-1)
        if not self._has_id() or (last > 0 and last - 1 not in offsets):
            return False
        compacts = {int(path.stem): path for path in self._source_log.glob("*.compact") if path.stem.isdigit()}
        base = max(compacts, default=-1)
        end = max([base, *lists, self._log_offset(last) or -1])
        return all(map(_is_whole, compacts.values())) and lists.issuperset(range(base + 1, end + 1))

    def _has_id(self) -> bool:
        """A checkpoint that was never begun needs none."""
        try:
            return bool(self.id)
        except FileNotFoundError:
            return not any((self.folder / log).is_dir() for log in _LOGS)
        except (ValueError, KeyError, TypeError):
            return False

    def _begin_anew(self, say: Callable[[str], None]) -> None:
        """Spark lists every file again, and the records of batches know which of them are in the tables.

        One rename, so that there is nothing to be killed in the middle of.
        """
        aside = self.folder.with_name(f".{self.folder.name}-{ASIDE}-{uuid.uuid4().hex[:8]}")
        self.folder.rename(aside)
        say(f"entries that Spark needs are lost: the checkpoint was moved to {aside.name}, and a new one begins")

    def _move_aside(self, log: str, number: int, say: Callable[[str], None], why: str) -> None:
        aside = self.folder / ASIDE / log
        aside.mkdir(parents=True, exist_ok=True)
        for name in (str(number), f".{number}.crc"):
            entry = self.folder / log / name
            if entry.exists():
                shutil.move(entry, aside / name)
        say(f"{log}/{number} of the checkpoint was moved aside: {why}")

    def _numbers(self, log: str) -> set[int]:
        folder = self.folder / log
        return {int(path.name) for path in folder.iterdir() if path.name.isdigit()} if folder.is_dir() else set()

    def _log_offset(self, batch: int) -> int | None:
        """How far the source's own log had come at the end of a batch."""
        try:
            lines = (self.folder / "offsets" / str(batch)).read_text("utf-8").splitlines()
            return int(json.loads(lines[2])["logOffset"])
        except (FileNotFoundError, IndexError, ValueError, KeyError):
            return None

    def _between(self, first: int, last: int, read: Read | None = None) -> Iterator[Listed]:
        """The entries of the source's own log after one number up to another.

        Every tenth entry is a compact one that repeats all before it, and those are removed some time later.
        """
        folder, read = self._source_log, read or _entries
        compacts = sorted(int(path.stem) for path in folder.glob("*.compact") if path.stem.isdigit())
        base = max((number for number in compacts if first < number <= last), default=first)
        if base > first:
            yield from read(folder / f"{base}.compact", first, base)
        for number in range(base + 1, last + 1):
            following = min((compact for compact in compacts if compact >= number), default=None)
            if (folder / str(number)).exists():
                yield from read(folder / str(number), number - 1, number)
            elif following is not None:
                yield from read(folder / f"{following}.compact", number - 1, number)


def _entries(file: Path, first: int, last: int) -> Iterator[Listed]:
    for line in file.read_text("utf-8").splitlines()[1:]:
        entry = json.loads(line)
        if first < entry["batchId"] <= last:
            yield Listed(path_of(entry["path"]), int(entry["timestamp"]) * 1_000_000)


def _entries_if_whole(file: Path, first: int, last: int) -> Iterator[Listed]:
    """For those who only look: what is cut off is mended when the stream starts, and not before."""
    return _entries(file, first, last) if _is_whole(file) else iter(())


def _is_whole(entry: Path) -> bool:
    """Each log entry is a version line and then JSON lines; a power cut can leave it empty or cut."""
    try:
        version, *lines = entry.read_text("utf-8").splitlines()
        for line in lines:
            json.loads(line)
    except (ValueError, UnicodeDecodeError):
        return False
    return version.startswith("v") and (bool(lines) or entry.parent.name == "0")
