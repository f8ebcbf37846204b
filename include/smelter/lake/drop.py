"""Emptying a lake: everything that can be made again from the landing files, and never those."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from smelter.catalog_address import CatalogAddress
from smelter.errors import SmelterError
from smelter.lake import layout
from smelter.postgres import asking, count_tables, forget_lake, is_of, owner_of

# Checkpoints go first: a stream that still believes its files were read, over tables that are gone, would lose them.
FIRST = (layout.CHECKPOINTS, layout.RECEIPTS, layout.RUN, layout.QUALITY, layout.TRASH, *layout.CATALOG_FILES)
# The note goes after the tables of a database that it tells of: until then a second run knows where to go on.
LAST = (layout.CATALOG_ELSEWHERE, layout.TABLES)


@dataclass(frozen=True)
class Part:
    """One thing in the lake that a drop removes."""

    path: Path
    bytes: int
    is_link: bool

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.path.name

    @property
    def size(self) -> int | str:
        """How much is removed."""
        return "a link; its target is kept" if self.is_link else self.bytes

    def remove(self) -> None:
        """A link is removed and its target left."""
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Entries:
    """What a database knows of the lake; other catalogs in it are kept."""

    address: CatalogAddress
    folder: Path
    tables: int

    @property
    def name(self) -> str:
        """What people know it by."""
        return "catalog"

    @property
    def size(self) -> int | str:
        """How much is removed."""
        return f"the names of {self.tables} tables in {self.address}"

    def remove(self) -> None:
        """All or none of them."""
        forget_lake(self.address, self.folder)


def plan_drop(lake: Path, address: CatalogAddress | None = None) -> list[Part | Entries]:
    """What a drop would remove, in its order; a folder that is not a lake of this layout is refused."""
    layout.refuse_unless_lake(lake)
    layout.refuse_other_layout(lake)
    if layout.layout_version(lake) is None:  # tables are made only in a lake that has one, so these are not ours
        return []
    if address is None:
        layout.refuse_other_catalog(lake, address)
    return [*_parts(lake, FIRST), *(_entries(lake, address) if address else ()), *_parts(lake, LAST)]


def _parts(lake: Path, names: tuple[str, ...]) -> list[Part]:
    there = [lake / name for name in names if os.path.lexists(lake / name)]
    return [Part(path, _size(path), path.is_symlink()) for path in there]


def _entries(lake: Path, address: CatalogAddress) -> list[Entries]:
    tables = lake.resolve() / layout.TABLES
    with asking(address) as line:
        return [Entries(address, tables, count_tables(line))] if is_of(owner_of(line), tables, address) else []


def sources_that_are_gone(lake: Path, address: CatalogAddress | None = None) -> int:
    """How many sources are in the tables and no longer in their landing folder: a drop would lose their records."""
    from smelter.lake.home import Lake
    from smelter.lake.sources import path_of

    home = Lake(lake.resolve(), Path(), address)  # no jar is needed to look
    sources: set[str] = set()
    for place in (lake / layout.RECEIPTS).glob("*"):
        with suppress(SmelterError):  # a damaged record must not keep anybody from a drop
            sources |= {receipt.unit.source for done in home.batches(place.name).done() for receipt in done.receipts}
    return sum(not path_of(source).exists() for source in sources)


def drop(parts: list[Part | Entries]) -> None:
    """Remove the parts in their order. Killed halfway, a second run finishes it."""
    for part in parts:
        part.remove()


def _size(path: Path) -> int:
    """The bytes under a path, without following links."""
    if path.is_symlink():
        return 0
    if not path.is_dir():
        return path.stat().st_size
    files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files)
