"""Emptying a lake: everything that can be made again from the landing files, and never those."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import SmelterError
from smelter.lake import layout

# Checkpoints go first: a stream that still believes its files were read, over tables that are gone, would lose them.
DROPPED = (layout.CHECKPOINTS, layout.RECEIPTS, layout.RUN, *layout.CATALOG_FILES, layout.TABLES)


@dataclass(frozen=True)
class Part:
    """One thing in the lake that a drop removes."""

    path: Path
    bytes: int
    is_link: bool


def plan_drop(lake: Path) -> list[Part]:
    """What a drop would remove, in its order; a folder that is not a lake of this layout is refused."""
    layout.refuse_unless_lake(lake)
    layout.refuse_other_layout(lake)
    if layout.layout_version(lake) is None:  # tables are made only in a lake that has one, so these are not ours
        return []
    there = [lake / name for name in DROPPED if os.path.lexists(lake / name)]
    return [Part(path, _size(path), path.is_symlink()) for path in there]


def sources_that_are_gone(lake: Path) -> int:
    """How many sources are in the tables and no longer in their landing folder: a drop would lose their records."""
    from smelter.lake.batches import BatchRecords
    from smelter.lake.sources import path_of

    sources: set[str] = set()
    for place in (lake / layout.RECEIPTS).glob("*"):
        with suppress(SmelterError):  # a damaged record must not keep anybody from a drop
            sources |= {receipt.unit.source for done in BatchRecords(place).done() for receipt in done.receipts}
    return sum(not path_of(source).exists() for source in sources)


def drop(parts: list[Part]) -> None:
    """Remove the parts; a link is removed and its target left. Killed halfway, a second run finishes it."""
    for part in parts:
        if part.path.is_dir() and not part.path.is_symlink():
            shutil.rmtree(part.path)
        else:
            part.path.unlink(missing_ok=True)


def _size(path: Path) -> int:
    """The bytes under a path, without following links."""
    if path.is_symlink():
        return 0
    if not path.is_dir():
        return path.stat().st_size
    files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files)
