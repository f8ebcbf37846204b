"""Whoever asks a lake beside its writers, and what an answer must be: of one snapshot, whole, never an older one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from histories import History

from smelter.explore import Explorer
from smelter.lake.home import BRONZE, DEAD_LETTERS

_SHOWN = 20
Batches = dict[str, tuple[int, int]]  # token: its rows, and the sum of their numbers
States = dict[int, tuple[int, int, int]]  # rows in the table: batches, the largest number, and the sum of all


class Asker(threading.Thread):
    """One of several who share an explorer; asks one question after the other, and looks at each answer."""

    def __init__(self, number: int, explorer: Explorer, history: dict[str, History], over: threading.Event) -> None:
        super().__init__(name=f"asker {number}")
        self._number, self._explorer, self._history, self._over = number, explorer, history, over
        self._seen: dict[str, int] = {BRONZE: 0, DEAD_LETTERS: 0}
        self._known = 0  # a number that is surely in the table
        self.reads: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.batches: Batches = {}
        self.states: States = {}
        self.most_behind = 0

    def run(self) -> None:
        questions = (self.count, self.state, self.each_batch, self.letters, self.by_columns, self.one_record)
        turn = self._number
        while not self._over.is_set() and len(self.wrong) < _SHOWN:
            question = questions[turn % len(questions)]
            turn += 1
            try:
                question()
            except Exception as problem:
                self.wrong.append(f"{question.__name__}: {type(problem).__name__}: {problem}")
            self.reads[question.__name__] += 1

    def count(self) -> None:
        """The count alone may be answered without opening a data file."""
        self._of(BRONZE, "select count(*) from bronze.events", lambda rows: rows[0][0])

    def state(self) -> None:
        """Several aggregates of one question are of one snapshot."""
        query = "select count(*), count(distinct _batch), max(sequence), sum(sequence) from bronze.events"
        ((rows, batches, largest, numbers),) = self._of(BRONZE, query, lambda rows: rows[0][0])
        self._known = largest
        if self.states.setdefault(rows, (batches, largest, numbers)) != (batches, largest, numbers):
            self.wrong.append(f"{rows} rows are {self.states[rows]} once, and then {batches, largest, numbers}")

    def each_batch(self) -> None:
        """Every batch is whole each time that it is seen."""
        query = "select _batch, count(*), sum(sequence) from bronze.events group by _batch"
        for token, rows, numbers in self._of(BRONZE, query, lambda rows: sum(row[1] for row in rows)):
            if self.batches.setdefault(token, (rows, numbers)) != (rows, numbers):
                self.wrong.append(f"batch {token} was {self.batches[token]}, and then {rows, numbers}")

    def letters(self) -> None:
        """The view joins letters with what became of them: two tables in one question."""
        query = "select count(*), count(raw), count(*) filter (where status = 'open') from dead_letters.events"
        ((rows, raw, still_open),) = self._of(DEAD_LETTERS, query, lambda rows: rows[0][0])
        if raw != rows or still_open != rows:
            self.wrong.append(f"of {rows} letters {raw} have their text, and {still_open} are open")

    def by_columns(self) -> None:
        """Columns of a row belong together, and every record is there once."""
        whole = "count(*) filter (where note = 'number ' || sequence and _ingested_at >= _arrived_at)"
        query = f"select count(*), {whole}, count(distinct (_source, _position)) from bronze.events"
        ((rows, wholes, places),) = self._of(BRONZE, query, lambda rows: rows[0][0])
        if wholes != rows or places != rows:
            self.wrong.append(f"of {rows} rows {wholes} are whole, from {places} places")

    def one_record(self) -> None:
        """A record that was seen is there each time that it is looked for."""
        if not self._known:
            return
        found = self._explorer.execute("select note from bronze.events where sequence = ?", [self._known]).fetchall()
        if found != [(f"number {self._known}",)]:
            self.wrong.append(f"the record {self._known} is {found}")

    def _of(self, space: str, query: str, rows_of: Callable[[list[Any]], int]) -> list[Any]:
        """Ask; the rows that the answer is of are those of one snapshot, of the newest one or of a later one."""
        history = self._history[space]
        newest = history.look()
        answer = self._explorer.execute(query).fetchall()
        rows = rows_of(answer)
        after = history.look()
        if rows not in history.counts:
            self.wrong.append(f"{query}: {rows} rows, which no snapshot has: torn")
        if rows < newest.rows:
            self.wrong.append(f"{query}: {rows} rows, and {newest.rows} were committed before it was asked: stale")
        if rows < self._seen[space]:
            self.wrong.append(f"{query}: {rows} rows, and {self._seen[space]} were seen before: back in time")
        if rows > after.rows:
            self.wrong.append(f"{query}: {rows} rows, and the newest snapshot has {after.rows}")
        self._seen[space] = rows
        self.most_behind = max(self.most_behind, history.behind(rows))
        return answer
