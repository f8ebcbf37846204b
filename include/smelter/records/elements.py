"""The elements of an array.

A broken element ends before the next comma or closing bracket of its own level; if its brackets or quotes cannot be
trusted, before the next whole object that a comma or a line break precedes; if there is none, with the text.
"""

from __future__ import annotations

import re

from smelter.records.pieces import Broken, CutOff, Passed, Piece, Whole, is_whole
from smelter.records.scan import WHITE, Outcome
from smelter.records.text import Text

LOOK_AHEAD_BYTES = 64 * 1024
_GUESSES = 4
_MOST_ELEMENTS = 1000
_GUESSED_END = re.compile(rb"\}(?=[ \t\r\n]*+[,\]{\[])")
_COMMA_AND_OBJECT = re.compile(rb"[ \t\r\n]*+,[ \t\r\n]*+(?=\{)")
_NEXT_PLACE = re.compile(rb"[,\n][ \t\r\n]*+")
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
        return _pass_over(text, Passed(text.max_bytes))
    if scan.outcome is Outcome.OPEN:
        return CutOff(text.take(len(text.data)))
    if scan.outcome is Outcome.BROKEN:
        return _broken(text, scan.end, scan.last_token)
    place = text.next_place(scan.end)
    if place is None:
        return _cut_far_from_the_next(text, scan.end)
    if _may_follow(text, place):
        return Whole([text.take(scan.end)])
    return _broken(text, place, scan.last_token)


def is_followed(text: Text, end: int) -> bool:
    """Does a comma, a bracket or the end of the text follow a whole element, and not too far away?"""
    place = text.next_place(end)
    return place is not None and _may_follow(text, place)


def _may_follow(text: Text, place: int) -> bool:
    return place == len(text.data) or text.data[place] in b",]{["


def _cut_far_from_the_next(text: Text, end: int) -> Piece:
    """Cut a whole element with so much white space behind it that what makes it broken makes it too long."""
    passed, element = Passed(text.max_bytes), text.take(end)
    passed.add(element)
    if not text.skip_white(passed) or _may_follow(text, text.at):
        return Whole([element])
    return _pass_over(text, passed)


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


def _broken(text: Text, error: int, last_token: int) -> Piece:
    if error - text.at > text.max_bytes:
        return _pass_over(text, Passed(text.max_bytes))
    text.fill(error - text.at + LOOK_AHEAD_BYTES)
    end = _level_end(text, error)
    if end is None:
        end = _next_object(text, last_token)
    if end is None or end - text.at > text.max_bytes:
        return _pass_over(text, Passed(text.max_bytes))
    taken = text.take(end).rstrip(WHITE)
    return Broken(taken, at_end=text.is_done)


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
        match = _NEXT_PLACE.search(text.data, begin)
        start, end = match.span() if match else (len(text.data), len(text.data))
        if start - text.at > text.max_bytes:
            return None
        if end == len(text.data) and end - start <= text.max_bytes and not text.final:
            text.grow()
            begin = start
        elif match is None or (end - start <= text.max_bytes and _is_whole_object(text, end)):
            return start
        else:
            begin = end


def _is_whole_object(text: Text, place: int) -> bool:
    if text.data[place : place + 1] != b"{":
        return False
    scan = text.scan(place)
    return scan is not None and scan.outcome is Outcome.WHOLE


def _pass_over(text: Text, passed: Passed) -> Piece:
    """Pass over an element beyond the limit by counting brackets, holding no more of it than is allowed."""
    depth, in_string = 0, False
    while True:
        match = (_IN_STRING_BYTE if in_string else _LEVEL_BYTE).search(text.data, text.at)
        passed.add(text.take(match.start() if match else len(text.data)))
        if match is None:
            text.forget()
            if not text.more():
                return passed.piece(at_end=True)
            continue
        byte = text.data[text.at]
        if depth == 0 and not in_string and byte in b",]":
            return passed.piece()
        if in_string or byte == _QUOTE:
            in_string = byte == _BACKSLASH or not in_string
        else:
            depth = max(0, depth + (1 if byte in b"{[" else -1 if byte in b"}]" else 0))
        passed.add(text.take(text.at + (_width_of_escape(text) if byte == _BACKSLASH else 1)))


def _width_of_escape(text: Text) -> int:
    """How many bytes a backslash takes along: a line break ends the string, whatever is before it."""
    text.fill(2)
    return 1 if text.data[text.at + 1 : text.at + 2] in (b"", b"\n") else 2
