"""Dead letters under Airflow: the forms, the words that become of them, and what people are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException
from conftest import ASKED_AT, a_context, filled

from smelter.orchestration.datasets import Dataset
from smelter.orchestration.forms import REASONS, replay_params, undo_params
from smelter.orchestration.letters import (
    ask_about_replay,
    ask_about_undo,
    auto_replay_words,
    plan_replay_words,
    plan_undo_words,
    replay_words,
    retire_words,
    tell_of_replay,
    tell_of_replay_plan,
    tell_of_undo,
    tell_of_undo_plan,
    undo_words,
)
from smelter.orchestration.smelt_operator import SmeltOperator
from smelter.records import Reason

EVENTS = Dataset("events", "", Path("/nowhere"))
RUN = "replay:20261101-120000-0a1b"
HOSTILE = [
    "$(touch x)",
    "'; rm -rf / #",
    '"',
    "../../etc/passwd",
    "--all",
    "a b",
    "{{ 7 * 7 }}",
    "x\n",
    "",
    "é",
    "x" * 201,
]
NOT_A_RUN = [
    "undo:20261101-120000-0a1b",
    RUN[:-1],
    RUN + "f",
    RUN + "\n",
    RUN.upper(),
    f" {RUN}",
    RUN.replace("2026", "٢٠٢٦"),
]
UNSEEN = ["two\nlines", "end\n", "\x1b[31mred", "tab\there", "\u202egnihtyna", "zero\u200bwidth", "\x7f", "x" * 201]
PLAN: dict[str, Any] = {
    "dataset": "events", "contract": "events@2", "letters": 1_250, "would_pass": 1_200,
    "would_pass_by_reason": {"unknown_field": 1_200}, "would_fail_by_reason": {"missing_field": 50},
    "failing": [{"reason": "missing_field", "field": "user_id", "rule": "required", "letters": 50,
                 "message": "`user_id` is required and is missing", "example": "0a1b2c3d4e5f6071"}],
    "files": [], "proposals": [], "next_contract": None, "next_contract_recovers": 0,
}  # fmt: skip
FILE = {"source": "file:///landing/cut.gz", "reason": "truncated_batch", "letters": 1, "rows": 7, "new_letters": 1,
        "problem": None}  # fmt: skip


@pytest.fixture(autouse=True)
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))


def replay_form(**answers: Any) -> dict[str, Any]:
    return filled(replay_params([EVENTS]), **{"dataset": "events", **answers})


def undo_form(**answers: Any) -> dict[str, Any]:
    return filled(undo_params(), **{"run": RUN, **answers})


def run(words: list[str], **more: Any) -> Any:
    return SmeltOperator(task_id="one", words=words, **more).execute(a_context())


def test_the_form_offers_the_reasons_that_letters_have() -> None:
    assert tuple(str(reason) for reason in Reason) == REASONS


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("field", ["dataset", "reason", "field", "since", "until", "dry_run"])
def test_the_form_of_a_replay_takes_nothing_that_is_not_meant_for_it(field: str, text: str) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        replay_form(**{field: text})


@pytest.mark.parametrize("text", [*HOSTILE, *NOT_A_RUN])
def test_the_form_of_an_undoing_takes_the_name_of_a_run_and_nothing_else(text: str) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        undo_form(run=text)


@pytest.mark.parametrize("text", UNSEEN)
def test_a_reason_for_an_undoing_is_one_line_that_can_be_seen(text: str) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        undo_form(because=text)


def test_a_form_without_a_dataset_or_a_run_is_refused() -> None:
    for params in (replay_params([EVENTS]), replay_params([]), undo_params()):
        with pytest.raises(Exception, match="No value passed"):
            filled(params)


def test_what_is_planned_is_what_is_replayed_and_nothing_that_came_after_the_question() -> None:
    meant = ["--reason=unknown_field", "--field=items[].price", f"--until={ASKED_AT.isoformat()}"]
    form = replay_form(reason="unknown_field", field="items[].price")
    assert plan_replay_words(form) == ["dlq", "replay", "events", *meant, "--dry-run", "--if-there"]
    assert replay_words(form) == ["dlq", "replay", "events", *meant, "--wait", "600"]
    window = {"since": "2026-11-01T00:00Z", "until": "2026-11-02T00:00Z"}
    assert replay_words(replay_form(**window))[3:5] == [f"--{name}={moment}" for name, moment in window.items()]


def test_why_a_run_is_undone_is_one_word_whatever_it_says() -> None:
    why = "'; rm -rf / # $(touch x) --wait 0 {{ 7 * 7 }} “é”"
    assert undo_words(undo_form(because=why)) == ["dlq", "undo", RUN, f"--because={why}", "--wait", "600"]
    assert undo_words(undo_form()) == ["dlq", "undo", RUN, "--wait", "600"]
    assert plan_undo_words(undo_form(because=why)) == ["dlq", "undo", RUN, "--dry-run"]


def test_before_the_first_record_there_is_nothing_to_ask_and_the_nights_are_green() -> None:
    said = run(plan_replay_words(replay_form()), tells=tell_of_replay_plan, keeps=ask_about_replay)
    assert said["plan"] == "nothing has been ingested for events"
    assert said["needless"].startswith("no letter that is meant would pass")
    run(auto_replay_words(EVENTS))
    run(retire_words(EVENTS))


def test_a_run_that_there_is_not_is_refused_and_not_tried_again() -> None:
    with pytest.raises(AirflowFailException, match="there is no run"):
        run(plan_undo_words(undo_form()), tells=tell_of_undo_plan)


def test_a_plan_says_what_passes_what_does_not_and_what_would_help() -> None:
    assert tell_of_replay_plan({**PLAN, "files": [FILE], "next_contract_recovers": 50}).splitlines() == [
        "events: 1,250 open letters under events@2: 1,200 would pass, 50 would not",
        "  ✓ 1,200 unknown_field",
        "  ✗ 50 missing_field: `user_id` is required and is missing (example 0a1b2c3d4e5f6071)",
        "  file file:///landing/cut.gz: would bring 7 rows and 1 new letter",
        "a safe change of the contract would recover 50: smelt dlq plan events",
    ]


def test_a_plan_is_short_and_each_of_its_lines_can_be_printed_however_strange_the_records_are() -> None:
    strange = "`\x1b[31m\u202e\n# x" + "y" * 5_000
    ways = [{**PLAN["failing"][0], "message": strange} for _ in range(1_000)]
    files = [{**FILE, "source": strange, "problem": strange} for _ in range(1_000)]
    lines = tell_of_replay_plan({**PLAN, "failing": ways, "files": files}).split("\n")
    assert "  … 990 more ways to fail" in lines
    assert "  … 990 more files" in lines
    assert len(lines) == 25
    assert all(line.isprintable() and len(line) <= 201 for line in lines)


def test_nobody_is_asked_about_a_plan_that_brings_nothing_back() -> None:
    none = {**PLAN, "would_pass": 0, "would_pass_by_reason": {}}
    assert ask_about_replay(PLAN, {})["needless"] == ""
    assert ask_about_replay(PLAN, {})["subject"] == "Replay dead letters of events?"
    assert "smelt dlq plan events" in ask_about_replay(none, {})["needless"]
    still_cut = {**FILE, "problem": "the file ends in mid-record"}
    assert ask_about_replay({**none, "files": [still_cut]}, {})["needless"] == "", "its rows come, its letter stays"


def test_a_replay_says_by_which_name_it_is_taken_back() -> None:
    passed, failed = {"unknown_field": 3}, {"wrong_type": 1}
    done = {"dataset": "events", "contract": "events@2", "run": RUN, "recovered": 3, "still_open": 1, "files": []}
    done |= {"recovered_by_reason": passed, "still_open_by_reason": failed}
    assert tell_of_replay(done).splitlines() == [
        "events: 3 letters went to bronze under events@2, 1 failed again and stay open",
        "  ✓ 3 unknown_field",
        "  ✗ 1 wrong_type",
        f"run: {RUN}; the DAG undo_replay takes it back",
    ]
    assert "run" not in tell_of_replay({**done, "run": None, "recovered": 0})


def test_an_undoing_says_what_leaves_bronze() -> None:
    found = {"dataset": "events", "action": "replay", "run": RUN, "closed": 1, "failed": 0}
    assert tell_of_undo_plan(found) == (
        f"{RUN} (events): 1 letter would be open again; what it brought would leave bronze, silver and gold"
    )
    assert ask_about_undo(found, {})["subject"] == f"Undo {RUN}?"
    assert "bronze" not in tell_of_undo_plan({**found, "action": "discard"})
    done = {"dataset": "events", "run": RUN, "by": "undo:20261102-120000-0a1b", "letters": 2, "has_left_bronze": True}
    assert tell_of_undo(done) == (
        f"events: {RUN} is undone by undo:20261102-120000-0a1b; 2 letters open again; "
        "what it brought has left bronze, silver and gold"
    )
    assert "bronze" not in tell_of_undo({**done, "has_left_bronze": False})
