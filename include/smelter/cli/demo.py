"""`smelt demo`: the whole job on a small, hostile sample, one line per step."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from smelter.cli.limits import judge_of
from smelter.cli.session import Session, print_table, session_of
from smelter.contracts import Contract
from smelter.errors import Refused

if TYPE_CHECKING:
    from smelter.producer import Produced
    from smelter.records import Survey

DATASET = "events"
EVENTS = 5_000
EVENTS_PER_FILE = 100
FAULT_RATE = 0.02
SEED = 7


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("demo")(demo)


def demo(context: typer.Context) -> None:
    """Run the whole job on a small, hostile sample in the lake, and print what it did; a second run changes nothing."""
    from smelter.lake.layout import ensure_layout

    session = session_of(context)
    contract = session.contract(DATASET)

    started = time.monotonic()
    ensure_layout(session.settings.lake)
    _done(f"lake {session.settings.lake}", started)

    started = time.monotonic()
    produced = _produce(contract, session.landing(contract))
    _done(
        f"produced {produced.records:,} records in {len(produced.files)} files, every fault at {FAULT_RATE:.0%}",
        started,
    )

    if produced.interrupted:
        raise KeyboardInterrupt

    started = time.monotonic()
    checked = _check(session, contract, produced.files)
    _done(f"checked {checked.records:,} records: {checked.accepted:,} accepted", started)
    _summarize(produced, checked, session.landing(contract))
    _print_next(session, session.landing(contract))


def _produce(contract: Contract, landing: Path) -> Produced:
    from smelter.producer import Faults, Plan, produce

    faults = Faults(**{fault.name: FAULT_RATE for fault in fields(Faults)})
    plan = Plan(count=EVENTS, to=landing, seed=SEED, records_per_file=EVENTS_PER_FILE, faults=faults)
    return produce(contract, plan)


def _check(session: Session, contract: Contract, files: Sequence[Path]) -> Survey:
    """Judge the files as the stream will."""
    from smelter.records import Source, survey

    judge = judge_of(contract, session.settings)
    return survey(judge, (Source.of_file(file) for file in files), lambda _letter: None)


def _summarize(produced: Produced, checked: Survey, landing: Path) -> None:
    """Planned beside found; a difference is a failure."""
    found = {"accepted": checked.accepted, **checked.by_reason}
    planned = {"accepted": produced.good, **produced.by_reason}
    verdicts = sorted(found.keys() | planned.keys())
    rows = [(name, f"{planned.get(name, 0):,}", f"{found.get(name, 0):,}") for name in verdicts]
    print_table(("verdict", "planned", "found"), rows, right=("planned", "found"))
    if found != planned:
        raise Refused(
            "the judge and the producer disagree about the sample",
            where=str(landing),
            data="only landing files were written",
            next_step=f"smelt check {landing} --dataset {DATASET} --letters 20",
        )
    print("Every record is in exactly one place: accepted, or a dead letter with its reason.")


def _print_next(session: Session, landing: Path) -> None:
    smelt = sys.argv[0] if Path(sys.argv[0]).name == "smelt" else "smelt"  # so that the lines can be pasted
    on_lake = f" --lake {session.lake}" if session.lake else ""
    print("Next:")
    print(f"  {smelt} check {landing} --dataset {DATASET} --letters 5")
    print(f"  {smelt} produce {DATASET} --count 1000{on_lake}")
    print(f"  {smelt} doctor{on_lake}")


def _done(what: str, started: float) -> None:
    print(f"✓ {what}  {time.monotonic() - started:.1f} s", flush=True)
