"""Where one JSON value ends, breaks or stays open: RFC 8259 over bytes, with a limit on nesting."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache

WHITE = rb"[ \t\r\n]*+"
WHITE_RUN = re.compile(WHITE)
SHALLOW_LEVELS = 6  # each one more makes the pattern twice as long; this one compiles in 30 ms

_PLAIN = rb"[ !#-\[\]-\xff]*+"
_STRING_HEAD = rb'"' + _PLAIN + rb'(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})' + _PLAIN + rb")*+"
_STRING = _STRING_HEAD + rb'"'
_INTEGER = rb"(?:0|[1-9][0-9]*+)"
_NUMBER = rb"-?+" + _INTEGER + rb"(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+(?![.eE])"
_SCALAR = _STRING + rb"|" + _NUMBER + rb"|true|false|null"
_TOKEN = re.compile(WHITE + rb"(" + _SCALAR + rb"|[][{},:])")
# The beginning of a scalar that is not whole; behind it is the first byte that cannot stand there.
_EXPONENT = rb"[eE][+-]?+[0-9]*+"
_BEGINNING = re.compile(
    _STRING_HEAD + rb"(?:\\(?:u[0-9A-Fa-f]{0,3}+)?+)?+"
    rb"|t(?:ru?+)?+|f(?:a(?:ls?+)?+)?+|n(?:ul?+)?+"
    rb"|-?+(?:" + _INTEGER + rb"(?:\.(?:[0-9]++(?:" + _EXPONENT + rb")?+)?+|" + _EXPONENT + rb")?+)?+"
)


class Outcome(Enum):
    """What became of a value."""

    WHOLE = "it ended"
    BROKEN = "a byte cannot stand where it stands"
    OPEN = "the bytes ended first"


@dataclass(frozen=True)
class Value:
    """A value as far as it could be followed: `end` is behind it, or at the byte that broke it."""

    outcome: Outcome
    end: int
    last_token: int


_QUOTE, _COMMA, _COLON = b'",:'
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = b"{}[]"
_CLOSER_OF = {_OPEN_OBJECT: _CLOSE_OBJECT, _OPEN_ARRAY: _CLOSE_ARRAY}
# What may be due next. Plain numbers, because a state is looked up for every token.
_VALUE, _VALUE_OR_END, _KEY, _KEY_OR_END, _COLON_DUE, _COMMA_OR_END = range(6)
# What is due after a token, by what was due before it and by its first byte.
_AFTER_VALUE = dict.fromkeys(b'"-0123456789tfn', _COMMA_OR_END) | {
    _OPEN_OBJECT: _KEY_OR_END,
    _OPEN_ARRAY: _VALUE_OR_END,
}
_AFTER = (
    _AFTER_VALUE,
    _AFTER_VALUE | {_CLOSE_ARRAY: _COMMA_OR_END},
    {_QUOTE: _COLON_DUE},
    {_QUOTE: _COLON_DUE, _CLOSE_OBJECT: _COMMA_OR_END},
    {_COLON: _VALUE},
)


@cache
def shallow_object(levels: int) -> bytes:
    """The pattern of an object that is nested at most so many levels."""
    value = rb"(?:" + _SCALAR + rb")"
    found = b""
    for _ in range(levels):
        member = _STRING + WHITE + rb":" + WHITE + value + WHITE
        found = rb"\{" + WHITE + rb"(?:" + member + rb"(?:," + WHITE + rb'(?=")|(?=\})))*+\}'
        array = rb"\[" + WHITE + rb"(?:" + value + WHITE + rb"(?:," + WHITE + rb"(?!\])|(?=\])))*+\]"
        value = rb"(?:" + _SCALAR + rb"|" + found + rb"|" + array + rb")"
    return found


def follow(data: bytes, start: int, max_depth: int) -> Value:
    """Follow the value that begins at `start`, as far as it can be followed."""
    due, at, last_token = _VALUE, start, start
    closers = bytearray()
    while (token := _TOKEN.match(data, at)) is not None:
        begin, at = token.span(1)
        following = _step(data[begin], due, closers)
        if following is None or len(closers) > max_depth:
            return Value(Outcome.BROKEN, begin, last_token)
        due, last_token = following, begin
        if not closers:
            return Value(Outcome.WHOLE, at, last_token)
    return _stopped(data, at, due, closers, last_token)


def _step(byte: int, due: int, closers: bytearray) -> int | None:
    """What is due after a token with this first byte; none, if it cannot stand there."""
    if due == _COMMA_OR_END:
        if byte == _COMMA:
            return _KEY if closers[-1] == _CLOSE_OBJECT else _VALUE
        following = _COMMA_OR_END if byte == closers[-1] else None
    else:
        following = _AFTER[due].get(byte)
    if following is not None and byte in _CLOSER_OF:
        closers.append(_CLOSER_OF[byte])
    elif following is not None and byte in (_CLOSE_OBJECT, _CLOSE_ARRAY):
        closers.pop()
    return following


def _stopped(data: bytes, at: int, due: int, closers: bytearray, last_token: int) -> Value:
    """No whole token follows: the bytes may have ended inside one."""
    white = WHITE_RUN.match(data, at)
    assert white is not None
    end = white.end()
    if end < len(data) and _step(data[end], due, closers) is not None:
        beginning = _BEGINNING.match(data, end)
        end = beginning.end() if beginning else end
    return Value(Outcome.OPEN if end == len(data) else Outcome.BROKEN, end, last_token)
