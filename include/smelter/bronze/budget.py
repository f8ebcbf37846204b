"""How many dead letters are too many? A stream with a larger share of them than its contract allows pauses itself.

Counted from the records of batches, so that it outlives the driver. How far it was counted is written down before the
pause is wished for, so that a resumed stream does not pause on the same records again. Killed between the two, it does
not pause, and the next records decide.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from smelter.bronze.batch import Bronze, Report
from smelter.bronze.books import is_streamed
from smelter.bronze.pulse import Pulse
from smelter.supervise.requests import Wish, put_file, want, wanted

COUNTED = "budget.json"
_BY = "the budget of dead letters"


@dataclass(frozen=True)
class Overdrawn:
    """More dead letters among the newest records than the contract allows."""

    records: int
    dead: int
    allowed: float

    @property
    def share(self) -> float:
        """How much of the records are dead letters, from 0 to 1."""
        return self.dead / self.records

    def __str__(self) -> str:
        allowed = f"{self.allowed * 100:.8g}%"
        share = f"{self.share * 100:.3g}%"
        return f"{self.dead:,} of the last {self.records:,} records ({share}) are dead letters, more than {allowed}"


class Newest:
    """The newest batches that hold so many records together, and none that is older than it takes."""

    def __init__(self, over: int, batches: Iterable[tuple[int, int]] = ()) -> None:
        """`batches` are records and dead letters of each, the oldest first."""
        self.over = over
        self.records = self.dead = 0
        self._batches: deque[tuple[int, int]] = deque()
        for records, dead in batches:
            self.add(records, dead)

    def add(self, records: int, dead: int) -> None:
        """Take a batch in, and let those go that are no longer needed; one without records says nothing."""
        if records:
            self._batches.append((records, dead))
            self._sum(records, dead)
        while self._batches and self.records - self._batches[0][0] >= self.over:
            records, dead = self._batches.popleft()
            self._sum(-records, -dead)

    def overdrawn(self, allowed: float) -> Overdrawn | None:
        """The verdict, if there are records enough for one and too many of them are dead letters."""
        found = Overdrawn(self.records, self.dead, allowed)
        return found if self.records >= self.over and found.share > allowed else None

    def _sum(self, records: int, dead: int) -> None:
        self.records += records
        self.dead += dead


class Budget:
    """The budget of one stream: records of batches are read once, then it keeps up with each batch."""

    def __init__(self, bronze: Bronze, pulse: Pulse, *, follow: bool) -> None:
        self._bronze = bronze
        self._pulse = pulse
        self._follow = follow
        self._folder = bronze.lake.run_folder(bronze.dataset)
        self._newest: Newest | None = None

    def keep(self, report: Report) -> Overdrawn | None:
        """Count a batch that was committed, and pause the stream if that is too much; says what it found if it did.

        A stop or a pause that somebody else wished for stands. A stream that follows rests by it, and is judged again
        with its next batch; a drain is told all the same, because it would otherwise go on.
        """
        found = self._judged(report)
        if found is None:
            return None
        is_free = wanted(self._folder).wish is Wish.RUN
        if self._follow and not is_free:
            return None
        try:
            self._begin_anew()
            if is_free:
                want(self._folder, Wish.PAUSE, _BY, f"{found}: {self._way_out()}")
                self._pulse.say("stream_paused_by_budget", records=found.records, dead=found.dead, share=found.share)
        except OSError as problem:  # a full disk must not stop a driver that could still commit
            self._pulse.say("stream_not_paused", why=problem.strerror)
            return None
        return found

    def _judged(self, report: Report) -> Overdrawn | None:
        """By the active contract, which is another one from one batch to the next if somebody applied it."""
        letters = self._bronze.contract.dead_letters
        if letters.share is None:
            self._newest = None
            return None
        if self._newest is None or self._newest.over != letters.over_records:
            self._newest = Newest(letters.over_records, self._told())
        else:
            self._newest.add(report.records, report.dead)
        return self._newest.overdrawn(letters.share)

    def _told(self) -> Iterator[tuple[int, int]]:
        """What the records of batches tell since the last pause, the batch that was just committed among them."""
        counted = self._counted()
        for done in self._bronze.records.done():
            if done.sequence > counted and is_streamed(done.token):
                yield sum(one.records for one in done.receipts), sum(one.dead for one in done.receipts)

    def _counted(self) -> int:
        """The last batch that a pause has counted; none if nobody can tell, or if it was of records that are lost."""
        try:
            counted = json.loads((self._folder / COUNTED).read_text("utf-8"))["counted"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0
        return counted if isinstance(counted, int) and counted < self._bronze.books.next_sequence() else 0

    def _way_out(self) -> str:
        return f"smelt dlq ls {self._bronze.dataset}; then smelt stream resume {self._bronze.dataset}"

    def _begin_anew(self) -> None:
        put_file(self._folder / COUNTED, json.dumps({"counted": self._bronze.books.next_sequence() - 1}))
        self._newest = None
