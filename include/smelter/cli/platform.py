"""`smelt up` and `smelt down`: the whole platform on one machine, without containers."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.session import Session, session_of
from smelter.contracts import dataset_names, find_contract
from smelter.errors import SmelterError, Unreachable, WrongUsage
from smelter.settings import PROJECT, Settings

if TYPE_CHECKING:
    from smelter.embedded.api import Airflow
    from smelter.embedded.home import Home
    from smelter.embedded.standing import Standing
    from smelter.embedded.start import Request
    from smelter.supervise.heartbeat import Heartbeat

DEFAULT_DATASET = "events"


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
    app.command("up")(up)
    app.command("down")(down)


def up(
    context: typer.Context,
    port: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65_535,
            show_default="8080, or that of the last start",
            help="Where Airflow's pages are, on this machine only.",
        ),
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Write sample events too, some of them spoilt.")] = False,
    datasets: Annotated[
        str | None,
        typer.Option(metavar="NAMES", show_default=DEFAULT_DATASET, help="Un-pause these datasets: events,taxi_trips."),
    ] = None,
    dags: Annotated[Path, typer.Option(metavar="DIR", hidden=True)] = PROJECT / "dags",
) -> None:
    """Start the whole platform on this machine and wait until it is healthy; a second run changes nothing.

    The first start un-pauses the chosen datasets; from then on a pause is a person's, and only --datasets ends it.
    """
    from smelter.embedded.home import Home
    from smelter.embedded.start import Request

    session = session_of(context)
    chosen = _chosen(session.settings, datasets)
    _refuse_unfit(session.settings)
    home, began = Home.at(session.settings.lake), time.monotonic()
    try:
        standing = _start(session, home, Request(dags.absolute(), port, sample))
        airflow = _open(home, standing, dags, chosen, explicit=datasets is not None)
        streams = _streams(session, airflow)
    except KeyboardInterrupt:
        print(f"\nthe platform goes on starting by itself; {_smelt(session)} down stops it", file=sys.stderr)
        raise
    _print_box(session, home, standing, streams)
    print(f"ready after {time.monotonic() - began:.1f} s")


def down(context: typer.Context) -> None:
    """Stop the platform of this lake and its streams, after their batches; safe to repeat, and when nothing runs.

    A driver that you run in a terminal of your own (smelt ingest --follow) is left alone.
    """
    from smelter.embedded.home import Home
    from smelter.embedded.stopping import bring_down

    session = session_of(context)
    if not bring_down(Home.at(session.settings.lake), _done):
        print("nothing was running")


def _start(session: Session, home: Home, request: Request) -> Standing:
    """Have Airflow running and healthy."""
    from smelter.embedded.environment import environment
    from smelter.embedded.start import running, start, wait_until_healthy
    from smelter.lake.layout import ensure_layout

    ensure_layout(session.settings.lake)
    is_new = running(home) is None
    standing = start(home, request, environment(home, session.settings, os.environ), _done)
    wait_until_healthy(home, standing, _done, is_new=is_new)
    return standing


def _open(home: Home, standing: Standing, dags: Path, chosen: Sequence[str], *, explicit: bool) -> Airflow:
    """Have pools, and the DAGs that are due un-paused."""
    from smelter.embedded import opening

    airflow, began = opening.enter(home, standing), time.monotonic()
    made = opening.ensure_pools(airflow)
    if made:
        _done(f"pools {', '.join(made)}", time.monotonic() - began)
    for problem in opening.wait_for_dags(airflow, standing, dags, chosen, _done):
        print(f"! {problem.file} cannot be read: {problem.text}", file=sys.stderr)
    began = time.monotonic()
    opened = opening.open_dags(home, airflow, chosen, explicit=explicit)
    if opened:
        _done(f"{opened} DAGs un-paused", time.monotonic() - began)
    return airflow


def _streams(session: Session, airflow: Airflow) -> dict[str, Heartbeat | None]:
    """The streams that are to run, with what their drivers say; nothing of one that is still starting."""
    from smelter.embedded.opening import followed
    from smelter.embedded.streams import wait_for_streams

    began = time.monotonic()
    names = followed(airflow, [name for name in dataset_names(session.settings.contracts) if _is_stream(session, name)])
    begun = wait_for_streams(session.settings.lake, names)
    for name in begun:
        _done(f"stream {name}", time.monotonic() - began)
    return {name: begun.get(name) for name in names}


def _is_stream(session: Session, name: str) -> bool:
    """A dataset with a timetable is drained, and has no driver that stays."""
    try:
        return find_contract(session.settings.contracts, name).source.every is None
    except SmelterError:  # its own task tells
        return False


def _chosen(settings: Settings, datasets: str | None) -> list[str]:
    """The datasets to un-pause; an unknown one is refused before anything starts."""
    known = dataset_names(settings.contracts)
    if datasets is None:
        return [DEFAULT_DATASET] if DEFAULT_DATASET in known else []
    names = list(dict.fromkeys(name.strip() for name in datasets.split(",") if name.strip()))
    for name in names:
        find_contract(settings.contracts, name)
    if not names:
        raise WrongUsage("--datasets names no dataset", next_step=f"smelt up --datasets {','.join(known)}")
    return names


def _refuse_unfit(settings: Settings) -> None:
    """What every stream needs is there: Java, the jars, some room; before anything starts."""
    from smelter.lake.doctor import check_disk
    from smelter.lake.jars import LOCK, ensure_jars
    from smelter.lake.java import find_java

    find_java(os.environ)
    ensure_jars(LOCK, settings.jars, lambda line: print(line, file=sys.stderr, flush=True))
    disk = check_disk(settings.lake)
    if not disk.ok:
        raise Unreachable(f"there is not enough room: {disk.found}", data="nothing was started", next_step=disk.fix)


def _print_box(session: Session, home: Home, standing: Standing, streams: Mapping[str, Heartbeat | None]) -> None:
    from smelter.embedded.configuration import ADMIN, VIEWER, url_of
    from smelter.embedded.start import is_sampled

    lines = [
        ("Airflow", url_of(standing.port)),
        ("user", f"{ADMIN} ({VIEWER} may look, and change nothing)"),
        ("password", f"cat {shlex.quote(str(home.passwords))}"),
        *((f"stream {name}", _stream_line(session, name, beat)) for name, beat in streams.items()),
        *([("sample", "events arrive until smelt down")] if is_sampled(home) else []),
        ("logs", f"{home.logs} (make logs follows them)"),
        ("next", f"{_smelt(session)} status"),
        ("", f"{_smelt(session)} down"),
    ]
    _print_lines(lines)


def _stream_line(session: Session, name: str, beat: Heartbeat | None) -> str:
    if beat is None:
        return f"still starting; {_smelt(session)} stream status {name}"
    pages = f", Spark's pages {beat.ui}" if beat.ui else ""
    return f"{beat.state.value}{pages}"


def _print_lines(lines: Sequence[tuple[str, str]]) -> None:
    """A box that is open to the sides, so that its commands can be pasted."""
    width = max(len(label) for label, _ in lines) + 2
    rule = "─" * min(100, max(width + len(text) for _, text in lines))
    print(rule)
    for label, text in lines:
        print(f"{label:<{width}}{text}")
    print(rule, flush=True)


def _smelt(session: Session) -> str:
    """The command as it can be pasted."""
    smelt = sys.argv[0] if Path(sys.argv[0]).name == "smelt" else "smelt"
    return f"{smelt} --lake {shlex.quote(str(session.lake))}" if session.lake else smelt


def _done(what: str, seconds: float) -> None:
    print(f"✓ {what}  {seconds:.1f} s", flush=True)
