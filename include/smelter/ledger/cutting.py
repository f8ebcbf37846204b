"""From text to records, by the rules of docs/records.md: documents, batches, and what is left at the end."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from smelter.ledger.documents import pass_document
from smelter.ledger.elements import pass_element
from smelter.ledger.limits import CountLimits
from smelter.ledger.runs import Records, run_of_documents, run_of_elements
from smelter.ledger.values import Ending
from smelter.ledger.window import Window, pass_white

_OPEN_ARRAY, _CLOSE_ARRAY, _COMMA = b"[],"


class _Before(Enum):
    """What comes before a place inside a batch."""

    BRACKET = "the bracket that opens it"
    COMMA = "a comma"
    ELEMENT = "an element"


class Cutting:
    """One pass over a text. Iterate once; every record comes once, a letter about the end included."""

    def __init__(self, pieces: Iterator[bytes], limits: CountLimits) -> None:
        self._window = Window(pieces)
        self._limits = limits
        self._in_batch = False
        self._before = _Before.BRACKET
        self._end_is_told = False

    def __iter__(self) -> Iterator[Records]:
        while pass_white(self._window):
            records = self._next_in_batch() if self._in_batch else self._next_document()
            if records is not None:
                yield records
        if (self._in_batch or self._window.was_cut_short) and not self._end_is_told:
            yield Records.of_one(b"")

    def _next_document(self) -> Records | None:
        window = self._window
        if window.data[window.at] == _OPEN_ARRAY:
            window.at += 1
            self._in_batch, self._before = True, _Before.BRACKET
            return None
        return run_of_documents(window, self._limits) or self._told(pass_document(window, self._limits))

    def _next_in_batch(self) -> Records | None:
        window = self._window
        byte = window.data[window.at]
        if byte == _CLOSE_ARRAY:
            return self._close_batch()
        if byte == _COMMA:
            window.at += 1
            before, self._before = self._before, _Before.COMMA
            return None if before is _Before.ELEMENT else Records.of_one(b"")
        if records := run_of_elements(window, self._limits):
            self._before = _Before.COMMA
            return records
        self._before = _Before.ELEMENT
        return self._told(pass_element(window, self._limits))

    def _close_batch(self) -> Records | None:
        """Close the batch, unless a comma promised one more element: then that comes first, and is empty."""
        if self._before is _Before.COMMA:
            self._before = _Before.ELEMENT
            return Records.of_one(b"")
        self._window.at += 1
        self._in_batch = False
        return None

    def _told(self, ending: Ending) -> Records:
        self._end_is_told = ending.is_last
        return Records.of_one(ending.text)
