"""The rows of one file, held back until the file is known to be what was planned."""

from __future__ import annotations

import pyarrow as pa

from smelter.lake.data_files import DataFileWriter, TableShape

HELD_BYTES = 16 * 1024 * 1024


class Stage:
    """Small files are held in memory and share data files; a large one gets data files of its own, which can go."""

    def __init__(self, shape: TableShape, *, is_rehearsal: bool = False) -> None:
        self._shape = shape
        self._is_rehearsal = is_rehearsal  # rows are made, and none is kept
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._own: DataFileWriter | None = None

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows of the file."""
        if not rows.num_rows or self._is_rehearsal:
            return
        self._held.append(rows)
        self._bytes += rows.nbytes
        if self._bytes > HELD_BYTES:
            self._own = self._own or DataFileWriter(self._shape)
            self._move_to(self._own)

    def release(self, shared: DataFileWriter) -> None:
        """The file is good: its rows join those of the others."""
        if self._own is None:
            self._move_to(shared)
            return
        self._move_to(self._own)
        shared.adopt(self._own)

    def discard(self) -> None:
        """The file is not what was planned: nothing of it stays."""
        self._held, self._bytes = [], 0
        if self._own is not None:
            self._own.discard()

    def _move_to(self, writer: DataFileWriter) -> None:
        for rows in self._held:
            writer.add(rows)
        self._held, self._bytes = [], 0
