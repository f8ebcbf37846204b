"""`smelt sql --export`: the tables as Parquet files, with a manifest."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.cli.answers import refuse_ours
from smelter.cli.session import Session, counted

if TYPE_CHECKING:
    from smelter.explore.export import Exported


def export_tables(session: Session, folder: Path, tables: list[str], at: str | None) -> None:
    """Write the tables as they are at one moment; without `--at` that moment is now."""
    from smelter.explore import open_explorer
    from smelter.explore.export import export
    from smelter.explore.service import NOW

    refuse_ours(folder, session.settings.lake)
    with open_explorer(session.settings, at=at or NOW) as explorer:
        done = export(explorer, folder, tables, _tell)
    rows = sum(one.rows for one in done)
    print(f"{counted(len(done), 'table')}, {counted(rows, 'row')} in {folder}; manifest.json says of which snapshots")


def _tell(one: Exported) -> None:
    print(f"  {one.table}: {counted(one.rows, 'row')}, {one.bytes:,} bytes", file=sys.stderr, flush=True)
