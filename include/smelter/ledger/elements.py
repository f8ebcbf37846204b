"""Elements of a batch: where one ends, also if it is broken or too long."""

from __future__ import annotations

import re

from smelter.ledger.grammar import WHITE, WHITE_RUN, Outcome, Value
from smelter.ledger.limits import CountLimits
from smelter.ledger.values import Ending, value_at
from smelter.ledger.window import KEPT_BYTES, Passage, Window, end_of_run

_SIGHT_BYTES = 64 * 1024  # how far beyond an error brackets are counted
_BRACKET = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*+"|["\[\]{},]')
_SEPARATOR_OR_END = re.compile(rb"[,\n]" + WHITE + rb"|\Z")
_NO_BRACKET_RUN = re.compile(rb'[^"\[\]{},]*+')
_IN_STRING_RUN = re.compile(rb'[^"\\\n]*+')
_QUOTE, _BACKSLASH, _COMMA, _OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b'"\\,{}[]'
_CLOSER_OF = {_OPEN_OBJECT: _CLOSE_OBJECT, _OPEN_ARRAY: _CLOSE_ARRAY}


def pass_element(window: Window, limits: CountLimits) -> Ending:
    """Pass over the element that begins here."""
    value = value_at(window, 0, limits)
    if value is None:
        return _pass_by_brackets(window, Passage(window))
    if value.outcome is Outcome.OPEN:
        rest = window.data[window.at : window.at + KEPT_BYTES]
        window.at = len(window.data)
        return Ending(rest, is_last=True)
    if value.outcome is Outcome.WHOLE:
        return _pass_followed(window, value, limits)
    return _pass_broken(window, value, limits)


def _pass_followed(window: Window, value: Value, limits: CountLimits) -> Ending:
    """Pass over a whole element, if what follows it may follow one; otherwise it is broken there."""
    length, last_token = value.end - window.at, value.last_token - window.at
    place = _after_white(window, length, limits.max_record_bytes)
    if place is None:
        return _pass_far_from_the_next(window, length)
    if window.data[window.at + place : window.at + place + 1] not in (b"", b",", b"]", b"{", b"["):
        broken = Value(Outcome.BROKEN, window.at + place, window.at + last_token)
        return _pass_broken(window, broken, limits)
    element = Passage(window)
    element.to(window.at + length)
    return Ending(element.text())


def _after_white(window: Window, offset: int, most: int) -> int | None:
    """How far away the next byte is that is no white space, or the end of the text; none, if beyond `most`."""
    while True:
        place = end_of_run(WHITE_RUN, window.data, window.at + offset)
        if place - window.at > most:
            return None
        if place < len(window.data) or not window.grow():
            return place - window.at


def _pass_far_from_the_next(window: Window, length: int) -> Ending:
    """Pass over a whole element and more white space than can be held; what makes it broken makes it too long."""
    element = Passage(window)
    element.to(window.at + length)
    if not element.along(WHITE_RUN) or window.data[window.at] in b",]{[":
        return Ending(element.text(length))
    return _pass_by_brackets(window, element)


def _pass_broken(window: Window, value: Value, limits: CountLimits) -> Ending:
    error, last_token = value.end - window.at, value.last_token - window.at
    window.hold(error + _SIGHT_BYTES)
    end = _end_of_level(window, error, limits.max_depth)
    if end is None:
        end = _before_next_object(window, last_token, limits)
    element = Passage(window)
    if end is None:
        return _pass_by_brackets(window, element)
    element.to(window.at + end)
    return Ending(element.text(), is_last=window.is_done)


def _end_of_level(window: Window, error: int, max_depth: int) -> int | None:
    """How far away the comma or bracket is that ends the element; none, if brackets or quotes cannot be trusted."""
    data, closers = window.data, bytearray()
    for found in _BRACKET.finditer(data, window.at, window.at + error + _SIGHT_BYTES):
        byte = data[found.start()]
        if byte == _QUOTE:
            if len(found[0]) == 1 or data[found.end() : found.end() + 1] not in b" \t\r\n,:]}":
                return None
        elif byte in _CLOSER_OF:
            closers.append(_CLOSER_OF[byte])
            if len(closers) > max_depth:
                return None
        elif not closers:
            return None if byte == _CLOSE_OBJECT else found.start() - window.at
        elif byte != _COMMA and byte != closers.pop():
            return None
    return None


def _before_next_object(window: Window, offset: int, limits: CountLimits) -> int | None:
    """How far away the comma or line break before the next whole object is, or else the end of the text.

    None, if that is farther than a record may be long.
    """
    most = limits.max_record_bytes
    while True:
        found = _SEPARATOR_OR_END.search(window.data, window.at + offset)
        assert found is not None
        start, end = found.start() - window.at, found.end() - window.at
        if start > most:
            return None
        if found.end() == len(window.data) and end - start <= most and window.grow():
            offset = start
        elif start == end or (end - start <= most and _is_whole_object(window, end, limits)):
            return start
        else:
            offset = end


def _is_whole_object(window: Window, offset: int, limits: CountLimits) -> bool:
    if window.data[window.at + offset : window.at + offset + 1] != b"{":
        return False
    value = value_at(window, offset, limits)
    return value is not None and value.outcome is Outcome.WHOLE


def _pass_by_brackets(window: Window, element: Passage) -> Ending:
    """Pass over an element that is too long, up to a comma or a closing bracket outside all others."""
    depth = 0
    while element.along(_NO_BRACKET_RUN):
        byte = window.data[window.at]
        if depth == 0 and byte in b",]":
            return Ending(element.text())
        element.to(window.at + 1)
        if byte == _QUOTE:
            _pass_string(window, element)
        elif byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth = max(0, depth - 1)
    return Ending(element.text(), is_last=True)


def _pass_string(window: Window, element: Passage) -> None:
    """Pass over a string behind its opening quote; a line break ends it too."""
    while element.along(_IN_STRING_RUN):
        byte = window.data[window.at]
        element.to(window.at + 1)
        if byte != _BACKSLASH:
            return
        window.hold(1)
        if window.data[window.at : window.at + 1] not in (b"", b"\n"):
            element.to(window.at + 1)
