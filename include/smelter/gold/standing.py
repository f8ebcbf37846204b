"""How do the gold tables stand? Told from their metadata, without a JVM."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.gold.models import Model
from smelter.gold.plan import Step, plan_of
from smelter.lake.home import GOLD, SILVER, Lake
from smelter.lake.tables import find_table, row_count


@dataclass(frozen=True)
class GoldStanding:
    """One gold table: what it holds, and what it has before it."""

    table: str
    rows: int | None  # nothing if it was never made
    behind: int | None  # snapshots of silver; nothing if the table has to be computed whole
    rebuild_due: str = ""  # why only --rebuild helps
    whole_due: str = ""  # why the next run computes all of it


def gold_standing(lake: Lake, contract: Contract, models: Iterable[Model]) -> list[GoldStanding]:
    """The tables of a dataset's models, by name; none if there is no silver yet."""
    silver = find_table(lake, SILVER, contract.dataset)
    if silver is None:
        return []
    standings = []
    for model in sorted((one for one in models if one.dataset == contract.dataset), key=lambda one: one.name):
        table = f"{GOLD}.{model.name}"
        gold = find_table(lake, GOLD, model.name)
        rows = row_count(gold) if gold is not None else None
        try:
            plan = plan_of(model, contract, silver, gold)
        except Refused as refusal:
            standings.append(GoldStanding(table, rows, None, rebuild_due=refusal.what))
            continue
        is_whole = plan.step is Step.WHOLE
        standings.append(GoldStanding(table, rows, None if is_whole else plan.behind, "", plan.why if is_whole else ""))
    return standings
