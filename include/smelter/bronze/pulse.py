"""The driver's voice: a heartbeat for those who watch, a line per batch for those who look later."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from smelter.bronze.batch import Report
from smelter.lake.landing import Landing
from smelter.supervise.heartbeat import Heartbeat, State, read_heartbeat, write_heartbeat
from smelter.supervise.log import DriverLog

BEAT_SECONDS = 2.0


class Pulse:
    """Keeps the heartbeat of one driver; both the query's thread and the main one speak through it."""

    def __init__(self, folder: Path, stream: str, tell: Callable[[Report], None], run: str = "") -> None:
        self._folder = folder
        self._tell = tell
        self._log = DriverLog(folder)
        self._guard = threading.RLock()  # a signal may come while its own thread writes
        self._beat = _first_beat(folder, Heartbeat(stream, os.getpid(), State.STARTING, time.time(), run=run))
        self.say("driver_started", pid=os.getpid(), stream=stream)
        self.be(State.STARTING)

    @property
    def run(self) -> str:
        """The name of this life of the driver."""
        return self._beat.run

    @property
    def state(self) -> State:
        """What the driver last said that it does."""
        return self._beat.state

    def be(self, state: State, note: str = "") -> None:
        """Say what the driver does now."""
        self._change(state=state, note=note)

    def beat(self) -> None:
        """Say that the driver is alive, if it has been quiet for a while."""
        if self._beat.age_seconds >= BEAT_SECONDS:
            self._change()

    def shown_at(self, ui: str) -> None:
        """Say where Spark's own pages are."""
        self._change(ui=ui)

    def waiting(self, landing: Landing) -> None:
        """Say what waits in the landing folder."""
        self._change(waiting_files=len(landing.waiting), oldest_waiting_seconds=landing.oldest_waiting_seconds)

    def committed(self, report: Report) -> None:
        """Say what a batch did."""
        last = self._beat
        self._change(
            batch=report.batch if report.batch >= 0 else last.batch,
            token=report.token,
            committed_at=time.time(),
            records=report.records,
            accepted=report.accepted,
            dead=report.dead,
            seconds=round(report.seconds, 3),
            batches=last.batches + 1,
            total_records=last.total_records + report.records,
            total_accepted=last.total_accepted + report.accepted,
            total_dead=last.total_dead + report.dead,
        )
        self.say(
            "batch_committed" if report.batch >= 0 else "batch_finished_after_restart",
            batch=report.batch,
            files=report.files,
            records=report.records,
            accepted=report.accepted,
            dead=report.dead,
            seconds=report.seconds,
            token=report.token,
        )
        self._tell(report)

    def say(self, fact: str, **numbers: Any) -> None:
        """Add a line to the driver's log."""
        self._log.say(fact, **numbers)

    def end(self, state: State, note: str = "", exit_code: int = 0) -> None:
        """The last words."""
        self._change(state=state, note=note, exit_code=exit_code, ui="")
        self.say(f"driver_{state.value}", batches=self._beat.batches, records=self._beat.total_records, note=note)
        self._log.close()

    def _change(self, **changes: Any) -> None:
        with self._guard, suppress(OSError):  # a full disk must not stop a driver that could still commit
            self._beat = replace(self._beat, beat_at=time.time(), **changes)
            write_heartbeat(self._folder, self._beat)


def _first_beat(folder: Path, beat: Heartbeat) -> Heartbeat:
    """The stream's last commit is not forgotten with the driver that made it: those who follow it look here."""
    before = read_heartbeat(folder)
    return beat if before is None else replace(beat, token=before.token, committed_at=before.committed_at)
