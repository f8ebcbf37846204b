"""`smelt gold`: bring the answers of a dataset up to date with its silver table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.session import IfThere, Session, complete_dataset, counted, print_json, print_nothing, session_of
from smelter.contracts import dataset_names
from smelter.contracts.misfit import nearest
from smelter.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smelter.gold.build import Built, GoldReport
    from smelter.gold.models import Model

_DEFAULT_WAIT_SECONDS = 60.0


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("gold")(gold)


def gold(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Compute every window again, as after a changed model.")
    ] = False,
    wait: Annotated[
        float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for whoever changes a table.")
    ] = _DEFAULT_WAIT_SECONDS,
    if_there: IfThere = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Bring every gold table of the dataset up to date; safe to kill and to repeat.

    A gold table is the answer of one SQL file in include/models. Only windows that changed rows of silver touch are
    computed again, late rows correct old windows, and a second run changes nothing. If one table fails, the others are
    built all the same, and the exit code is 1. With --if-there, silver that is not built yet is no failure either.
    """
    from smelter.gold.build import Hooks, build_gold
    from smelter.gold.models import load_models
    from smelter.lake.home import BRONZE
    from smelter.lake.tables import active_contract, load_table

    session = session_of(context)
    found = load_models(session.settings.models)
    if if_there and (nothing := _nothing_yet(session, dataset)):
        print_nothing(dataset, nothing, as_json=as_json)
        return
    session.ingested(dataset)
    _tell_of_strays(session, found)
    models = _models_of(session, found, dataset)
    lake = session.open_lake()
    contract = active_contract(load_table(lake, BRONZE, dataset))
    hooks = Hooks(say=lambda line: print(line, file=sys.stderr, flush=True))
    report = build_gold(lake, contract, models, rebuild=rebuild, wait_seconds=wait, hooks=hooks)
    if as_json:
        print_json(as_dict(report))
    else:
        _print(report)
    raise typer.Exit(1 if report.failed else 0)


def _nothing_yet(session: Session, dataset: str) -> str:
    """A sentence, while there are no rows to answer from."""
    from smelter.lake.home import SILVER
    from smelter.lake.tables import find_table

    nothing = session.nothing_yet(dataset)
    if nothing or dataset not in session.ingested(None):
        return nothing
    return "" if find_table(session.open_lake(), SILVER, dataset) else f"{SILVER}.{dataset} is not built yet"


def _models_of(session: Session, found: Sequence[Model], dataset: str) -> list[Model]:
    """The models of the dataset, of which there must be one."""
    models = [model for model in found if model.dataset == dataset]
    if not models:
        raise Unreachable(
            f"no model has silver.{dataset} as its source",
            where=str(session.settings.models),
            next_step="write one; docs/gold.md tells how",
        )
    return models


def _tell_of_strays(session: Session, models: Sequence[Model]) -> None:
    """A model of a dataset that nobody knows is never built: a word written wrong, most likely."""
    known = {*dataset_names(session.settings.contracts), *session.ingested(None)}
    for stray in (model for model in models if model.dataset not in known):
        hint = nearest(stray.dataset, known)
        print(f"{stray.file}: there is no dataset `{stray.dataset}`, so it is not built{hint}", file=sys.stderr)


def _print(report: GoldReport) -> None:
    for built in report.built:
        print(f"{built.table}: {_line(built)}")
    for failed in report.failed:
        print(f"{failed.table}: {failed.problem}", file=sys.stderr)
    if report.failed:
        names = ", ".join(failed.table for failed in report.failed)
        print(f"failed: {names}", file=sys.stderr)


def _line(built: Built) -> str:
    if built.step.value == "nothing":
        return f"nothing to do ({built.why})"
    if built.step.value == "bookmark":
        return "nothing to do (silver has new snapshots, and no row changed)"
    changed = f"{counted(built.written, 'row')} written, {built.removed:,} removed"
    windows = "" if built.windows is None else f" of {counted(built.windows, 'window')}"
    why = f", all of it: {built.why}" if built.step.value == "whole" else ""
    return f"{changed}{windows}{why}, {built.seconds:.1f} s"


def as_dict(report: GoldReport) -> dict[str, Any]:
    """The report as plain values."""
    return {
        "dataset": report.dataset,
        "seconds": round(report.seconds, 3),
        "tables": [
            {
                "table": built.table,
                "step": built.step.value,
                "why": built.why,
                "rows_written": built.written,
                "rows_removed": built.removed,
                "windows": built.windows,
                "seconds": round(built.seconds, 3),
            }
            for built in report.built
        ],
        "failed": [
            {
                "table": failed.table,
                "what": failed.problem.what,
                "where": failed.problem.where,
                "next_step": failed.problem.next_step,
            }
            for failed in report.failed
        ],
    }
