"""A person is forgotten under Airflow: the form, the words that become of it, and what people are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import filled

from smelter.orchestration.datasets import Dataset
from smelter.orchestration.forgetting import (
    ask_about_forgetting,
    forget_words,
    plan_forget_words,
    tell_of_forget_plan,
    tell_of_forgetting,
)
from smelter.orchestration.forms import forget_params

EVENTS = Dataset("events", "", Path("/nowhere"))
UNSEEN = ["two\nlines", "end\n", "\x1b[31mred", "tab\there", "\u202egnihtyna", "zero\u200bwidth", "\x7f"]
HOSTILE = "user_id = ''; drop table bronze.events; -- $(touch x) --dry-run {{ 7 * 7 }} `rm -rf /` \"é\""
FOUND = {"bronze": 12, "dead_letters": 1, "resolutions": 0, "silver": 9, "unreadable_letters": 2}
FOUND |= {"unjudged_letters": 3, "letters_emptied": 1}
YOURS = {"what": "landing file", "where": "landing/events/a.jsonl", "goes": None, "why": "yours"}
KEPT = {"what": "older snapshots", "where": "bronze.events", "goes": "2026-11-03T12:00:09.1+00:00", "why": "kept 24h"}
GONE: dict[str, Any] = {
    "dataset": "events", "where": "user_id = 'u17'", "run": "forget:20261102-120000-0a1b", "dry_run": True,
    "found": FOUND, "still_there": [YOURS, KEPT], "pages_removed": ["quality/events.html"], "silver": None, "gold": [],
}  # fmt: skip


def forget(**answers: Any) -> dict[str, Any]:
    return filled(forget_params([EVENTS]), **{"dataset": "events", "where": "user_id = 'u17'", **answers})


@pytest.mark.parametrize("text", [*UNSEEN, "", "   ", "x" * 1_001])
def test_a_condition_is_one_line_that_can_be_seen(text: str) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        forget(where=text)


def test_a_condition_and_a_reason_are_one_word_each_whatever_they_say() -> None:
    form = forget(where=HOSTILE, because=HOSTILE)
    assert plan_forget_words(form) == ["forget", "events", f"--where={HOSTILE}", "--dry-run"]
    assert forget_words(form)[2:] == [f"--where={HOSTILE}", f"--because={HOSTILE}", "--wait", "600"]
    assert forget_words(forget()) == ["forget", "events", "--where=user_id = 'u17'", "--wait", "600"]


def test_who_approves_a_forgetting_sees_what_leaves_and_what_still_holds_values() -> None:
    question = ask_about_forgetting(GONE, forget(because="asked for it on 1 November"))
    assert question["subject"] == "Forget rows of events?"
    assert question["plan"].splitlines() == [
        "because asked for it on 1 November",
        "where",
        "  user_id = 'u17'",
        "events, what the form means:",
        "  bronze: 12 rows would leave",
        "  dead letters: 1 row would leave",
        "  resolutions: 0 rows would leave",
        "  silver: 9 rows would leave",
        "  2 of the letters could only be searched for the values",
        "  3 unreadable letters could not be judged by the condition",
        "  letters emptied: 1; they stay, because they are about files",
        "  page that names one of them would leave: quality/events.html",
        "  would still be there: landing file, yours: landing/events/a.jsonl",
        "  would still be there: older snapshots, goes after 2026-11-03 12:00 UTC; kept 24h: bronze.events",
        "  Airflow itself has the form and the plan until housekeeping removes the run",
    ]
    assert question["needless"] == ""


def test_a_long_condition_is_shown_to_its_last_letter_and_only_to_whoever_approves() -> None:
    where = "user_id = '" + "x" * 900 + "' or 1 = 1"
    report = {**GONE, "where": where}
    shown = ask_about_forgetting(report, forget())["plan"].splitlines()
    assert "".join(line.strip() for line in shown[1 : shown.index("events, what the form means:")]) == where
    assert all(len(line) <= 200 for line in shown)
    for log in (tell_of_forget_plan(report), tell_of_forgetting(report)):
        assert "user_id" not in log, "logs of the platform live longer than a run"


def test_nobody_is_asked_to_forget_what_is_not_there() -> None:
    none = {**FOUND, "bronze": 0, "dead_letters": 0, "silver": 0, "letters_emptied": 0}
    assert "nobody is asked" in ask_about_forgetting({**GONE, "found": none}, forget())["needless"]
    only_emptied = {**none, "letters_emptied": 1}
    assert ask_about_forgetting({**GONE, "found": only_emptied}, forget())["needless"] == ""


def test_a_forgetting_says_what_left_and_the_name_of_the_run() -> None:
    said = tell_of_forgetting({**GONE, "dry_run": False, "still_there": []}).splitlines()
    assert said[1] == "  bronze: 12 rows left"
    assert "  nothing else in the lake holds them" in said
    assert said[-1] == "run: forget:20261102-120000-0a1b"


def test_a_plan_is_short_and_can_be_printed_and_many_files_do_not_hide_a_snapshot() -> None:
    strange = {"what": "landing file", "where": "y" * 5_000 + "\x1b[31m\u202e/a.jsonl", "goes": None, "why": "`\n# x"}
    lines = tell_of_forget_plan({**GONE, "still_there": [*[strange] * 1_000, KEPT]}).split("\n")
    assert "  … 997 more of landing file" in lines
    assert sum(line.endswith("/a.jsonl") for line in lines) == 3, "the end of a long path is what tells files apart"
    assert "  would still be there: older snapshots, goes after 2026-11-03 12:00 UTC; kept 24h: bronze.events" in lines
    assert all(line.isprintable() and len(line) <= 201 for line in lines)
