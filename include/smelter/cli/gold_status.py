"""How the gold tables of a dataset stand, for `smelt status`; no JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from smelter.cli.session import Session, counted
from smelter.errors import SmelterError

if TYPE_CHECKING:
    from smelter.contracts import Contract
    from smelter.lake.home import Lake


def gold_status(session: Session, lake: Lake, contract: Contract) -> list[dict[str, Any]]:
    """Each table of the dataset as plain values; models that cannot be read are one line, and no failure."""
    from smelter.gold.models import load_models
    from smelter.gold.standing import gold_standing

    try:
        found = gold_standing(lake, contract, load_models(session.settings.models))
    except SmelterError as problem:
        return [{"problem": problem.what}]
    return [
        {
            "table": one.table,
            "rows": one.rows,
            "snapshots_behind": one.behind,
            "rebuild_due": one.rebuild_due,
            "computed_whole_because": one.whole_due,
        }
        for one in found
    ]


def gold_line(table: dict[str, Any], dataset: str) -> str:
    """One table in words, with the command that brings it up to date."""
    if "problem" in table:
        return f"the models cannot be read: {table['problem']}"
    command = f"smelt gold {dataset}"
    if table["rows"] is None:
        return f"{table['table']} is not built yet; {command}"
    rows = f"{table['table']}: {counted(table['rows'], 'row')}"
    if table["rebuild_due"]:
        return f"{rows}; {table['rebuild_due']}; {command} --rebuild"
    if table["computed_whole_because"]:
        return f"{rows}; the next run computes all of it: {table['computed_whole_because']}"
    behind = table["snapshots_behind"]
    return f"{rows}, {counted(behind, 'snapshot')} of silver behind; {command}" if behind else f"{rows}, up to date"
