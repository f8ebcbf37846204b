"""The elements of an array.

A broken element ends before the next comma or closing bracket of its own level; if its brackets or quotes cannot be
trusted, before the next whole object that a comma or a line break precedes; if there is none, with the text.
"""

from __future__ import annotations

import re

from smelter.records.pieces import KEPT_BYTES, Broken, CutOff, Piece, TooLarge, Whole, is_whole
from smelter.records.scan import WHITE, Outcome, Scan, after_white, scan_value
from smelter.records.text import Text

LOOK_AHEAD_BYTES = 64 * 1024
_GUESSES = 4
_MOST_ELEMENTS = 1000
_GUESSED_END = re.compile(rb"\}(?=[ \t\r\n]*+[,\]{\[])")
_COMMA_AND_OBJECT = re.compile(rb"[ \t\r\n]*+,[ \t\r\n]*+(?=\{)")
_NEXT_PLACE = re.compile(rb"[,\n][ \t\r\n]*+(?P<object>(?=\{))?")  # takes white space that leads nowhere too, once
_LEVEL = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*+"|[\[\]{},"]')
_LEVEL_BYTE = re.compile(rb'[\[\]{},"]')
_IN_STRING_BYTE = re.compile(rb'["\\\n]')
_AFTER_STRING = (b"", b" ", b"\t", b"\r", b"\n", b",", b":", b"]", b"}")
_QUOTE, _BACKSLASH, _OPEN_OBJECT = b'"\\{'


def cut_elements(text: Text) -> Piece:
    """Cut the element that begins here, with those after it that are as easily told apart."""
    elements = _whole_elements(text)
    return Whole(elements) if elements else _cut_element(text)


def _whole_elements(text: Text) -> list[bytes]:
    """Objects with a comma between them, up to the first element that is something else."""
    elements: list[bytes] = []
    at = end = text.at
    while len(elements) < _MOST_ELEMENTS:
        guessed = _guessed_end(text, at)
        if guessed is None:
            break
        elements.append(text.data[at:guessed])
        end, comma = guessed, _COMMA_AND_OBJECT.match(text.data, guessed)
        if comma is None:
            break
        at = comma.end()
    if elements:
        text.take(end)
    return elements


def _cut_element(text: Text) -> Piece:
    scan = text.scan()
    if scan is None:
        return _pass_over(text)
    if scan.outcome is Outcome.OPEN:
        return CutOff(text.take(len(text.data)))
    if scan.outcome is Outcome.WHOLE and is_followed(text, scan.end):
        return Whole([text.take(scan.end)])
    return _broken(text, scan)


def is_followed(text: Text, end: int) -> bool:
    """Does a comma, a bracket or the end of the text follow a whole element?"""
    while True:
        place = after_white(text.data, end)
        if place < len(text.data):
            return text.data[place] in b",]{["
        if not text.more():
            return True


def _guessed_end(text: Text, start: int) -> int | None:
    """The end of an object that looks like the end of the element at `start`, if the text up to there is whole."""
    if text.data[start] != _OPEN_OBJECT:
        return None
    search_from, limit = start, start + min(LOOK_AHEAD_BYTES, text.max_bytes)
    for _ in range(_GUESSES):
        match = _GUESSED_END.search(text.data, search_from, limit)
        if match is None:
            return None
        if is_whole(text.data[start : match.end()], text.max_depth):
            return match.end()
        search_from = match.end()
    return None


def _broken(text: Text, scan: Scan) -> Piece:
    text.fill(scan.end - text.at + LOOK_AHEAD_BYTES)
    end = _level_end(text, scan.end)
    if end is None:
        end = _next_object(text, scan.last_token)
    if end is None or end - text.at > text.max_bytes:
        return _pass_over(text)
    return Broken(text.take(end).rstrip(WHITE))


def _level_end(text: Text, error: int) -> int | None:
    """Count brackets outside strings; None if they or the quotes cannot be trusted."""
    stack = bytearray()
    for match in _LEVEL.finditer(text.data, text.at, error + LOOK_AHEAD_BYTES):
        token = text.data[match.start()]
        if token == _QUOTE:
            if len(match[0]) < 2 or text.data[match.end() : match.end() + 1] not in _AFTER_STRING:
                return None
        elif token in b"{[":
            stack.append(token)
            if len(stack) > text.max_depth:
                return None
        elif not stack:
            return match.start() if token in b",]" else None
        elif token in b"}]" and stack.pop() != token - 2:  # in ASCII a bracket closes the one two before it
            return None
    return None


def _next_object(text: Text, begin: int) -> int | None:
    """The place before the next whole object, or the end of the text; None if either is beyond the limit."""
    while True:
        undecided = False
        for match in _NEXT_PLACE.finditer(text.data, begin):
            if match["object"] is None:
                continue
            if match.start() - text.at > text.max_bytes:
                return None
            scan = scan_value(
                text.data, match.end(), text.max_depth, end=match.end() + text.max_bytes, final=text.final
            )
            if scan.outcome is Outcome.WHOLE:
                return match.start()
            if scan.outcome is Outcome.OPEN and not text.final and len(text.data) - match.end() <= text.max_bytes:
                begin, undecided = match.start(), True
                break
        if text.final:
            return len(text.data)
        if not undecided and text.left > text.max_bytes:
            return None
        text.grow()


def _pass_over(text: Text) -> Piece:
    """Pass over an element beyond the limit by counting brackets, holding no more of it than its beginning."""
    beginning = b""
    depth, in_string = 0, False
    while True:
        match = (_IN_STRING_BYTE if in_string else _LEVEL_BYTE).search(text.data, text.at)
        passed = text.take(match.start() if match else len(text.data))
        beginning += passed[: KEPT_BYTES - len(beginning)]
        if match is None:
            text.forget()
            if not text.more():
                return TooLarge(beginning.rstrip(WHITE))
            continue
        byte = text.data[text.at]
        if depth == 0 and not in_string and byte in b",]":
            return TooLarge(beginning.rstrip(WHITE))
        if byte == _BACKSLASH:
            text.fill(2)
        elif in_string or byte == _QUOTE:
            in_string = not in_string
        else:
            depth = max(0, depth + (1 if byte in b"{[" else -1 if byte in b"}]" else 0))
        passed = text.take(min(text.at + (2 if byte == _BACKSLASH else 1), len(text.data)))
        beginning += passed[: KEPT_BYTES - len(beginning)]
