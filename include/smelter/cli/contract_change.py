"""`smelt contract plan`, `apply`, `show`, `history`: the active contract, and how it changes while the stream runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.session import Session, complete_dataset, counted, print_json, print_table, session_of

if TYPE_CHECKING:
    from smelter.contracts import Contract
    from smelter.contracts.diff import Change
    from smelter.lake.evolution import Evolution
    from smelter.lake.home import Lake

Dataset = Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="FIELD", help="A field that is gone from the file on purpose.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(contracts: typer.Typer) -> None:
    """Add the commands to `smelt contract`."""
    contracts.command("plan")(plan)
    contracts.command("apply")(apply)
    contracts.command("show")(show)
    contracts.command("history")(history)


def plan(context: typer.Context, dataset: Dataset, drop: Drop = None, as_json: AsJson = False) -> None:
    """Show what `apply` would change, which open dead letters would pass, and which rows break a stricter rule.

    Changes nothing. Exit 1 if any change is refused.
    """
    session = session_of(context)
    file = session.contract(dataset)
    found = _planned(session, file, drop or [])
    if as_json:
        print_json(found)
    else:
        _print_plan(found)
    raise typer.Exit(0 if found["is_safe"] else 1)


def _planned(session: Session, file: Contract, drop: list[str]) -> dict[str, Any]:
    from smelter.lake.evolution import plan_contract
    from smelter.lake.home import BRONZE
    from smelter.lake.tables import find_table

    lake = session.open_lake()
    table = find_table(lake, BRONZE, file.dataset)
    if table is None:
        return {"dataset": file.dataset, "active": None, "file": file.label, "changes": [], "is_safe": True}
    evolution = plan_contract(table, file, drop)
    return {
        "dataset": file.dataset,
        "active": evolution.before.label,
        "file": file.label,
        "changes": [asdict(change) for change in evolution.changes],
        "is_safe": evolution.is_safe,
        "needs_from_now_on": evolution.refuses_what_passed,
        "table": evolution.steps(table),
        **(_forecast(session, lake, evolution) if evolution.is_safe and evolution.changes else {}),
    }


def _forecast(session: Session, lake: Lake, evolution: Evolution) -> dict[str, Any]:
    from smelter.bronze.forecast import forecast_rows
    from smelter.cli.limits import limits_of
    from smelter.dead_letters.filters import Filters
    from smelter.dead_letters.plan import plan as plan_letters

    dataset, limits = evolution.after.dataset, limits_of(session.settings)
    letters = plan_letters(lake, dataset, Filters(), limits, evolution.after)
    rows = forecast_rows(lake, evolution.before, evolution.after)
    return {
        "open_letters": letters.letters,
        "letters_that_would_pass": letters.would_pass,
        "rows_that_break_a_stricter_rule": [asdict(breach) for breach in rows],
    }


def _print_plan(found: dict[str, Any]) -> None:
    from smelter.contracts.diff import Change

    dataset = found["dataset"]
    if found["active"] is None:
        print(
            f"nothing is active yet; the first ingest makes {found['file']} active, or: smelt contract apply {dataset}"
        )
        return
    if not found["changes"]:
        print(f"{found['active']} is active, and the file says the same")
        return
    print(f"{found['active']} is active; the file says {found['file']}")
    print_changes(Change(**change) for change in found["changes"])
    if not found["is_safe"]:
        print("refused: apply would change nothing")
        return
    for step in found["table"] or ["stays as it is"]:
        print(f"bronze.{dataset}: {step}")
    passing = found["letters_that_would_pass"]
    reasons = f" ({', '.join(f'{reason} {count:,}' for reason, count in passing.items())})" if passing else ""
    print(f"dead letters: {found['open_letters']:,} open, {sum(passing.values()):,} of them would pass{reasons}")
    for breach in found["rows_that_break_a_stricter_rule"]:
        print(f"stored rows: {breach['rows']:,} break `{breach['rule']}` of {breach['field']}; they stay as they are")
    consent = " --from-now-on" if found["needs_from_now_on"] else ""
    gone = [one["where"].removeprefix("fields.") for one in found["changes"] if one["what"] == "dropped"]
    dropped = "".join(f" --drop {name}" for name in gone)
    print(f"next: smelt contract apply {dataset}{consent}{dropped}")


def print_changes(changes: Iterable[Change]) -> None:
    """A table of changes, each with its verdict."""
    rows = [
        (_verdict(change), change.where, change.what, change.why + (f" → {change.way_out}" if change.way_out else ""))
        for change in changes
    ]
    print_table(("verdict", "where", "change", "why"), rows)


def _verdict(change: Change) -> str:
    if not change.is_safe:
        return "refused"
    return "from now on" if change.refuses_what_passed else "safe"


def apply(
    context: typer.Context,
    dataset: Dataset,
    from_now_on: Annotated[
        bool, typer.Option("--from-now-on", help="Records that were taken until now may be refused.")
    ] = False,
    drop: Drop = None,
) -> None:
    """Make the contract file the active contract, in one commit; a running stream takes it up at its next batch.

    An unsafe change is refused and changes nothing. Safe to repeat.
    """
    from smelter.lake.evolution import apply_contract

    session = session_of(context)
    file = session.contract(dataset)
    evolution = apply_contract(session.open_lake(), file, from_now_on=from_now_on, drop=drop or [])
    if evolution is None:
        print(f"{file.label} is the first contract of {dataset}, and active")
    elif not evolution.changes:
        print(f"{file.label} is active already; nothing was changed")
    else:
        print(f"{file.label} is active; {'; '.join(_said(evolution.changes))}")


def _said(changes: Iterable[Change]) -> list[str]:
    return [f"{change.where}: {change.what}" for change in changes]


def show(context: typer.Context, dataset: Dataset, as_json: AsJson = False) -> None:
    """Print the active contract of a dataset."""
    from smelter.contracts.write import contract_text
    from smelter.lake.past_contracts import contract_history

    session = session_of(context)
    (name,) = session.ingested(dataset)
    active = contract_history(session.open_lake(), name)[-1].contract
    if as_json:
        print_json(active.model_dump(mode="json", by_alias=True, exclude_unset=True))
    else:
        print(contract_text(active), end="")


def history(context: typer.Context, dataset: Dataset, as_json: AsJson = False) -> None:
    """Show every contract that was active, since when, and what each changed."""
    from smelter.contracts.diff import compare
    from smelter.lake.past_contracts import contract_history

    session = session_of(context)
    (name,) = session.ingested(dataset)
    past = contract_history(session.open_lake(), name)
    changes = [["the first that is known"]] + [
        _said(compare(before.contract, after.contract, tuple(before.contract.fields)))
        for before, after in pairwise(past)
    ]
    if as_json:
        print_json(
            [
                {"contract": one.contract.label, "applied_at": one.applied_at.isoformat(), "changes": what}
                for one, what in zip(past, changes, strict=True)
            ]
        )
        return
    rows = [
        (one.contract.label, f"{one.applied_at:%Y-%m-%d %H:%M:%S}Z", "\n".join(what))
        for one, what in zip(past, changes, strict=True)
    ]
    print_table(("contract", "active since", "what changed"), rows)
    print(f"{past[-1].contract.label} is active; {counted(len(past), 'contract')} in all")
