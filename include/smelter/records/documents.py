"""Documents one after another: NDJSON, pretty-printed, or simply concatenated.

A broken document ends with its line, and takes along the following lines that are indented deeper than its first
one or begin with a closing bracket, so that a broken line never swallows the next record.
"""

from __future__ import annotations

import re

from smelter.records.pieces import KEPT_BYTES, Broken, CutOff, Piece, TooLarge, Whole, is_json, is_whole
from smelter.records.scan import WHITE, Outcome, Scan, after_white, scan_value
from smelter.records.text import Text

_BLANKS = re.compile(rb"[ \t\r]*+")
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
    if scan is None:
        return _pass_over(text)
    if scan.outcome is Outcome.WHOLE:
        if stands_alone(text, scan.end):
            return Whole([text.take(scan.end)])
        return _broken(text, text.line_end(scan.end), scan)
    return _broken(text, _last_continuation(text, text.line_end(text.at)), scan)


def stands_alone(text: Text, end: int) -> bool:
    """Is what follows a document on its line nothing, a bracket that opens, or another whole value?"""
    while True:
        blanks = _BLANKS.match(text.data, end)
        assert blanks is not None
        place = blanks.end()
        if place < len(text.data):
            if text.data[place] in b"\n{[":
                return True
            limited = len(text.data) - place > text.max_bytes
            end_of_scan = place + text.max_bytes if limited else None
            final = text.final or limited
            scan = scan_value(text.data, place, text.max_depth, end=end_of_scan, final=final)
            if final or scan.outcome is not Outcome.OPEN:
                return scan.outcome is Outcome.WHOLE
        elif text.final:
            return True
        text.more()


def _short_line(text: Text) -> bytes | None:
    """The rest of the line, if it ends nearby."""
    limit = text.at + min(_LINE_GUESS_BYTES, text.max_bytes)
    end = text.data.find(b"\n", text.at, limit)
    if end < 0:
        if not text.final or len(text.data) > limit:
            return None
        end = len(text.data)
    return text.data[text.at : end].rstrip(WHITE)


def _broken(text: Text, end: int, scan: Scan) -> Piece:
    if end - text.at > text.max_bytes:
        return _pass_over(text)
    taken = text.take(end).rstrip(WHITE)
    reaches_end = text.final and after_white(text.data, text.at) == len(text.data)
    return CutOff(taken) if scan.outcome is Outcome.OPEN and reaches_end else Broken(taken)


def _last_continuation(text: Text, line_end: int) -> int:
    """The end of the last line that belongs to the broken document; stops early past the limit."""
    while line_end - text.at <= text.max_bytes:
        line = text.next_line(line_end)
        if line is None or _begins_anew(text, *line):
            return line_end
        line_end = text.line_end(line[0])
    return line_end


def _begins_anew(text: Text, place: int, indent: int) -> bool:
    return indent <= text.indent and text.data[place] not in b"}]"


def _pass_over(text: Text) -> Piece:
    """Pass over a document beyond the limit, holding no more of it than its beginning."""
    beginning = b""
    while True:
        end = text.data.find(b"\n", text.at)
        passed = text.take(end if end >= 0 else len(text.data), same_line=True)
        beginning += passed[: KEPT_BYTES - len(beginning)]
        if end < 0:
            text.forget()
            if not text.more():
                return TooLarge(beginning.rstrip(WHITE))
            continue
        line = text.next_line(end)
        if line is None or _begins_anew(text, *line):
            return TooLarge(beginning.rstrip(WHITE))
        passed = text.take(line[0], same_line=True)
        beginning += passed[: KEPT_BYTES - len(beginning)]
