"""Quotes in a text and quotes that its values explain. A key that appears twice leaves more of them in the text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_LONG = 10_000  # from here on numpy counts faster


def quotes_in(text: bytes) -> int:
    """How many quotes open or close a string."""
    if b"\\" not in text:
        return (
            int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord('"'))) if len(text) > _LONG else text.count(b'"')
        )
    if b"\\\\" not in text:
        return text.count(b'"') - text.count(b'\\"')
    return _ESCAPE.sub(b"", text).count(b'"')


def quotes_of(value: Any, max_depth: int) -> int:
    """How many quotes a decoded value stands for; raises RecursionError if it is nested too deep."""
    if max_depth == 0:
        raise RecursionError
    is_object = isinstance(value, dict)
    if not is_object and not isinstance(value, list):
        return 2 if type(value) is str else 0
    quotes = 2 * len(value) if is_object else 0
    for item in value.values() if is_object else value:
        kind = type(item)
        if kind is str:
            quotes += 2
        elif kind is dict or kind is list:
            quotes += quotes_of(item, max_depth - 1)
    return quotes
