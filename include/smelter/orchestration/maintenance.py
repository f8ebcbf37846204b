"""Tables are looked after and rolled back: by which words, and what the log and the page of an approval say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from smelter.contracts.misfit import nearest
from smelter.orchestration.approval import A_NO, Question
from smelter.orchestration.forms import LAKE_STEP, TABLE_STEPS
from smelter.orchestration.lines import as_text, counted, first

ABOUT_ROLLBACK = (
    "**Approve** makes that snapshot the current one again. What was written since leaves the table; its snapshots "
    f"stay until they expire, so that a rollback can itself be taken back until then. {A_NO}"
)
TABLES_WORDS = ("maintain", "tables", "--if-there")
_WAIT = ("--wait", "600")  # for whoever else changes the table; a wait is cheaper than a failed run
_MARKS = {"done": "✓", "planned": "→", "postponed": "–", "failed": "✗"}
_STANDINGS = {"done": "looked after", "planned": "there is something to do", "nothing": "healthy, nothing to do",
              "set_aside": "set aside", "postponed": "its turn did not come"}  # fmt: skip


def table_words(form: Mapping[str, Any]) -> list[str]:
    """The command that looks after one table; what belongs to no table is for another task."""
    return ["maintain", "run", form["about"], f"--only={','.join(_table_steps(form))}", *_dry(form), *_WAIT]


def lake_words(form: Mapping[str, Any]) -> list[str]:
    """The command that looks after what belongs to no table, unless the form means something else."""
    chosen = form["steps"] or ([] if _named(form) else [LAKE_STEP])
    if LAKE_STEP not in chosen:
        raise AirflowSkipException(f"the form does not ask for {LAKE_STEP}")
    return ["maintain", "run", f"--only={LAKE_STEP}", *_dry(form), *_WAIT, "--if-there"]


def plan_rollback_words(form: Mapping[str, Any]) -> list[str]:
    """The command that says what would leave, and fails if it may not."""
    return ["maintain", "rollback", form["table"], f"--to={form['to']}", *_again(form), "--dry-run"]


def rollback_words(form: Mapping[str, Any]) -> list[str]:
    """The command that goes back to the snapshot that was shown, whatever a moment would mean by now."""
    return ["maintain", "rollback", form["table"], f"--to={form['planned']['settled']}", *_again(form), *_WAIT]


def chosen_tables(report: Mapping[str, Any], form: Mapping[str, Any]) -> list[str]:
    """One task for each of these; a name that there is not ends the run, before anything was done."""
    if not _table_steps(form):
        return []
    there = list(report["tables"])
    for name in _named(form):
        if name not in there:
            raise AirflowFailException(
                f"there is no table `{name}`{nearest(name, there)}"
                "\n  data: nothing was changed"
                "\n  next: trigger it anew; smelt maintain tables names them all"
            )
    return _named(form) or there


def unless_set_aside(report: Mapping[str, Any], _form: Mapping[str, Any]) -> Mapping[str, Any]:
    """A table that waits for a person is skipped: no failure of this run, and not healthy either."""
    if any(one["outcome"] == "set_aside" for one in report["tables"]):
        raise AirflowSkipException(tell_of_maintenance(report))
    return report


def ask_about_rollback(report: Mapping[str, Any], _form: Mapping[str, Any]) -> dict[str, str]:
    """What the approval shows, and the snapshot that an answer is about."""
    question = Question(f"Roll {report['table']} back?", tell_of_rollback_plan(report))
    return {**asdict(question), "settled": str(report["to_snapshot"])}


def tell_of_tables(report: Mapping[str, Any]) -> str:
    """Which tables there are, and which wait for a person."""
    waiting = [
        f"  {name} is set aside: {why}; smelt maintain retry {name}" for name, why in report["set_aside"].items()
    ]
    names = [f"  {name}" for name in report["tables"] if name not in report["set_aside"]]
    return as_text([f"{counted(len(report['tables']), 'table')} to look after", *waiting, *names])


def tell_of_maintenance(report: Mapping[str, Any]) -> str:
    """What each step did and why others did nothing, for each table and for the lake."""
    if "nothing" in report:
        return str(report["nothing"])
    lines = [line for one in report["tables"] for line in _table_lines(one)]
    lines += [_step_line("", one) for one in report["lake"]]
    steps = [*report["lake"], *(step for one in report["tables"] for step in one["steps"])]
    run = [f"run: {report['run']}"] if any(step["outcome"] == "done" for step in steps) else []
    return as_text([*(lines or ["healthy, nothing to do"]), *run])


def tell_of_rollback_plan(report: Mapping[str, Any]) -> str:
    """What would leave, and what becomes of it."""
    return as_text(_rollback_lines(report, "would go back", "would leave"))


def tell_of_rollback(report: Mapping[str, Any]) -> str:
    """What has left, and the way back."""
    again = [f"  taken in again: {_facts(report['reingested'])}"] if report["reingested"] else []
    back = f"  to take it back: trigger it anew with {report['from_snapshot']}, as long as that snapshot is kept"
    return as_text([*_rollback_lines(report, "went back", "left"), *(again or [back])])


def _rollback_lines(report: Mapping[str, Any], went: str, left: str) -> list[str]:
    to = f"snapshot {report['to_snapshot']} of {report['to_time']}"
    leaves, batches = report["leaves"], [f"  batch {one}" for one in report["leaves"].get("batches", ())]
    rows = f"rows {report['rows_before']:,} → {report['rows_after']:,}"
    sources = f" of {counted(leaves['sources'], 'source')}" if leaves.get("sources") else ""
    lines = [
        f"{report['table']}: {went} from snapshot {report['from_snapshot']} to {to}; {rows}",
        f"  {counted(leaves['rows'], 'row')}{sources} {left}",
        *first(batches, "batches"),
    ]
    return [*lines, *([f"  next: {report['next']}"] if report.get("next") else [])]


def _table_lines(one: Mapping[str, Any]) -> list[str]:
    standing = _STANDINGS.get(one["outcome"], one["outcome"])
    what, *more = str(one["problem"] or "").splitlines() or [""]
    retry = [f"  next: smelt maintain retry {one['table']}"] if one["outcome"] == "set_aside" else []
    steps = [_step_line("  ", step) for step in one["steps"]]
    kept = first([f"  kept: {sentence}" for sentence in one["kept"]], "kept")
    return [f"{one['table']}: {standing}{': ' if what else ''}{what}", *more, *retry, *steps, *kept]


def _step_line(indent: str, step: Mapping[str, Any]) -> str:
    said = step["said"] or step["why"] or step["outcome"]
    why = f" ({step['why']})" if step["said"] and step["why"] else ""
    freed = f", {step['bytes_freed']:,} bytes freed" if step["bytes_freed"] else ""
    return f"{indent}{_MARKS.get(step['outcome'], '·')} {step['step']}: {said}{why}{freed}, {step['seconds']:.1f} s"


def _table_steps(form: Mapping[str, Any]) -> list[str]:
    """In the order in which they are done, whatever the order of the form."""
    return [step for step in TABLE_STEPS if step in (form["steps"] or TABLE_STEPS)]


def _named(form: Mapping[str, Any]) -> list[str]:
    """The form's tables, each once; lines that are empty name none."""
    return list(dict.fromkeys(name for name in form["tables"] or () if name))


def _dry(form: Mapping[str, Any]) -> list[str]:
    return ["--dry-run"] if form["dry_run"] else []


def _again(form: Mapping[str, Any]) -> list[str]:
    return ["--and-reingest"] if form["and_reingest"] else []


def _facts(found: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found.items())
