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
from smelter.orchestration.stream_trigger import SILENT_SECONDS, StreamTrigger
from smelter.orchestration.words import mirror_of, progress_of
from smelter.run_folders import stream_folder
from smelter.settings import load_settings
from smelter.supervise.driver import ERRORS, Driver, is_alive, kill, wait_for
from smelter.supervise.launch import ensure_driver
from smelter.supervise.log import LOG
from smelter.supervise.requests import Wish, ask_to_stop, wanted, who_asked_to_stop
from smelter.supervise.standing import ended, standing_of

if TYPE_CHECKING:
    from airflow.sdk import Context

# After a Clear the trigger of the attempt before may be about to stop the driver that we found: it acts within seconds.
WATCH_SECONDS = 6.0
DAY_SECONDS = 86_400.0


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

    def execute(self, context: Context) -> None:
        """Find or start the driver, and watch it from the triggerer."""
        folder = self._folder()
        said = wanted(folder)
        if said.wish is Wish.STOP:
            self.log.info("the stream is %s; this task waits for: smelt stream start %s", said, self.dataset)
            self._wait(context, folder, "", 0.0)
        driver = self._found_or_started(folder)
        self._wait(context, folder, driver.run, time.time())

    def take_up(self, context: Context, event: dict[str, Any]) -> None:
        """Called when the trigger fired; what is to be done is read from the disk, not from the event."""
        folder, run, since = self._folder(), str(event["run"]), float(event["since"])
        self._run = run
        if event["what"] == "silent" and is_alive(folder, run):
            self._end_silent(folder, run)
        _mirror(context, folder)
        if run and is_alive(folder, run):
            if time.time() - since < self.day_seconds:
                self._wait(context, folder, run, since)
            self.log.info("this day's run is over; the driver %s goes on, and the next run finds it", run)
            return
        if run:
            self._judge_end(folder, run, time.time() - since)
        self.execute(context)

    def on_kill(self) -> None:
        """The task is killed while it starts or looks: stop the driver that it has to do with, and no other."""
        if self._run:
            ask_to_stop(self._folder(), self._run, "Airflow: the task was killed")

    def _wait(self, context: Context, folder: Path, run: str, since: float) -> None:
        _mirror(context, folder)
        self.log.info("%s", progress_of(folder))
        trigger = StreamTrigger(
            folder=str(folder), stream=self.dataset, run=run, since=since, silent_seconds=self.silent_seconds
        )
        self.defer(trigger=trigger, method_name="take_up")

    def _found_or_started(self, folder: Path) -> Driver:
        driver = self._ensure()
        if not driver.is_new:
            is_leaving = _is_leaving(folder, driver.run)
            if wait_for(is_leaving, time.monotonic() + WATCH_SECONDS):
                self.log.info("the driver %s is leaving; starting another", driver.run)
                driver = self._ensure()
        self._run = driver.run
        self.log.info("%s driver run=%s pid=%s", "started" if driver.is_new else "found", driver.run, driver.pid)
        self.log.info("its log is %s", folder / LOG)
        return driver

    def _ensure(self) -> Driver:
        settings = load_settings().values
        try:
            is_served = settings.drivers == "served"
            return ensure_driver(settings.lake, self.dataset, served=is_served, by=f"Airflow: {self.dag_id}")
        except SmelterError as problem:
            raise AirflowException(str(problem)) from None

    def _judge_end(self, folder: Path, run: str, lived: float) -> None:
        """A driver that was asked to end is followed by another; one that died fails this attempt."""
        last = ended(folder, run)
        if last is None and standing_of(folder).is_alive:
            self.log.info("the driver %s is gone, and somebody has started another", run)
            return
        if last is not None and last.exit_code == 0:
            self.log.info("the driver %s ended when it was asked to, after %.0f s", run, lived)
            return
        why = "was killed (by hand, or for want of memory)" if last is None else f"failed: {last.note}"
        raise AirflowException(
            f"the driver of {self.dataset} {why} after {lived:.0f} s"
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


def _mirror(context: Context, folder: Path) -> None:
    context["task_state_store"].set("stream", mirror_of(folder))
