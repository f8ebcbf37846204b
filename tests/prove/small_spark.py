"""A stand-in for Spark's file source: it finds files, numbers batches and keeps a checkpoint as Spark writes it.

The checkpoint is mended and read by the house's own code; only the JVM is missing. The real one is in smelt prove.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from smelter.lake.checkpoint import Checkpoint, Listed

TakeIn = Callable[[Sequence[Listed], str, int], None]


class SmallSpark:
    """One start of a query that takes everything there is."""

    def __init__(self, folder: Path, landing: Path, max_files: int) -> None:
        self.folder = folder
        self.landing = landing
        self.max_files = max_files
        self.checkpoint = Checkpoint(folder)

    def run(self, take_in: TakeIn) -> None:
        """The batch that was not finished, if there is one, and then all new files."""
        self.checkpoint.mend(lambda _line: None)
        if not (self.folder / "metadata").exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
        last = max(self._numbers("offsets"), default=-1)
        if last >= 0 and last not in self._numbers("commits"):
            self._batch(last, take_in)
        while self._offer(last + 1):
            last += 1
            self._batch(last, take_in)

    def _offer(self, batch: int) -> bool:
        """Write down the files of the next batch; those that were listed and never offered come with it."""
        listed = max(self._numbers("sources/0"), default=-1)
        seen = {entry["path"] for number in self._numbers("sources/0") for entry in self._entries(number)}
        new = [path for path in sorted(self.landing.glob("*.json"), key=_modified_ms) if path.as_uri() not in seen]
        if new:
            listed += 1
            lines = [
                json.dumps({"path": path.as_uri(), "timestamp": _modified_ms(path), "batchId": listed})
                for path in new[: self.max_files]
            ]
            self._write("sources/0", listed, lines)
        offered = self.checkpoint._log_offset(batch - 1)
        if listed <= (-1 if offered is None else offered):
            return False
        self._write("offsets", batch, ["{}", json.dumps({"logOffset": listed})])
        return True

    def _batch(self, number: int, take_in: TakeIn) -> None:
        take_in(self.checkpoint.files_of(number), self.checkpoint.id, number)
        self._write("commits", number, ["{}"])

    def _numbers(self, log: str) -> set[int]:
        return self.checkpoint._numbers(log)

    def _entries(self, number: int) -> list[dict[str, str]]:
        lines = (self.folder / "sources/0" / str(number)).read_text("utf-8").splitlines()[1:]
        return [json.loads(line) for line in lines]

    def _write(self, log: str, number: int, lines: list[str]) -> None:
        (self.folder / log).mkdir(parents=True, exist_ok=True)
        (self.folder / log / str(number)).write_text("\n".join(["v1", *lines]), "utf-8")


def _modified_ms(path: Path) -> int:
    return path.stat().st_mtime_ns // 1_000_000
