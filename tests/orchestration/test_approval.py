"""A person is asked: what they see, when nobody is asked, and what an answer or none leads to."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.standard.operators import hitl
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowSkipException,
    DownstreamTasksSkipped,
    TaskAwaitingInput,
)
from markdown_it import MarkdownIt

from smelter.orchestration.approval import PATIENCE, ApproveOperator, as_code
from smelter.orchestration.factory import a_dag
from smelter.orchestration.smelt_operator import SmeltOperator

STRANGE = [
    "{{ 7 * 7 }} {% raw %}",
    "![x](http://127.0.0.1:9/x.png) [click](javascript:alert(1)) <img src=x onerror=alert(1)>",
    "`one` ``two`` ```three```",
    "``` ~~~",
    "`",
    "# heading | a | b |",
    "- item",
    "1. item",
    "---",
    "    indented",
    "<script>alert(1)</script>",
    "http://127.0.0.1:9/ *b* **b** ~~s~~ &amp; \\`",
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What Airflow is asked to show; the supervisor that would take it is not there in a test."""
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(hitl, "upsert_hitl_detail", lambda **detail: shown.append(detail))
    return shown


class Store(dict[str, Any]):
    """As Airflow's task state: it outlives attempts."""

    def set(self, key: str, value: Any) -> None:
        self[key] = value


def approving() -> ApproveOperator:
    with a_dag("asking", runbook="Asks.\n", tags=["test"]):
        approve = ApproveOperator(task_id="approve", plan="plan", about="**Approve** it.")
        approve >> SmeltOperator(task_id="act", words=["settings"])
    return approve


def a_context(task: ApproveOperator, plan: str = "3 would pass", needless: str = "", **more: Any) -> Any:
    question = {"subject": "Replay?", "plan": plan, "needless": needless}
    ti = SimpleNamespace(
        id="01", map_index=-1, xcom_pull=lambda task_ids: {"plan": question}[task_ids], xcom_push=lambda **_: None
    )
    both = {"ti": ti, "task_instance": ti, "task": task, "task_state_store": Store()}
    return {"params": {"dry_run": False}, **both, **more}


def an_answer(option: str, who: str | None) -> dict[str, Any]:
    user = None if who is None else {"id": who, "name": who}
    moment = datetime(2026, 11, 1, tzinfo=UTC)
    return {"chosen_options": [option], "params_input": {}, "responded_at": moment, "responded_by_user": user}


def test_a_person_is_shown_the_plan_and_the_task_waits_for_days(asked: list[dict[str, Any]]) -> None:
    approve = approving()
    with pytest.raises(TaskAwaitingInput) as waiting:
        approve.execute(a_context(approve))
    assert waiting.value.timeout == PATIENCE
    (detail,) = asked
    assert detail["subject"] == "Replay?"
    assert detail["body"] == "**Approve** it.\n\n- ` 3 would pass `\n"
    assert (detail["options"], detail["defaults"]) == (["Approve", "Reject"], ["Reject"])


def test_a_dry_run_and_a_plan_that_brings_nothing_ask_nobody(asked: list[dict[str, Any]]) -> None:
    approve = approving()
    with pytest.raises(AirflowSkipException, match="a dry run"):
        approve.execute(a_context(approve, params={"dry_run": True}))
    with pytest.raises(AirflowSkipException, match="no letter would pass"):
        approve.execute(a_context(approve, needless="no letter would pass"))
    assert asked == []


def test_nothing_that_a_record_holds_is_rendered(asked: list[dict[str, Any]]) -> None:
    approve = approving()
    assert tuple(approve.template_fields) == ()
    context = a_context(approve, plan="\n".join(STRANGE))
    with pytest.raises(TaskAwaitingInput):
        approve.execute(context)
    assert "{{ 7 * 7 }}" in asked[0]["body"]


@pytest.mark.parametrize("line", [*STRANGE, "\n".join(STRANGE)])
def test_a_line_of_a_plan_is_shown_as_it_is_whatever_markdown_it_holds(line: str) -> None:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse("About it.\n\n" + as_code(line))
    inner = [one for token in tokens[3:] for one in token.children or ()]
    assert {token.type for token in tokens[3:] if token.nesting == 1} == {
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
    }
    assert {one.type for one in inner} == {"code_inline"}
    assert [one.content for one in inner] == [part.strip() for part in line.splitlines()]


def test_a_run_asks_about_one_plan_and_the_same_one_again(asked: list[dict[str, Any]]) -> None:
    approve, store = approving(), Store()
    for _attempt in range(2):
        with pytest.raises(TaskAwaitingInput):
            approve.execute(a_context(approve, task_state_store=store))
    with pytest.raises(AirflowFailException, match="trigger the DAG anew"):
        approve.execute(a_context(approve, plan="9,000 would pass", task_state_store=store))
    assert len(asked) == 2


def test_a_yes_lets_the_next_task_run_and_says_who_said_it(capsys: pytest.CaptureFixture[str]) -> None:
    approve = approving()
    said = approve.execute_complete(a_context(approve), an_answer("Approve", "admin"))
    assert said["responded_by_user"] == {"id": "admin", "name": "admin"}
    assert "Approve, says admin" in capsys.readouterr().out


@pytest.mark.parametrize(("who", "words"), [("admin", "Reject, says admin"), (None, "nobody answered within 7 days")])
def test_a_no_and_no_answer_skip_the_next_task_and_are_no_failure(
    capsys: pytest.CaptureFixture[str], who: str | None, words: str
) -> None:
    approve = approving()
    with pytest.raises(DownstreamTasksSkipped) as skipped:
        approve.execute_complete(a_context(approve), an_answer("Reject", who))
    assert list(skipped.value.tasks) == ["act"]
    assert words in capsys.readouterr().out
