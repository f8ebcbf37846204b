"""What a lake is made of: one folder with known parts and a layout version, so that nothing else is taken for one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from smelter import run_folders
from smelter.catalog_address import CatalogAddress
from smelter.errors import Refused
from smelter.settings import FILE_NAME as SETTINGS_FILE

LAYOUT_VERSION = 1
LAYOUT = "layout"
UNFINISHED = f".{LAYOUT}-"  # what a killed process leaves of a layout file
CATALOG = "catalog.db"
CATALOG_ELSEWHERE = "catalog.address"  # where the catalog is, if it is not in the lake
TABLES = "tables"
LANDING = "landing"
CHECKPOINTS = "checkpoints"
RECEIPTS = "receipts"
ARCHIVE = "archive"
QUALITY = "quality"
TRASH = "trash"
RUN = run_folders.RUN

CATALOG_FILES = (CATALOG, f"{CATALOG}-wal", f"{CATALOG}-shm", f"{CATALOG}-journal")
KNOWN = frozenset(
    {
        LAYOUT,
        *CATALOG_FILES,
        CATALOG_ELSEWHERE,
        TABLES,
        LANDING,
        CHECKPOINTS,
        RECEIPTS,
        RUN,
        ARCHIVE,
        QUALITY,
        TRASH,
        SETTINGS_FILE,
        "README.md",
    }
)


def ensure_layout(lake: Path) -> None:
    """Make the folder a lake of this layout; a second run changes nothing, and a folder of other things is refused."""
    if layout_version(lake) is None:
        refuse_unless_lake(lake)
        lake.mkdir(parents=True, exist_ok=True)
        _write_layout(lake)
    refuse_other_layout(lake)


def layout_version(lake: Path) -> int | None:
    """The number in the lake's `layout` file; nothing when there is no such file."""
    try:
        text = (lake / LAYOUT).read_text("utf-8").strip()
        return int(text)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, IsADirectoryError):
        raise Refused(
            f"{lake} is not a lake: its `{LAYOUT}` holds no layout version",
            data="nothing was changed",
            next_step="name another folder with --lake DIR",
        ) from None


def refuse_other_layout(lake: Path) -> None:
    """A lake of an older or newer layout is left alone, with the way out."""
    found = layout_version(lake)
    if found is None or found == LAYOUT_VERSION:
        return
    what = f"the lake {lake} has layout {found}, and this Smelter keeps layout {LAYOUT_VERSION}"
    if found < LAYOUT_VERSION:
        raise Refused(what, data="nothing was changed", next_step="smelt lake upgrade")
    raise Refused(what, data="nothing was changed", next_step="use the newer Smelter that made this lake")


def refuse_other_catalog(lake: Path, address: CatalogAddress | None) -> None:
    """A lake keeps the catalog that it began with: in another one it would look empty."""
    elsewhere = lake / CATALOG_ELSEWHERE
    if address is None and elsewhere.exists():
        raise Refused(
            f"this lake has its catalog in {elsewhere.read_text('utf-8').strip()}, and no setting names it",
            where=str(lake),
            data="nothing was read or changed",
            next_step=f"set SMELTER_CATALOG, or `catalog` in {lake / SETTINGS_FILE}",
        )
    if address is not None and (lake / CATALOG).exists():
        raise Refused(
            f"this lake has its catalog in its own file {CATALOG}, and the setting `catalog` names a database",
            where=f"{lake / CATALOG} and {address}",
            data="nothing was read or changed",
            next_step="unset `catalog`; or drop the lake (smelt lake drop) and ingest its files again",
        )


def refuse_unless_lake(lake: Path) -> None:
    """A lake has a layout version, or holds nothing but parts of lakes; so a new or empty folder may become one."""
    if layout_version(lake) is not None:
        return
    foreign = sorted(entry.name for entry in lake.iterdir() if not _is_known(entry.name)) if lake.is_dir() else []
    if foreign or (lake.exists() and not lake.is_dir()):
        others = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        holds = f"it holds {', '.join(foreign[:3])}{others}" if foreign else "it is a file"
        raise Refused(
            f"{lake} is not a lake: {holds}",
            data="nothing was changed",
            next_step="name a lake, or a new folder, with --lake DIR",
        )


def _is_known(name: str) -> bool:
    return name in KNOWN or name.startswith(UNFINISHED)


def _write_layout(lake: Path) -> None:
    """Whole or not at all: written aside, then moved under its name; two at once write the same."""
    handle, name = tempfile.mkstemp(prefix=UNFINISHED, dir=lake)
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{LAYOUT_VERSION}\n")
        unfinished.chmod(0o644)
        unfinished.replace(lake / LAYOUT)
    finally:
        unfinished.unlink(missing_ok=True)
