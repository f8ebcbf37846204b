"""A person is forgotten: by which words, and what the log and the page of an approval say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from smelter.contracts.faults import printable
from smelter.orchestration.approval import A_NO, Question
from smelter.orchestration.lines import as_text, counted, first

ABOUT_FORGETTING = (
    "**Approve** removes these rows from bronze, dead letters, silver and gold, with all that match until then. "
    f"**It cannot be taken back**, neither by a replay nor by a recovery. {A_NO}"
)
_WAIT = ("--wait", "600")  # for whoever else changes the tables; a wait is cheaper than a failed run
_LEAVING = ("bronze", "dead_letters", "resolutions", "silver")
_MEANT = (*_LEAVING, "letters_emptied")
_LINE = 150  # characters
_LONG_PATH = 80
_MOST_OF_A_KIND = 3  # places that hold values; the command names all
_AIRFLOW_TOO = "  Airflow itself has the form and the plan until housekeeping removes the run"


def plan_forget_words(form: Mapping[str, Any]) -> list[str]:
    """The command that says what would leave, and what would still be there."""
    return ["forget", form["dataset"], f"--where={form['where']}", "--dry-run"]


def forget_words(form: Mapping[str, Any]) -> list[str]:
    """The command that forgets; condition and reason are one word each, whatever they say."""
    because = [f"--because={form['because']}"] if form["because"] else []
    return ["forget", form["dataset"], f"--where={form['where']}", *because, *_WAIT]


def ask_about_forgetting(report: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, str]:
    """What the approval shows; where nothing is found there is no question."""
    is_found = any(report["found"][place] for place in _MEANT)
    needless = "" if is_found else "no row and no letter matches, so nobody is asked"
    because = [f"because {form['because']}"] if form["because"] else []
    plan = [*because, "where", *_whole(report["where"]), tell_of_forget_plan(report)]
    return asdict(Question(f"Forget rows of {report['dataset']}?", "\n".join(plan), needless))


def tell_of_forget_plan(report: Mapping[str, Any]) -> str:
    """How much would leave, and where values would still be; the condition is for whoever approves, not for a log."""
    return as_text([*_found_lines(report, "would leave"), *_still_lines(report, "would still be there"), _AIRFLOW_TOO])


def tell_of_forgetting(report: Mapping[str, Any]) -> str:
    """How much has left, and where values still are."""
    run = [f"run: {report['run']}"] if report["run"] else []
    return as_text([*_found_lines(report, "left"), *_still_lines(report, "still there"), _AIRFLOW_TOO, *run])


def _found_lines(report: Mapping[str, Any], leave: str) -> list[str]:
    found = report["found"]
    lines = [f"{report['dataset']}, what the form means:"]
    lines += [f"  {place.replace('_', ' ')}: {counted(found[place], 'row')} {leave}" for place in _LEAVING]
    if found["unreadable_letters"]:
        lines.append(f"  {found['unreadable_letters']:,} of the letters could only be searched for the values")
    if found["unjudged_letters"]:
        lines.append(
            f"  {counted(found['unjudged_letters'], 'unreadable letter')} could not be judged by the condition"
        )
    if found["letters_emptied"]:
        lines.append(f"  letters emptied: {found['letters_emptied']:,}; they stay, because they are about files")
    pages = [f"  page that names one of them {leave}: {page}" for page in report["pages_removed"]]
    return [*lines, *first(pages, "pages")]


def _whole(where: str) -> list[str]:
    """The condition to its last letter: what is cut off is what somebody approves without having seen it."""
    seen = printable(where)
    return [f"  {seen[start : start + _LINE]}" for start in range(0, len(seen), _LINE)]


def _still_lines(report: Mapping[str, Any], still: str) -> list[str]:
    """The first few of each kind, so that many files do not hide a snapshot."""
    kinds: dict[str, list[str]] = {}
    for one in report["still_there"]:
        place = f"  {still}: {one['what']}, {_goes(one['goes'])}{one['why']}: {_end(one['where'])}"
        kinds.setdefault(one["what"], []).append(place)
    lines = [line for what, places in kinds.items() for line in first(places, f"of {what}", _MOST_OF_A_KIND)]
    return lines or ["  nothing else in the lake holds them"]


def _goes(moment: str | None) -> str:
    return "" if moment is None else f"goes after {datetime.fromisoformat(moment):%Y-%m-%d %H:%M} UTC; "


def _end(path: str) -> str:
    """The end of a path, which tells more than its beginning."""
    return path if len(path) <= _LONG_PATH else f"…{path[-_LONG_PATH:]}"
