"""Where does a JSON value end, and if it is broken, where? The grammar of RFC 8259 over bytes, without recursion.

Only for what is not well-formed, or may not be: whole windows of good records never come here.
Bytes above 127 may stand in strings; whether they are UTF-8 is asked elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

WHITE = b" \t\n\r"
_STRING = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_NUMBER = rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+"
_TOKEN = re.compile(rb"[ \t\n\r]*+(?:([{}\[\]:,])|(" + _STRING + rb"|true|false|null)|(" + _NUMBER + rb"))")
_IS_NUMBER = 3
# Members with plain values, each with the comma after it: most of a record, passed in one step.
_MEMBERS = re.compile(
    rb"(?:[ \t\n\r]*+" + _STRING + rb"[ \t\n\r]*+:[ \t\n\r]*+(?:" + _STRING + rb"|" + _NUMBER + rb"|true|false|null)"
    rb"[ \t\n\r]*+,)++"
)
_WHITE_RUN = re.compile(rb"[ \t\n\r]*+")
# As much of a token as could still become one; what follows breaks it, unless the text ends there.
_EXPONENT = rb"[eE][+-]?[0-9]*+"
_BEGUN_TOKEN = re.compile(
    rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+(?:\\(?:u[0-9a-fA-F]{0,3})?)?'
    rb"|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?"
    rb"|-?(?:(?:0|[1-9][0-9]*+)(?:\.(?:[0-9]++(?:" + _EXPONENT + rb")?)?|" + _EXPONENT + rb")?)?"
)


class Outcome(Enum):
    """How a scan ended."""

    WHOLE = "whole"
    BROKEN = "broken"
    OPEN = "open"  # the text ended inside the value


@dataclass(frozen=True, slots=True)
class Scan:
    """The end of a whole value, or the first byte that cannot stand where it stands; the start of the last whole token.

    `token` is where the last token begins, whole or not.
    """

    outcome: Outcome
    end: int
    last_token: int
    token: int


# What may come next, by state: inside an object or array, before or after a value.
_VALUE, _FIRST_VALUE, _FIRST_KEY, _KEY, _COLON, _NEXT = range(6)


def after_white(text: bytes, start: int) -> int:
    """The place of the first byte at or after `start` that is not white space."""
    match = _WHITE_RUN.match(text, start)
    assert match is not None
    return match.end()


def scan_value(text: bytes, start: int, max_depth: int, *, end: int | None = None, final: bool = True) -> Scan:
    """Follow one value from `start`. Nested deeper than `max_depth` counts as broken, which bounds the work.

    If the text is not `final` at its `end`, a number that touches it is open: more digits may follow.
    """
    end = len(text) if end is None else min(end, len(text))
    stack = bytearray()
    state, at, last = _VALUE, start, start
    while True:
        if state in (_KEY, _FIRST_KEY) and (members := _MEMBERS.match(text, at, end)) is not None:
            state, at, last = _KEY, members.end(), members.end() - 1
        match = _TOKEN.match(text, at, end)
        if match is None:
            where = min(after_white(text, at), end)
            place = _end_of_begun(text, where, end) if where < end and _may_begin(state, text[where]) else where
            return Scan(Outcome.OPEN if place == end else Outcome.BROKEN, place, last, where)
        where = match.start(match.lastindex or 0)
        token = text[where]
        following = _follow(state, token, stack)
        if following is None or len(stack) > max_depth:
            return Scan(Outcome.BROKEN, where, last, where)
        if match.lastindex == _IS_NUMBER and match.end() < end and text[match.end()] in b".eE":
            place = _end_of_begun(text, where, end)  # such as `1.` or `1e+`, which is open only at the end
            return Scan(Outcome.OPEN if place == end else Outcome.BROKEN, place, last, where)
        if following == _NEXT and not stack:
            touches_end = match.lastindex == _IS_NUMBER and match.end() == end and not final
            return Scan(Outcome.OPEN if touches_end else Outcome.WHOLE, match.end(), where, where)
        state, at, last = following, match.end(), where


_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY, _QUOTE = b'{}[]"'
_COMMA, _COLON_BYTE = b",:"


def _may_begin(state: int, byte: int) -> bool:
    """May a string, a number or a word that begins with `byte` stand here?"""
    return state in (_VALUE, _FIRST_VALUE) or (state in (_KEY, _FIRST_KEY) and byte == _QUOTE)


def _end_of_begun(text: bytes, start: int, end: int) -> int:
    """The place up to which what begins at `start` could still become a token."""
    begun = _BEGUN_TOKEN.match(text, start, end)
    return start if begun is None else begun.end()


def _follow(state: int, token: int, stack: bytearray) -> int | None:
    """The state after `token`, or None if it may not stand there; keeps the stack of open brackets."""
    if token == _COMMA:
        if state != _NEXT:
            return None
        return _KEY if stack[-1] == _OPEN_OBJECT else _VALUE
    if token == _COLON_BYTE:
        return _VALUE if state == _COLON else None
    if token in (_CLOSE_OBJECT, _CLOSE_ARRAY):
        return _close(state, token, stack)
    if state in (_FIRST_KEY, _KEY):
        return _COLON if token == _QUOTE else None
    if state not in (_VALUE, _FIRST_VALUE):
        return None
    if token in (_OPEN_OBJECT, _OPEN_ARRAY):
        stack.append(token)
        return _FIRST_KEY if token == _OPEN_OBJECT else _FIRST_VALUE
    return _NEXT


def _close(state: int, token: int, stack: bytearray) -> int | None:
    opener, empty = (_OPEN_OBJECT, _FIRST_KEY) if token == _CLOSE_OBJECT else (_OPEN_ARRAY, _FIRST_VALUE)
    if not stack or stack[-1] != opener or state not in (_NEXT, empty):
        return None
    stack.pop()
    return _NEXT
