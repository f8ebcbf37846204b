"""One `smelt` command as a task: its lines in the task's log, its exit code as the task's end.

Safe to kill and to repeat, because every command of Smelter is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from smelter.errors import Unreachable
from smelter.orchestration.hidden import Hidden, open_words, shown_words
from smelter.settings import load_settings
from smelter.supervise.launch import environment_of, smelt

if TYPE_CHECKING:
    from airflow.sdk import Context

Form = Mapping[str, Any]
Words = Sequence[str] | Callable[[Form], Sequence[str]]
ITS_NAME = "{{ task.about }}"  # the name in the grid of one task of many
_KEPT_LINES = 40
_GRACE_SECONDS = 4  # Airflow kills the whole group 5 s after it asked


class SmeltOperator(BaseOperator):
    """Runs `smelt WORDS`. A list of words, never a shell: what a person types into a form is one word of it at most.

    Exit code 3 (something is unreachable, missing or full) is tried again; 1 (refused, or a check failed) and 2 are
    not: the same would be said again. Mapped over `about`, it is one task for each.
    """

    ui_color = "#a9b665"

    def __init__(
        self, *, words: Words, begins: Callable[[], None] | None = None, tells: Callable[[Any], str] | None = None,
        keeps: Callable[[Any, Form], Any] | None = None, about: str | None = None, plan: str | None = None,
        **options: Any,
    ) -> None:  # fmt: skip
        """`words` may ask the form; `begins` runs first; `tells` puts the command's JSON in words, `keeps` in XCom.

        `about` is what this one of many is for, and `plan` the task whose XCom was approved: both stand in the form.
        """
        super().__init__(**options)
        self.words = words
        self.begins = begins
        self.tells = tells
        self.keeps = keeps
        self.about = about
        self.plan = plan
        self._process: subprocess.Popen[str] | None = None
        self._hidden = Hidden()

    def execute(self, context: Context) -> Any:
        """Run the command to its end; with `tells`, its report is the task's result, or what `keeps` makes of it."""
        if self.begins is not None:
            self.begins()
        form = self._form(context)
        words = list(self.words(form) if callable(self.words) else self.words)
        code, output, errors = self._run([*words, *(["--json"] if self.tells else [])])
        if code != 0:
            said = [*self._told_all_the_same(output), *errors] or output[-_KEPT_LINES:]
            raise self._failure(words, code, "\n".join(said))
        report = self._told(output)
        return report if self.keeps is None else self.keeps(report, form)

    def on_kill(self) -> None:
        """The command may end by itself; killed or not, what it had committed stays committed."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _run(self, words: list[str]) -> tuple[int, list[str], list[str]]:
        command = [*smelt(load_settings().values.lake), *open_words(words)]
        self.log.info("smelt %s", shown_words(words))
        self._hidden = Hidden.of(words)
        said = self._hidden.piped
        output: list[str] = []
        errors: deque[str] = deque(maxlen=_KEPT_LINES)
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "errors": "backslashreplace"}
        pipes["stdin"] = subprocess.DEVNULL if said is None else subprocess.PIPE
        with subprocess.Popen(command, env=environment_of(os.environ), encoding="utf-8", **pipes) as process:
            self._process = process
            _tell(process, said)
            assert process.stdout is not None
            assert process.stderr is not None
            reader = threading.Thread(target=self._copy, args=(process.stderr, errors, True), daemon=True)
            reader.start()
            self._copy(process.stdout, output, self.tells is None)
            reader.join()
        return process.returncode, output, list(errors)

    def _copy(self, stream: IO[str], lines: list[str] | deque[str], is_shown: bool) -> None:
        for line in stream:
            lines.append(line.rstrip("\n"))
            if is_shown:
                self.log.info("%s", self._hidden.shown(line.rstrip("\n")))

    def _told(self, output: list[str]) -> Any:
        if self.tells is None:
            return None
        report = json.loads("\n".join(output))
        for line in self.tells(report).splitlines():
            self.log.info("%s", line)
        return report

    def _told_all_the_same(self, output: list[str]) -> list[str]:
        """What a command that failed has reported: it may have done a part of its work, and says which."""
        with suppress(ValueError):
            return [] if self.tells is None else self.tells(json.loads("\n".join(output))).splitlines()
        return []

    def _failure(self, words: list[str], code: int, said: str) -> AirflowException:
        is_worth_another = code < 0 or code >= Unreachable.exit_code
        kind = AirflowException if is_worth_another else AirflowFailException
        return kind(f"smelt {shown_words(words)} ended with {code}: {self._hidden.shown(said)}")

    def _form(self, context: Context) -> dict[str, Any]:
        """What a person answered, and when they did: the same moment for every task and attempt of the run."""
        form = {**context["params"], "asked_at": context["dag_run"].run_after.isoformat()}
        if self.about is not None:
            form["about"] = self.about
        if self.plan is not None:
            form["planned"] = context["ti"].xcom_pull(task_ids=self.plan)
        return form


def _tell(process: subprocess.Popen[str], said: str | None) -> None:
    """It is shorter than a pipe is wide, so that nobody waits; a command that ended already does not hear it."""
    if process.stdin is None or said is None:
        return
    with suppress(BrokenPipeError):
        process.stdin.write(said)
    with suppress(BrokenPipeError):
        process.stdin.close()
