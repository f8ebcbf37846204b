"""Tell somebody that a task failed: a line in its log and, if one is set, a message to a webhook."""

from __future__ import annotations

import json
import logging
import urllib.request
from typing import TYPE_CHECKING

from smelter.errors import SmelterError
from smelter.settings import load_settings

if TYPE_CHECKING:
    from airflow.sdk import Context

_TIMEOUT_SECONDS = 10
_MOST_CHARACTERS = 2_000
_log = logging.getLogger(__name__)


def on_failure(context: Context) -> None:
    """Airflow's failure callback; whatever happens here, the task's own failure is what counts."""
    task = context["task_instance"]
    said = str(context.get("exception") or "it was marked failed or killed")
    why = said.strip().partition("\n")[0]  # what follows may show values of records, which are not for a chat
    send_notice(
        f"{task.dag_id}.{task.task_id} failed in {task.run_id}: {why}",
        dag=task.dag_id,
        task=task.task_id,
        run=task.run_id,
        attempt=str(task.try_number),
    )


def send_notice(text: str, **facts: str) -> None:
    """Write to the log, and to the webhook of the settings, as JSON with `text`, which chat services show."""
    text = text[:_MOST_CHARACTERS]
    _log.error("notice: %s", text)
    try:
        webhook = load_settings().values.webhook
    except SmelterError as problem:
        _log.error("no notice was sent: %s", problem.what)
        return
    if webhook is None:
        return
    body = json.dumps({"text": f"Smelter: {text}", **facts}).encode()
    request = urllib.request.Request(  # noqa: S310  # the settings take http and https only
        webhook.get_secret_value(), data=body, headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310
            _log.info("notice sent: the webhook answered %s", answer.status)
    except (OSError, ValueError) as problem:  # its address is a secret, and errors repeat it
        _log.error("the notice could not be sent to the webhook: %s", type(problem).__name__)
