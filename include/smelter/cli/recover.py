"""`smelt ingest --recover`: read files again, all or those of a window, and write only what is in no table."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from smelter.cli.limits import limits_of
from smelter.cli.session import Session, counted
from smelter.contracts.ago import time_or_ago
from smelter.errors import Refused, WrongUsage

if TYPE_CHECKING:
    from smelter.bronze.landed import Window
    from smelter.bronze.recovery import Recovered
    from smelter.bronze.rehearsal import Rehearsed
    from smelter.lake.home import Lake

WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Wishes:
    """What the person who recovers wants, in their words."""

    since: str | None = None
    until: str | None = None
    dry_run: bool = False
    interrupt: bool = False
    wait: float | None = None

    def refuse_without_recover(self, dataset: str) -> None:
        """These words mean nothing beside --drain, --follow or --reread."""
        if self != Wishes():
            raise WrongUsage(
                "--since, --until, --dry-run, --interrupt and --wait go with --recover",
                next_step=f"smelt ingest {dataset} --recover",
            )


def recover_files(session: Session, dataset: str, wishes: Wishes) -> None:
    """Recover, or say what a recovery would do."""
    window = window_of(wishes)
    if wishes.dry_run:
        from smelter.bronze.rehearsal import rehearse

        session.ingested(dataset)
        _print_rehearsed(dataset, rehearse(session.open_lake(), dataset, limits_of(session.settings), window))
        return
    from smelter.bronze.recovery import recover

    contract, lake = session.contract(dataset), session.open_lake()
    if wishes.interrupt:
        _interrupt(lake, dataset, WAIT_SECONDS if wishes.wait is None else wishes.wait)
    found = recover(lake, contract, limits_of(session.settings), window=window)
    _print_recovered(dataset, found, is_whole=window is None)


def window_of(wishes: Wishes) -> Window | None:
    """The files that are meant; nothing if it is all of them."""
    from smelter.bronze.landed import Window

    now = datetime.now(UTC)
    since, until = (
        None if text is None else time_or_ago(text, option, now)
        for option, text in (("--since", wishes.since), ("--until", wishes.until))
    )
    if since is not None and until is not None and since >= until:
        raise WrongUsage(
            f"no file arrives from {since.isoformat()} on and before {until.isoformat()}",
            next_step="--since is the earlier of the two",
        )
    return None if since is None and until is None else Window(since, until)


def _interrupt(lake: Lake, dataset: str, wait_seconds: float) -> None:
    """Ask whoever drives the stream to end after its batch, and wait until nobody does."""
    from smelter.supervise.lock import DRAIN, STREAM, holder
    from smelter.supervise.requests import ask_to_stop

    folder, end, asked = lake.run_folder(dataset), time.monotonic() + wait_seconds, ""
    while (found := holder(folder)) is not None:
        if found.role in (STREAM, DRAIN) and found.run != asked:
            ask_to_stop(folder, found.run, f"smelt ingest {dataset} --recover, pid {os.getpid()}")
            asked = found.run
            print(f"asked the driver (pid {found.pid}) to stop after its batch", file=sys.stderr, flush=True)
        if time.monotonic() >= end:
            will_end = "; it was asked to stop, and will when its batch is done" if asked else ""
            raise Refused(
                f"the stream {dataset} still has a driver after {wait_seconds:g} s: pid {found.pid} ({found.role})",
                data=f"nothing was read or changed{will_end}",
                next_step="run it again, or wait longer with --wait SECONDS",
            )
        time.sleep(_POLL_SECONDS)


def _print_recovered(dataset: str, found: Recovered, *, is_whole: bool) -> None:
    without = "without a file, or written again since, by what the tables hold" if is_whole else "written again since"
    gone = f"; {counted(found.gone, 'source')} {without}" if found.gone else ""
    print(
        f"{dataset}: {counted(found.files, 'file')} read again, {counted(found.records, 'record')}, "
        f"{found.written:,} of them were missing and are written now{gone}"
    )


def _print_rehearsed(dataset: str, found: Rehearsed) -> None:
    missing = found.rows + found.letters
    where = f" ({found.rows:,} for bronze, {found.letters:,} for dead letters)" if missing else ""
    print(
        f"{dataset}: {counted(found.files, 'file')} would be read again, {counted(found.records, 'record')}, "
        f"{missing:,} of them in no table{where}; nothing was written"
    )
    if found.waiting:
        print(f"  {found.waiting:,} of these are in files that the stream has not taken yet")
    if found.left:
        print(f"  {counted(found.left, 'file')} written again since: left as the tables have it")
