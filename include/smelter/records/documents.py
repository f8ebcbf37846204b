"""Documents one after another: NDJSON, pretty-printed, or simply concatenated.

A broken document ends with its line, and takes along the following lines that are indented deeper than its first
one or begin with a closing bracket, so that a broken line never swallows the next record.
"""

from __future__ import annotations

from smelter.records.pieces import Broken, CutOff, Passed, Piece, Whole, is_json, is_whole
from smelter.records.scan import WHITE, Outcome
from smelter.records.text import Text

_LINE_GUESS_BYTES = 64 * 1024
_MOST_LINES = 1000


def cut_documents(text: Text) -> Piece:
    """Cut the document that begins here, which is no array, with those after it that are alone on their lines."""
    lines = _whole_lines(text)
    return Whole(lines) if lines else _cut_document(text)


def _whole_lines(text: Text) -> list[bytes]:
    """Objects that are alone on their line, up to the first line that is something else."""
    lines: list[bytes] = []
    at, width = text.at, min(_LINE_GUESS_BYTES, text.max_bytes)
    while len(lines) < _MOST_LINES:
        end = text.data.find(b"\n", at, at + width)
        line = text.data[at:end].rstrip(WHITE) if end >= 0 else b""
        if line[:1] != b"{" or not is_json(line):
            break
        # Too deep is too deep with or without the next line, unless that one would belong to it.
        if text.data[end + 1 : end + 2] != b"{" and not is_whole(line, text.max_depth):
            break
        lines.append(line)
        at = end + 1
    if lines:
        text.take(at - 1)
    return lines


def _cut_document(text: Text) -> Piece:
    line = _short_line(text)
    if line is not None and is_whole(line, text.max_depth):
        return Whole([text.take(text.at + len(line))])
    scan = text.scan()
    if scan is None or scan.outcome is not Outcome.WHOLE:
        return _pass_lines(text, is_open=scan is not None and scan.outcome is Outcome.OPEN)
    if stands_alone(text, scan.end):
        return Whole([text.take(scan.end)])
    return _with_rest_of_line(text, scan.end)


def stands_alone(text: Text, end: int) -> bool:
    """Is what follows a document on its line nothing, a bracket that opens, or another whole value?"""
    place = text.next_on_line(end)
    if place == len(text.data) or text.data[place] in b"\n{[":
        return True
    scan = text.scan(place)
    return scan is not None and scan.outcome is Outcome.WHOLE


def _short_line(text: Text) -> bytes | None:
    """The rest of the line, if it ends nearby."""
    limit = text.at + min(_LINE_GUESS_BYTES, text.max_bytes)
    end = text.data.find(b"\n", text.at, limit)
    if end < 0:
        if not text.final or len(text.data) > limit:
            return None
        end = len(text.data)
    return text.data[text.at : end].rstrip(WHITE)


def _with_rest_of_line(text: Text, start: int) -> Piece:
    end = text.line_end(start)
    if end - text.at > text.max_bytes:
        return _pass_lines(text, is_open=False)
    taken = text.take(end).rstrip(WHITE)
    return Broken(taken, at_end=text.is_done)


def _pass_lines(text: Text, *, is_open: bool) -> Piece:
    """Pass over the rest of this line, and over the lines that are indented deeper or begin with a closing bracket."""
    indent, passed = text.indent, Passed(text.max_bytes)
    while text.skip_line(passed):
        if not text.skip_white(passed):
            return CutOff(passed.text()) if is_open else passed.piece()
        if text.indent <= indent and text.data[text.at] not in b"}]":
            return passed.piece()
    return CutOff(passed.text()) if is_open else passed.piece(at_end=True)
