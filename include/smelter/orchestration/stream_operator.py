"""The stream as a task: finds or starts the driver, then leaves it to a trigger and takes up no worker.

Safe to kill and to repeat: nobody in Airflow owns the driver. A second attempt finds it by its lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException

from smelter.errors import SmelterError
from smelter.orchestration.stream_trigger import DAY_SECONDS, SILENT_SECONDS, StreamTrigger
from smelter.orchestration.words import mirror_of, progress_of, why_not_now
from smelter.run_folders import stream_folder
from smelter.settings import load_settings
from smelter.supervise.driver import ERRORS, Driver, is_alive, kill, wait_for
from smelter.supervise.heartbeat import read_heartbeat
from smelter.supervise.launch import ensure_driver
from smelter.supervise.lock import holder
from smelter.supervise.log import LOG
from smelter.supervise.requests import ask_to_stop, who_asked_to_stop
from smelter.supervise.standing import ended

if TYPE_CHECKING:
    from airflow.sdk import Context

# After a Clear the trigger of the attempt before may be about to stop the driver that we found: it acts within seconds.
WATCH_SECONDS = 6.0


class StreamOperator(BaseOperator):
    """Keeps the stream of one dataset running. The task ends well after a day, and the driver goes on: the next DAG run
    finds it. So each day has its own log and its own retries, and no row of Airflow's database grows old in use."""

    ui_color = "#d8a657"

    def __init__(
        self,
        *,
        dataset: str,
        day_seconds: float = DAY_SECONDS,
        silent_seconds: float = SILENT_SECONDS,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.dataset = dataset
        self.day_seconds = day_seconds
        self.silent_seconds = silent_seconds
        self._run = ""
        self._is_killed = False

    def execute(self, context: Context) -> None:
        """Find or start the driver, and watch it from the triggerer; wait there too while it cannot be started."""
        self._attend(context, time.time())

    def take_up(self, context: Context, event: dict[str, Any]) -> None:
        """Called when the trigger fired; what is to be done is read from the disk, not from the event."""
        folder, run, since = self._folder(), str(event["run"]), float(event["since"])
        self._run = run
        if event["what"] == "silent" and is_alive(folder, run):
            self._end_silent(folder, run)
        if run and not is_alive(folder, run):
            self._judge_end(folder, run)
        if time.time() - since > self.day_seconds:
            self._mirror(context, folder)
            self.log.info("this day's run is over; whatever runs goes on, and the next run finds it")
            return
        self._attend(context, since)

    def on_kill(self) -> None:
        """The task is killed while it starts or looks: stop the driver that it has to do with, and no other.

        Airflow waits 5 s between asking and killing; meanwhile the task goes on, and must not start another one.
        """
        self._is_killed = True
        if self._run:
            ask_to_stop(self._folder(), self._run, "Airflow: the task was killed")

    def _attend(self, context: Context, since: float) -> None:
        folder = self._folder()
        if why := why_not_now(folder):
            self.log.info("the stream cannot be started: %s; this task waits", why)
            self._wait(context, folder, "", since)
        driver = self._found_or_started(folder)
        self._wait(context, folder, driver.run, since)

    def _wait(self, context: Context, folder: Path, run: str, since: float) -> None:
        self._mirror(context, folder)
        self.log.info("%s", progress_of(folder))
        trigger = StreamTrigger(
            folder=str(folder), stream=self.dataset, run=run, since=since,
            silent_seconds=self.silent_seconds, day_seconds=self.day_seconds,
        )  # fmt: skip
        self.defer(trigger=trigger, method_name="take_up")

    def _found_or_started(self, folder: Path) -> Driver:
        driver = self._ensure()
        if not driver.is_new:
            is_leaving = _is_leaving(folder, driver.run)
            if wait_for(is_leaving, time.monotonic() + WATCH_SECONDS):
                self.log.info("the driver %s is leaving; starting another", driver.run)
                driver = self._ensure()
        self.log.info("%s driver run=%s pid=%s", "started" if driver.is_new else "found", driver.run, driver.pid)
        self.log.info("its log is %s", folder / LOG)
        return driver

    def _mirror(self, context: Context, folder: Path) -> None:
        """For people to look at; a mirror that cannot be written fails nothing."""
        try:
            context["task_state_store"].set("stream", mirror_of(folder))
        except Exception as problem:
            self.log.warning("the progress could not be mirrored to the task's state: %s", problem)

    def _ensure(self) -> Driver:
        if self._is_killed:
            raise AirflowException("the task was killed; it starts no driver")
        settings = load_settings().values
        try:
            is_served = settings.drivers == "served"
            driver = ensure_driver(settings.lake, self.dataset, served=is_served, by=f"Airflow: {self.dag_id}")
        except SmelterError as problem:
            raise AirflowException(str(problem)) from None
        self._run = driver.run
        if self._is_killed:
            self.on_kill()
        return driver

    def _judge_end(self, folder: Path, run: str) -> None:
        """A driver that was asked to end, or has a follower, is no failure; one that just died fails this attempt."""
        beat, last = read_heartbeat(folder), ended(folder, run)
        asked = who_asked_to_stop(folder, run)
        if holder(folder) is not None or (beat is not None and beat.run not in ("", run)):
            self.log.info("the driver %s is gone, and somebody came after it", run)
        elif asked or (last is not None and last.exit_code == 0):
            self.log.info("the driver %s ended when it was asked to%s", run, f" by {asked}" if asked else "")
        else:
            why = "was killed (by hand, or for want of memory)" if last is None else f"failed: {last.note}"
            raise AirflowException(
                f"the driver of {self.dataset} {why}"
                f"\n  where: {folder / LOG}, {folder / ERRORS}"
                "\n  data: nothing is lost: the next start finishes what was begun"
                f"\n  next: the next attempt starts it again; smelt stream status {self.dataset}"
            )

    def _end_silent(self, folder: Path, run: str) -> None:
        self.log.error("the driver %s holds its lock and has been silent for %.0f s", run, self.silent_seconds)
        if not kill(folder, run):
            raise AirflowException(
                f"the driver of {self.dataset} is silent and runs on another host, where this task cannot end it"
                f"\n  next: there, smelt stream stop {self.dataset} --now, then smelt stream start {self.dataset}"
            )

    def _folder(self) -> Path:
        return stream_folder(load_settings().values.lake, self.dataset)


def _is_leaving(folder: Path, run: str) -> Callable[[], bool]:
    return lambda: not is_alive(folder, run) or who_asked_to_stop(folder, run) is not None
