"""A person says yes or no to a plan: what a task before found out is shown, and only a yes lets the next task run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from smelter.orchestration.factory import STREAMS_POOL

if TYPE_CHECKING:
    from airflow.sdk import Context

PATIENCE = timedelta(days=7)
A_NO = "**Reject**, or no answer within seven days, leaves everything as it is."
_SHOWN = "shown"  # in the task's state, which outlives its attempts


@dataclass(frozen=True)
class Question:
    """What the planning task leaves for the approval, as its XCom."""

    subject: str
    plan: str
    needless: str = ""  # why nobody need be asked
    settled: str = ""  # what the plan has found out, and the task that carries it out must keep to


class ApproveOperator(ApprovalOperator):
    """Shows the plan of the task before it and waits, in no pool and without a worker. No answer is a no.

    Nothing of it is a template: a plan repeats what records hold, and that must never be rendered.
    """

    template_fields = ()
    ui_color = "#e9c46a"

    def __init__(self, *, plan: str, about: str, **options: Any) -> None:
        """`plan` is the task whose XCom is a `Question`; `about` says, in Markdown, what an answer leads to."""
        waiting = {"defaults": self.REJECT, "response_timeout": PATIENCE, "pool": STREAMS_POOL}
        super().__init__(subject="Is this plan to be carried out?", **{**waiting, **options})
        self.plan = plan
        self.about = about

    def execute(self, context: Context) -> Any:
        """Ask, unless it is a dry run or there is nothing to ask about: then this task and the next are skipped."""
        if context["params"]["dry_run"]:
            raise AirflowSkipException("a dry run: nobody is asked, and nothing is changed")
        question = Question(**context["ti"].xcom_pull(task_ids=self.plan))
        if question.needless:
            raise AirflowSkipException(question.needless)
        self.subject = question.subject
        self.body = f"{self.about}\n\n{as_code(question.plan)}\n"
        self._refuse_another(context, self.body)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Somebody answered, or time is up; who it was is in the log and in this task's XCom."""
        if "error" not in event:
            self.log.info("%s", _answer(event))
        return super().execute_complete(context, event)

    def _refuse_another(self, context: Context, body: str) -> None:
        """A run asks about one plan: Airflow 3.3.2 keeps showing the first one to whoever answers after a Clear."""
        store = context["task_state_store"]
        if store.get(_SHOWN, body) != body:
            raise AirflowFailException(
                "this run has shown another plan before, and Airflow would show that one again (apache/airflow#73235)"
                "\n  data: nothing was changed"
                "\n  next: trigger the DAG anew with the same form"
            )
        store.set(_SHOWN, body)


def as_code(text: str) -> str:
    """Markdown that shows every line as it is, whatever a record put into it; Airflow 3.3.2 joins lines of a block."""
    return "\n".join(f"- {_span(line.strip())}" for line in text.splitlines() if line.strip())


def _span(line: str) -> str:
    """Nothing inside has a meaning, and only as many backticks as began it end it: one more than the line has."""
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{ticks} {line} {ticks}"


def _answer(event: dict[str, Any]) -> str:
    chosen, who = event["chosen_options"][0], event["responded_by_user"]
    return f"nobody answered within {PATIENCE.days} days: {chosen}" if who is None else f"{chosen}, says {who['name']}"
