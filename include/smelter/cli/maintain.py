"""`smelt maintain`: what the tables need, and giving it to them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli import maintain_back, maintain_rollback
from smelter.cli.maintain_words import show
from smelter.cli.session import IfThere, Session, print_json, session_of
from smelter.errors import WrongUsage

if TYPE_CHECKING:
    from smelter.maintenance.care import TableReport, Wishes
    from smelter.maintenance.steps import Step
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
    from smelter.maintenance.upkeep import LakeReport, plan_lake

    session, steps = session_of(context), steps_of(only)
    lake = session.open_lake()
    found = list(plan_care(lake, _subjects(session, tables, steps), Wishes(steps)))
    names = _datasets_meant(session, tables, steps)
    whole = plan_lake(lake, names, datetime.now(UTC)) if names is not None else LakeReport()
    show(None, found, whole, as_json=as_json)


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
    from smelter.maintenance.upkeep import LakeReport, run_lake

    session = session_of(context)
    if if_there and (nothing := session.nothing_yet(None)):
        _print_nothing(nothing, as_json=as_json)
        return
    if dry_run:
        plan(context, tables, only, as_json)
        return
    steps = steps_of(only)
    name, found = _run(session, _subjects(session, tables, steps), Wishes(steps, wait))
    names = _datasets_meant(session, tables, steps)
    now = datetime.now(UTC)
    whole = run_lake(session.open_lake(), names, now, name) if names is not None else LakeReport()
    show(name, found, whole, as_json=as_json)
    for problem in (*(one.problem for one in found), whole.problem):
        if problem is not None:
            raise typer.Exit(problem.exit_code)


def tables(context: typer.Context, if_there: IfThere = False, as_json: AsJson = False) -> None:
    """The tables that are looked after, and those that are set aside because they failed again and again."""
    from smelter.maintenance.journal import tables_aside

    session = session_of(context)
    if if_there and session.nothing_yet(None):
        if as_json:
            print_json({"tables": [], "set_aside": {}})
        return
    lake = session.open_lake()
    aside = tables_aside(lake)
    names = [str(one) for one in _subjects(session, None)]
    if as_json:
        print_json({"tables": names, "set_aside": aside})
        return
    for name in names:
        print(f"{name}  set aside: {aside[name]}; smelt maintain retry {name}" if name in aside else name)


def steps_of(only: str) -> frozenset[Step]:
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


def _subjects(session: Session, tables: Iterable[str] | None, steps: Collection[Step] = ()) -> list[Subject]:
    """The tables that are meant; none if only the lake as a whole is."""
    from smelter.gold.models import load_models
    from smelter.maintenance.steps import Step
    from smelter.maintenance.subjects import subjects_of

    if set(steps) == {Step.RECORDS} and not tables:
        return []
    models = {f"gold.{one.name}": one.keep_rows for one in load_models(session.settings.models)}
    return subjects_of(session.open_lake(), tables or (), live_streams(session), models)


def _datasets_meant(session: Session, tables: Iterable[str] | None, steps: Collection[Step]) -> list[str] | None:
    """The lake as a whole is meant where no table is named: then all datasets; nothing otherwise."""
    from smelter.lake.tables import datasets
    from smelter.maintenance.steps import Step

    return datasets(session.open_lake()) if not tables and Step.RECORDS in steps else None


def _run(session: Session, subjects: list[Subject], wishes: Wishes) -> tuple[str, list[TableReport]]:
    from smelter.maintenance.care import Hooks, new_run
    from smelter.maintenance.care import run as run_care
    from smelter.maintenance.engine import Engine

    lake, name = session.open_lake(), new_run(datetime.now(UTC))
    hooks = Hooks(say=lambda line: print(line, file=sys.stderr, flush=True))
    is_beside = bool(live_streams(session))
    with Engine(lake, beside_stream=is_beside, wait_seconds=wishes.wait_seconds) as engine:
        return name, list(run_care(lake, subjects, engine, name, wishes, hooks))


def _print_nothing(sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"run": None, "dry_run": False, "tables": [], "lake": [], "nothing": sentence})
    else:
        print(sentence)
