"""A stream that follows its landing folder in a thread of this process, so that somebody can time it from outside."""

from __future__ import annotations

import queue
import threading
from types import TracebackType

from smelter.bronze.batch import Report
from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.contracts import Contract
from smelter.lake.home import Lake
from smelter.records import Limits

TRIGGER_SECONDS = 0.1


class Follower:
    """Follows from `with` to its end; every committed batch is reported in order."""

    def __init__(self, lake: Lake, contract: Contract) -> None:
        self.lake = lake
        self.contract = contract
        self.landing = lake.landing(contract)
        self._reports: queue.Queue[Report] = queue.Queue()
        self._over = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._drive)

    def __enter__(self) -> Follower:
        self.landing.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _problem: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def next_report(self) -> Report:
        """The next batch that is committed; raises what ended the stream, if something did."""
        while True:
            try:
                return self._reports.get(timeout=1)
            except queue.Empty:
                if self._failure is not None:
                    raise self._failure from None

    def wait_for_files(self, count: int) -> None:
        """Wait until so many files more are in the tables."""
        while count > 0:
            count -= self.next_report().files

    def _drive(self) -> None:
        pace = Pace(follow=True, trigger_seconds=TRIGGER_SECONDS)
        hooks = Hooks(report=self._reports.put, should_stop=self._over.is_set)
        try:
            ingest(self.lake, self.contract, Limits(), pace, hooks)
        except BaseException as problem:
            self._failure = problem
