"""Dead letters come back: by which words, and what the log and the page of an approval say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from smelter.orchestration.approval import A_NO, Question
from smelter.orchestration.datasets import Dataset
from smelter.orchestration.lines import as_text, counted, first

ABOUT_REPLAY = (
    "**Approve** judges these letters once more, under the contract that is active then; the good ones go to bronze, "
    f"and `undo_replay` can take that back. {A_NO}"
)
ABOUT_UNDO = f"**Approve** takes the run back, then builds silver and gold. {A_NO}"
_WAIT = ("--wait", "600")  # for whoever else changes the letters; a wait is cheaper than a failed run


def plan_replay_words(form: Mapping[str, Any]) -> list[str]:
    """The command that says what a replay would do."""
    return ["dlq", "replay", form["dataset"], *_meant(form), "--dry-run", "--if-there"]


def replay_words(form: Mapping[str, Any]) -> list[str]:
    """The command that replays the same letters."""
    return ["dlq", "replay", form["dataset"], *_meant(form), *_WAIT]


def plan_undo_words(form: Mapping[str, Any]) -> list[str]:
    """The command that says what would be taken back, and fails if nothing can be."""
    return ["dlq", "undo", form["run"], "--dry-run"]


def undo_words(form: Mapping[str, Any]) -> list[str]:
    """The command that takes a run back, and builds silver and gold after it."""
    return ["dlq", "undo", form["run"], *([f"--because={form['because']}"] if form["because"] else []), *_WAIT]


def auto_replay_words(dataset: Dataset) -> list[str]:
    """The command that replays what passes, where the active contract asks for it."""
    return ["dlq", "replay", dataset.name, "--auto", "--if-there", *_WAIT]


def retire_words(dataset: Dataset) -> list[str]:
    """The command that removes closed letters whose time is up."""
    return ["dlq", "retire", dataset.name, "--if-there", *_WAIT]


def ask_about_replay(report: Mapping[str, Any], _form: Mapping[str, Any]) -> dict[str, str]:
    """What the approval shows; a plan by which nothing would come back is no question."""
    needless = ""
    if not _brings(report):
        needless = "no letter that is meant would pass, so nobody is asked; " + _next(report)
    return asdict(Question(f"Replay dead letters of {report['dataset']}?", tell_of_replay_plan(report), needless))


def ask_about_undo(report: Mapping[str, Any], _form: Mapping[str, Any]) -> dict[str, str]:
    """What the approval shows."""
    return asdict(Question(f"Undo {report['run']}?", tell_of_undo_plan(report)))


def tell_of_replay_plan(report: Mapping[str, Any]) -> str:
    """How many letters would come home, why others would not, and what would help."""
    if "nothing" in report:
        return str(report["nothing"])
    failing = report["letters"] - report["would_pass"]
    said = f"{counted(report['letters'], 'open letter')} under {report['contract']}: "
    lines = [f"{report['dataset']}: {said}{report['would_pass']:,} would pass, {failing:,} would not"]
    lines += [f"  ✓ {count:,} {reason}" for reason, count in report["would_pass_by_reason"].items()]
    ways = [f"  ✗ {one['letters']:,} {one['reason']}: {one['message']} {_example(one)}" for one in report["failing"]]
    files = [_file("would bring", one) for one in report["files"]]
    return as_text([*lines, *first(ways, "ways to fail"), *first(files, "files"), _next(report)])


def tell_of_replay(report: Mapping[str, Any]) -> str:
    """What went home, and by which name it can be taken back."""
    lines = [
        f"{report['dataset']}: {counted(report['recovered'], 'letter')} went to bronze under {report['contract']}, "
        f"{report['still_open']:,} failed again and stay open"
    ]
    lines += [f"  ✓ {count:,} {reason}" for reason, count in report["recovered_by_reason"].items()]
    lines += [f"  ✗ {count:,} {reason}" for reason, count in report["still_open_by_reason"].items()]
    lines += first([_file("brought", one) for one in report["files"]], "files")
    if report["run"]:
        lines.append(f"run: {report['run']}; the DAG undo_replay takes it back")
    return as_text(lines)


def tell_of_undo_plan(report: Mapping[str, Any]) -> str:
    """What would be taken back."""
    rows = "" if report["action"] == "discard" else "; what it brought would leave bronze, silver and gold"
    return f"{report['run']} ({report['dataset']}): {counted(report['closed'], 'letter')} would be open again{rows}"


def tell_of_undo(report: Mapping[str, Any]) -> str:
    """What was taken back."""
    rows = "; what it brought has left bronze, silver and gold" if report["has_left_bronze"] else ""
    letters = counted(report["letters"], "letter")
    return f"{report['dataset']}: {report['run']} is undone by {report['by']}; {letters} open again{rows}"


def _meant(form: Mapping[str, Any]) -> list[str]:
    """The form's letters, and none that was written since it was filled in: nobody has seen or approved those."""
    chosen = {**{name: form[name] for name in ("reason", "field", "since")}, "until": form["until"] or form["asked_at"]}
    return [f"--{name}={value}" for name, value in chosen.items() if value]


def _brings(report: Mapping[str, Any]) -> bool:
    """A file may hold rows that are in no table, and its letter stay open all the same."""
    return bool(report.get("would_pass")) or any(one["rows"] or one["new_letters"] for one in report.get("files", ()))


def _next(report: Mapping[str, Any]) -> str:
    if "nothing" in report:
        return str(report["nothing"])
    more = report["next_contract_recovers"]
    said = f"a safe change of the contract would recover {more:,}: " if more else "look closer with: "
    return f"{said}smelt dlq plan {report['dataset']}"


def _example(one: Mapping[str, Any]) -> str:
    return f"(example {one['example']})"


def _file(brings: str, one: Mapping[str, Any]) -> str:
    rows, letters = counted(one["rows"], "row"), counted(one["new_letters"], "new letter")
    return f"  file {one['source']}: {brings} {rows} and {letters}{'; ' + one['problem'] if one['problem'] else ''}"
