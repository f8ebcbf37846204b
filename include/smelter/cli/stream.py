"""`smelt stream`: start, stop, pause, resume and watch the driver that brings a dataset in for weeks."""

from __future__ import annotations

import getpass
import os
import socket
import sys
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from smelter.cli.session import Session, complete_dataset, print_json, session_of
from smelter.cli.stream_words import line_of, plain
from smelter.contracts import dataset_names
from smelter.errors import Refused
from smelter.run_folders import stream_folder
from smelter.supervise.driver import STOP_SECONDS, Driver, Launch, is_alive, kill, wait_for
from smelter.supervise.launch import ensure_driver, launch_of
from smelter.supervise.lock import holder
from smelter.supervise.log import LOG
from smelter.supervise.requests import Wish, ask_to_stop, want, wanted
from smelter.supervise.serve import Server, serving
from smelter.supervise.standing import standing_of

_app = typer.Typer(
    name="stream",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Start, stop, pause, resume and watch a dataset's stream: a driver of its own that outlives this command.",
)
_Dataset = Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)]
_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; shown by status and in Airflow.")]
_POLL_SECONDS = 0.3
_NAMED_SECONDS = 5.0


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
    app.add_typer(_app)


@_app.command("start")
def start_stream(context: typer.Context, dataset: _Dataset) -> None:
    """Start the stream, or find its driver; takes back an earlier stop, and never starts a second driver."""
    session = session_of(context)
    folder = _folder(session, dataset)
    if wanted(folder).wish is Wish.STOP:
        want(folder, Wish.RUN, _me())
    if _is_drained(session, dataset):
        return
    driver = _started(session, dataset)
    print(f"{dataset}: {'started' if driver.is_new else 'already runs'}, pid {driver.pid}, run {driver.run}")
    said = wanted(folder)
    if said.wish is Wish.PAUSE:
        print(f"  it is {said}; smelt stream resume {dataset}")


@_app.command("stop")
def stop_stream(
    context: typer.Context,
    dataset: _Dataset,
    reason: _Reason = "",
    now: Annotated[bool, typer.Option("--now", help="Do not wait for the running batch; nothing is lost.")] = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for its end.")
    ] = STOP_SECONDS,
) -> None:
    """Stop the stream after its running batch, and keep it stopped: Airflow does not start it again until `start`."""
    folder = _folder(session_of(context), dataset)
    want(folder, Wish.STOP, _me(), reason)  # before we look: a driver that begins now hears it too
    found = standing_of(folder)
    if found.holder is None or not found.is_alive:
        print(f"{dataset}: no driver runs, and none is started until smelt stream start {dataset}")
        return
    run = _run_of_driver(folder)
    ask_to_stop(folder, run, _me())
    if now:
        kill(folder, run)
    if not wait_for(lambda: not is_alive(folder, run), time.monotonic() + wait):
        raise Refused(
            f"the driver of {dataset} is asked to stop and still runs: pid {found.holder.pid}",
            data="what is committed stays committed",
            next_step=f"wait for it, or end it at once: smelt stream stop {dataset} --now (on its own host)",
        )
    print(f"{dataset}: stopped; smelt stream start {dataset} starts it again")


@_app.command()
def pause(context: typer.Context, dataset: _Dataset, reason: _Reason = "") -> None:
    """Let the stream rest after its running batch: the driver stays, files wait in the landing folder."""
    folder = _folder(session_of(context), dataset)
    want(folder, Wish.PAUSE, _me(), reason)
    rests = " as soon as its batch is done" if standing_of(folder).is_alive else "; no driver runs, the next one waits"
    print(f"{dataset}: paused{rests}; smelt stream resume {dataset} goes on")


@_app.command()
def resume(context: typer.Context, dataset: _Dataset) -> None:
    """Let a paused stream go on; starts its driver if there is none."""
    session = session_of(context)
    folder = _folder(session, dataset)
    before = wanted(folder)
    if before.wish is Wish.STOP:
        raise Refused(f"the stream {dataset} is {before}", next_step=f"smelt stream start {dataset}")
    want(folder, Wish.RUN, _me())
    if before.wish is Wish.RUN:
        print(f"{dataset}: it was not paused")
    if _is_drained(session, dataset):
        return
    driver = _started(session, dataset)
    print(f"{dataset}: {'started' if driver.is_new else 'goes on'}, pid {driver.pid}")


@_app.command()
def status(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show how each stream stands, from its lock, its heartbeat and what is wanted of it; takes no time."""
    session = session_of(context)
    names = [dataset] if dataset else dataset_names(session.settings.contracts)
    found = {name: standing_of(_folder(session, name)) for name in names}
    if as_json:
        print_json([{"dataset": name, **plain(one)} for name, one in found.items()])
        return
    for name, one in found.items():
        print(f"{name}: {line_of(plain(one))}")


@_app.command()
def logs(
    context: typer.Context,
    dataset: _Dataset,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines come.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the last lines.")] = 50,
) -> None:
    """Print the driver's log: one fact with numbers per line."""
    log = _folder(session_of(context), dataset) / LOG
    if not log.exists():
        raise Refused(f"the stream {dataset} has no log yet", where=str(log), next_step=f"smelt stream start {dataset}")
    sys.stdout.flush()
    options = ["-n", str(lines), *(["-F"] if follow else [])]
    os.execvp("tail", ["tail", *options, str(log)])  # noqa: S606, S607  # tail knows how to follow a log that is turned over


@_app.command()
def serve(context: typer.Context) -> None:
    """Start drivers for others that share this lake, until stopped; with SMELTER_DRIVERS=served they ask here.

    A driver outlives this command: Ctrl-C ends the serving and no stream.
    """
    session = session_of(context)
    session.open_lake()
    lake = session.settings.lake
    with serving(lake):
        print(f"serving the streams of {lake}; Ctrl-C ends this, not the streams", flush=True)
        server = Server(lake, partial(_launch, session), partial(print, flush=True))
        while True:
            server.look()
            time.sleep(_POLL_SECONDS)


def _run_of_driver(folder: Path) -> str:
    """The life of the driver that has the lock, which it names a moment after taking it; empty if it is gone."""
    end = time.monotonic() + _NAMED_SECONDS
    while (found := holder(folder)) is not None and not found.run and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)
    return "" if found is None else found.run


def _is_drained(session: Session, dataset: str) -> bool:
    """A dataset with a timetable has no driver that stays: one would keep every drain out."""
    every = session.contract(dataset).source.every
    if every is not None:
        now = f"smelt ingest {dataset} --drain takes what is there now"
        print(f"{dataset}: it is drained every {every} by Airflow, and has no driver of its own; {now}")
    return every is not None


def _started(session: Session, dataset: str) -> Driver:
    if session.settings.drivers == "here":
        session.open_lake()
    return ensure_driver(session.settings.lake, dataset, served=session.settings.drivers == "served", by=_me())


def _launch(session: Session, dataset: str) -> Launch:
    session.contract(dataset)  # whoever asks from outside names a dataset that there is, or is refused
    return launch_of(session.settings.lake, dataset)


def _folder(session: Session, dataset: str) -> Path:
    """The run folder of a dataset that there is; whatever its name holds, it stays within the lake."""
    session.contract(dataset)
    return stream_folder(session.settings.lake, dataset)


def _me() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"
