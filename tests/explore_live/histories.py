"""A table's true history, written down while it is made: snapshots that were let go since are still known here."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from smelter.lake import layout
from smelter.lake.home import Lake

_POINTER = "select metadata_location from iceberg_tables where table_namespace = ? and table_name = ?"


@dataclass(frozen=True)
class Moment:
    """The table as it was after one commit."""

    sequence: int
    operation: str
    rows: int


class History:
    """Every snapshot of a table that has no rows taken out of it, as its metadata tells; threads may look at once."""

    def __init__(self, lake: Lake, namespace: str, name: str) -> None:
        self._catalog, self._names = lake.root / layout.CATALOG, (namespace, name)
        self._lock, self._location = threading.Lock(), ""
        self._moments: dict[int, Moment] = {}
        self._kept: set[int] = set()
        self.newest = Moment(0, "", 0)
        self.counts: set[int] = set()

    def look(self) -> Moment:
        """Ask the catalog, and write down what is new; returns the newest, which no later answer may be older than."""
        with self._lock:
            while (location := self._pointer()) not in ("", self._location):
                try:
                    metadata = json.loads(Path(location.removeprefix("file://").removeprefix("file:")).read_bytes())
                except FileNotFoundError:  # twenty commits came in between
                    continue
                self._location = location
                self._note(metadata)
            return self.newest

    def tally(self) -> Counter[str]:
        """Commits by what they did, and snapshots that were let go."""
        with self._lock:
            found = Counter(one.operation for one in self._moments.values())
            found["expired"] = len(self._moments) - len(self._kept)
            return found

    def behind(self, rows: int) -> int:
        """Commits with more rows than these."""
        with self._lock:
            return sum(count > rows for count in self.counts)

    def _pointer(self) -> str:
        if not self._catalog.exists():
            return ""
        with closing(sqlite3.connect(f"{self._catalog.as_uri()}?mode=ro", uri=True, timeout=30)) as line:
            found = line.execute(_POINTER, self._names).fetchone()
            return str(found[0]) if found else ""

    def _note(self, metadata: dict[str, object]) -> None:
        snapshots = metadata.get("snapshots") or []
        assert isinstance(snapshots, list)
        self._kept = {one["snapshot-id"] for one in snapshots}
        for one in snapshots:
            summary = one["summary"]
            assert not int(summary.get("total-delete-files", 0))
            moment = Moment(one["sequence-number"], summary["operation"], int(summary["total-records"]))
            self._moments[one["snapshot-id"]] = moment
        self.counts = {one.rows for one in self._moments.values()} | {0}
        self.newest = self._moments.get(metadata.get("current-snapshot-id"), self.newest)
