"""How far the records of a folder were folded into `ops.ledger`: one small file beside them; none, nothing folded."""

from __future__ import annotations

from pathlib import Path

import msgspec

from smelter.errors import Unreachable
from smelter.lake import durable

MARK = "folded.json"


class FoldMark(msgspec.Struct, frozen=True):
    """Records up to this number are in `ops.ledger`, under the name of this book.

    A folder that was lost begins another book, so that rows of its earlier life are never taken for its own.
    """

    book: str
    up_to: int


def read_mark(folder: Path) -> FoldMark | None:
    """How far the folder was folded; nothing if it never was."""
    try:
        return msgspec.json.decode((folder / MARK).read_bytes(), type=FoldMark)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except msgspec.DecodeError as problem:
        raise Unreachable(
            f"the note of how far records of batches were folded cannot be read: {problem}",
            where=str(folder / MARK),
            data="nothing was changed; the tables hold what was committed",
            next_step="bring it back from a backup; or move it away, then: smelt ingest DATASET --recover",
        ) from problem


def write_mark(folder: Path, mark: FoldMark) -> None:
    """Whole or not at all, instead of the one before. One at a time: whoever folds holds the folder's lease."""
    durable.replace(folder / MARK, msgspec.json.encode(mark))
