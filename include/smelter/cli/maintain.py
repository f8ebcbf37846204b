"""`smelt maintain`: what the tables need, and giving it to them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli import maintain_back, maintain_rollback
from smelter.cli.session import IfThere, Session, print_json, session_of
from smelter.errors import WrongUsage

if TYPE_CHECKING:
    from smelter.maintenance.care import TableReport, Wishes
    from smelter.maintenance.subjects import Subject

Tables = Annotated[
    list[str] | None, typer.Argument(metavar="[TABLE]…", help="Such as bronze.events; all tables without one.")
]
Only = Annotated[
    str,
    typer.Option(
        "--only", metavar="STEPS", help="Some of rows, compact, expire, manifests, orphans and records, with commas."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Wait = Annotated[
    float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for whoever changes a table.")
]
WAIT_SECONDS = 60.0

maintain = typer.Typer(
    help="Look after the tables: pack small files, let old snapshots go, find files that belong to nobody.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add `smelt maintain`."""
    maintain.command("plan")(plan)
    maintain.command("run")(run)
    maintain.command("tables")(tables)
    maintain_back.register(maintain)
    maintain_rollback.register(maintain)
    app.add_typer(maintain, name="maintain")


def plan(context: typer.Context, tables: Tables = None, only: Only = "", as_json: AsJson = False) -> None:
    """What would be done to each table, why, what it would gain, and what must not be touched. Starts no JVM."""
    from smelter.maintenance.care import Wishes
    from smelter.maintenance.care import plan as plan_care

    session = session_of(context)
    wishes = Wishes(steps_of(only))
    found = list(plan_care(session.open_lake(), _subjects(session, tables), wishes))
    _report(session, None, found, wishes, dry_run=True, as_json=as_json)


def run(
    context: typer.Context,
    tables: Tables = None,
    only: Only = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done, as plan does.")] = False,
    wait: Wait = WAIT_SECONDS,
    if_there: IfThere = False,
    as_json: AsJson = False,
) -> None:
    """Give each table what it needs, one after the other, beside a running stream. Safe to kill and to repeat."""
    from smelter.maintenance.care import Wishes

    session = session_of(context)
    if if_there and (nothing := session.nothing_yet(None)):
        _print_nothing(nothing, as_json=as_json)
        return
    wishes = Wishes(steps_of(only), wait)
    if dry_run:
        plan(context, tables, only, as_json)
        return
    name, found = _run(session, _subjects(session, tables), wishes)
    _report(session, name, found, wishes, dry_run=False, as_json=as_json)
    for one in found:
        if one.problem is not None:
            raise typer.Exit(one.problem.exit_code)


def tables(context: typer.Context, if_there: IfThere = False, as_json: AsJson = False) -> None:
    """The tables that are looked after, and those that are set aside because they failed again and again."""
    from smelter.maintenance.journal import history, set_aside

    session = session_of(context)
    if if_there and session.nothing_yet(None):
        if as_json:
            print_json({"tables": [], "set_aside": {}})
        return
    lake = session.open_lake()
    aside = set_aside(history(lake))
    names = [str(one) for one in _subjects(session, None)]
    if as_json:
        print_json({"tables": names, "set_aside": aside})
        return
    for name in names:
        print(f"{name}  set aside: {aside[name]}; smelt maintain retry {name}" if name in aside else name)


def steps_of(only: str) -> frozenset[Any]:
    """The steps that somebody means, checked."""
    from smelter.contracts.faults import printable
    from smelter.contracts.misfit import nearest
    from smelter.maintenance.care import ALL_STEPS
    from smelter.maintenance.steps import Step

    words = [word.strip() for word in only.split(",") if word.strip()]
    for word in words:
        if word not in set(Step):
            raise WrongUsage(
                f"`{printable(word)}` is not a step of maintenance{nearest(word, list(Step))}",
                next_step=f"--only takes some of {','.join(Step)}",
            )
    return frozenset(map(Step, words)) or ALL_STEPS


def live_streams(session: Session) -> frozenset[str]:
    """The datasets whose landing files somebody takes in at this moment."""
    from smelter.lake.tables import datasets
    from smelter.supervise.lock import holder

    lake = session.open_lake()
    return frozenset(name for name in datasets(lake) if holder(lake.run_folder(name)) is not None)


def _subjects(session: Session, tables: Iterable[str] | None) -> list[Subject]:
    from smelter.maintenance.subjects import subjects_of

    return subjects_of(session.open_lake(), tables or (), live_streams(session))


def _run(session: Session, subjects: list[Subject], wishes: Wishes) -> tuple[str, list[TableReport]]:
    from datetime import UTC, datetime

    from smelter.maintenance.care import Hooks, new_run
    from smelter.maintenance.care import run as run_care
    from smelter.maintenance.engine import Engine

    lake, name = session.open_lake(), new_run(datetime.now(UTC))
    hooks = Hooks(say=lambda line: print(line, file=sys.stderr, flush=True))
    is_beside = bool(live_streams(session))
    with Engine(lake, beside_stream=is_beside, wait_seconds=wishes.wait_seconds) as engine:
        return name, list(run_care(lake, subjects, engine, name, wishes, hooks))


def _report(
    session: Session, name: str | None, found: list[TableReport], wishes: Wishes, *, dry_run: bool, as_json: bool
) -> None:
    del session, wishes
    if as_json:
        tables = [_as_dict(one) for one in found]
        print_json({"run": name, "dry_run": dry_run, "tables": tables, "lake": []})
        return
    busy = [one for one in found if one.outcome != "nothing" or one.kept]
    for one in busy:
        _print(one)
    healthy = len([one for one in found if one.outcome == "nothing"])
    print(f"{healthy:,} of {len(found):,} tables need nothing")
    if any(one.outcome == "planned" for one in found):
        print("next: smelt maintain run")
    elif name is not None and len(busy):
        print(f"run: {name}")


def _as_dict(one: TableReport) -> dict[str, Any]:
    from dataclasses import asdict

    problem = None if one.problem is None else str(one.problem)
    steps = [asdict(step) for step in one.steps]
    return {
        "table": one.table,
        "outcome": one.outcome,
        "steps": steps,
        "kept": list(one.kept),
        "numbers": one.numbers,
        "problem": problem or one.why_aside or None,
    }


def _print(one: TableReport) -> None:
    if one.outcome == "set_aside":
        print(f"{one.table}: set aside after failing again and again: {one.why_aside}")
        print(f"  next: smelt maintain retry {one.table}")
        return
    print(f"{one.table}")
    for step in one.steps:
        took = f" ({step.seconds:.1f} s)" if step.seconds else ""
        mark = {"done": "✓", "failed": "✗"}.get(step.outcome, "·")
        print(f"  {mark} {step.step:<10} {step.said}{took}; {step.why}")
    for line in one.kept:
        print(f"  - kept       {line}")
    if one.problem is not None:
        print(f"  ✗ {one.problem}", file=sys.stderr)


def _print_nothing(sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"run": None, "dry_run": False, "tables": [], "lake": [], "nothing": sentence})
    else:
        print(sentence)
