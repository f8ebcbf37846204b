"""How `smelt maintain` shows what tables need, and what was done."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from smelter.cli.session import counted, print_json

if TYPE_CHECKING:
    from smelter.maintenance.care import TableReport
    from smelter.maintenance.journal import StepDone
    from smelter.maintenance.upkeep import LakeReport

_MARKS = {"done": "✓", "failed": "✗", "postponed": "–"}


def show(run: str | None, tables: Sequence[TableReport], lake: LakeReport, *, as_json: bool) -> None:
    """A plan, or what a run did; `run` is its name."""
    if as_json:
        found = [_as_dict(one) for one in tables]
        whole = [asdict(one) for one in lake.steps]
        print_json({"run": run, "dry_run": run is None, "tables": found, "lake": whole})
        return
    for one in tables:
        _print(one)
    if lake.steps:
        print("the lake")
        _print_steps(lake.steps)
    if lake.problem is not None:
        print(f"  {lake.problem}", file=sys.stderr)
    _print_end(run, tables, lake)


def _as_dict(one: TableReport) -> dict[str, Any]:
    problem = None if one.problem is None else str(one.problem)
    return {
        "table": one.table,
        "outcome": one.outcome,
        "steps": [asdict(step) for step in one.steps],
        "kept": list(one.kept),
        "numbers": one.numbers,
        "survey": one.survey,
        "problem": problem or one.why_aside or None,
    }


def _print(one: TableReport) -> None:
    if one.outcome == "set_aside":
        print(f"{one.table}: set aside, because it failed again and again: {one.why_aside}")
        print(f"  next: smelt maintain retry {one.table}")
        return
    if one.outcome == "nothing" and not one.kept:
        return
    print(one.table)
    _print_steps(one.steps)
    for line in one.kept:
        print(f"  – not touched: {line}")
    if one.problem is not None:
        print(f"  {one.problem}", file=sys.stderr)


def _print_steps(steps: Sequence[StepDone]) -> None:
    for step in steps:
        took = f", {step.seconds:.1f} s" if step.seconds else ""
        print(f"  {_MARKS.get(step.outcome, '·')} {step.step:<9}  {step.said}  ({step.why}{took})")


def _print_end(run: str | None, tables: Sequence[TableReport], lake: LakeReport) -> None:
    healthy = sum(one.outcome == "nothing" for one in tables)
    if tables:
        print(f"{counted(len(tables), 'table')}: {healthy:,} need{'s' if healthy == 1 else ''} nothing")
    elif not lake.steps:
        print("nothing to do")
    if run is None and (any(one.outcome == "planned" for one in tables) or lake.steps):
        print("next: smelt maintain run")
    elif run is not None and (healthy < len(tables) or lake.steps):
        print(f"run: {run}")
