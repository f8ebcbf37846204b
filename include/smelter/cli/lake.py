"""`smelt lake`: care for the lake as a whole."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.session import counted, session_of
from smelter.errors import Refused

if TYPE_CHECKING:
    from smelter.lake.drop import Entries, Part


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
    group = typer.Typer(help="Care for the lake as a whole.", no_args_is_help=True)
    group.command("drop")(drop)
    app.add_typer(group, name="lake")


def drop(
    context: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Remove tables, catalog, checkpoints and receipts; asks first, and never touches landing files or settings."""
    from smelter.lake import drop as dropping

    settings = session_of(context).settings
    lake = settings.lake
    parts = dropping.plan_drop(lake, settings.catalog)
    if not parts:
        print(f"there is nothing to drop in {lake}")
        return
    _refuse_beside_the_platform(lake)
    _refuse_beside_a_driver(lake)
    _show(lake, parts)
    gone = dropping.sources_that_are_gone(lake, settings.catalog)
    if gone:
        print(f"{counted(gone, 'source')} of these tables no longer in landing: those records cannot be ingested again")
    if not yes:
        _ask(lake)
        _refuse_beside_the_platform(lake)  # somebody may have started it while we waited for the answer
        _refuse_beside_a_driver(lake)
    dropping.drop(parts)
    again = "so everything can be ingested again" if not gone else "and what lies in archive/"
    print(f"dropped: {len(parts)} parts of {lake}; landing files are kept, {again}")


def _refuse_beside_the_platform(lake: Path) -> None:
    from smelter.embedded.home import Home
    from smelter.supervise.lock import holder

    keeper = holder(Home.at(lake).root)
    if keeper is not None:
        raise Refused(
            f"the platform of this lake is up: keeper, pid {keeper.pid}",
            data="nothing was removed",
            next_step="stop it first: smelt down",
        )


def _refuse_beside_a_driver(lake: Path) -> None:
    from smelter.run_folders import server_folder, stream_folder
    from smelter.supervise.lock import holder

    for folder in [*sorted(stream_folder(lake, "").glob("*")), server_folder(lake)]:
        driver = holder(folder)
        if driver is not None:
            raise Refused(
                f"the stream {folder.name} is running: pid {driver.pid}",
                data="nothing was removed",
                next_step=f"stop it first: smelt stream stop {folder.name}",
            )


def _show(lake: Path, parts: list[Part | Entries]) -> None:
    print(f"from the lake {lake} this removes:")
    for part in parts:
        print(f"  {part.name:<20}{part.size if isinstance(part.size, str) else _readable(part.size)}")


def _ask(lake: Path) -> None:
    if not sys.stdin.isatty():
        command = shlex.join(["smelt", "--lake", str(lake), "lake", "drop", "--yes"])
        raise Refused("dropping a lake needs a yes", data="nothing was removed", next_step=command)
    answer = input(f"type the lake's name, {lake.name}, to remove them: ")
    if answer.strip() != lake.name:
        raise Refused("that is not the lake's name", data="nothing was removed")


def _readable(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} TiB"
