"""Documents: where one ends, also if it is broken, too long or followed by something that is none."""

from __future__ import annotations

from smelter.ledger.grammar import WHITE_RUN, Outcome
from smelter.ledger.limits import CountLimits
from smelter.ledger.values import Ending, value_at
from smelter.ledger.window import BLANK_RUN, KEPT_BYTES, LINE_RUN, Passage, Window, end_of_run


def pass_document(window: Window, limits: CountLimits) -> Ending:
    """Pass over the document that begins here, which is no batch."""
    value = value_at(window, 0, limits)
    if value is None or value.outcome is not Outcome.WHOLE:
        return _pass_lines(window, is_open=value is not None and value.outcome is Outcome.OPEN)
    length = value.end - window.at
    if not _stands_alone(window, length, limits):
        return _pass_with_rest_of_line(window, length, limits)
    document = Passage(window)
    document.to(window.at + length)
    return Ending(document.text())


def _stands_alone(window: Window, length: int, limits: CountLimits) -> bool:
    """Does its line end after the document, or go on with a bracket that opens or another whole value?"""
    enough = max(limits.max_record_bytes, KEPT_BYTES) + 1
    while True:
        end = window.at + length
        place = end_of_run(BLANK_RUN, window.data, end)
        if place < len(window.data):
            return window.data[place] in b"\n{[" or _is_whole(window, place - window.at, limits)
        if place - end > enough:
            window.forget_after(end + enough)  # more blanks say no more
        if not window.grow():
            return True


def _is_whole(window: Window, offset: int, limits: CountLimits) -> bool:
    value = value_at(window, offset, limits)
    return value is not None and value.outcome is Outcome.WHOLE


def _pass_with_rest_of_line(window: Window, length: int, limits: CountLimits) -> Ending:
    while True:
        end = end_of_run(LINE_RUN, window.data, window.at + length)
        if end - window.at > limits.max_record_bytes:
            return _pass_lines(window, is_open=False)
        if end < len(window.data) or not window.grow():
            break
    document = Passage(window)
    document.to(end)
    return Ending(document.text(), is_last=window.is_done)


def _pass_lines(window: Window, *, is_open: bool) -> Ending:
    """Pass over the rest of this line, and over the lines that are indented deeper or begin with a closing bracket.

    A document that is open speaks for the end if nothing else follows; any other only if its last line has no end.
    """
    indent = window.indent()
    document = Passage(window)
    while document.along(LINE_RUN):
        length = document.length
        if not document.along(WHITE_RUN):
            return Ending(document.text(length), is_last=is_open)
        if window.indent() <= indent and window.data[window.at] not in b"}]":
            return Ending(document.text(length))
    return Ending(document.text(), is_last=True)
