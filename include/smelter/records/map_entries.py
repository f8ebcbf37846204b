"""Keys and values out of the text of JSON objects, thousands at a time, without a Python object for an entry.

The texts are well-formed JSON: the decoder has been over them. A *plain* object is one level of strings and scalars,
without escapes and with at most one space after a colon or a comma, which is what programs write. Any other is *odd*,
and left to be decoded one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from smelter.records.account import Bools, Ints

_QUOTE, _COLON, _SPACE, _BACKSLASH = b'": \\'
_OPEN = ord("{")
_FEW_KEYS = 32  # so many that one bit for each fits into a sum without overflow
_STARTS_SCALAR = np.zeros(256, np.bool_)
_STARTS_SCALAR[list(b"-0123456789tf")] = True
_ENDS_SCALAR = np.zeros(256, np.bool_)
_ENDS_SCALAR[list(b",}")] = True


@dataclass(frozen=True)
class Entries:
    """The entries of plain objects, in order, and which of the objects are not plain and have none here."""

    keys: pa.Array
    items: pa.Array
    counts: Ints
    is_string: Bools
    odd: Bools
    repeated: Bools  # objects in which a key appears more than once


def entries_of(texts: list[Any]) -> Entries:
    """The entries of JSON texts; whatever is no plain object is odd."""
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    joined = b"".join([*texts, b" "])  # so that there is a byte after every quote
    stops = np.cumsum(sizes)
    starts = stops - sizes
    if b"\\" not in joined:
        return _plain_entries(joined, starts, stops)
    escapes = np.flatnonzero(np.frombuffer(joined, np.uint8) == _BACKSLASH)
    escaped = np.diff(np.searchsorted(escapes, np.append(starts, len(joined)))) > 0
    plain = entries_of([text for text, is_escaped in zip(texts, escaped.tolist(), strict=True) if not is_escaped])
    return _among(plain, escaped)


def _among(plain: Entries, escaped: Bools) -> Entries:
    """The entries of some objects, seen among all."""
    counts, odd, repeated = np.zeros(len(escaped), np.int64), escaped.copy(), np.zeros(len(escaped), np.bool_)
    counts[~escaped], odd[~escaped], repeated[~escaped] = plain.counts, plain.odd, plain.repeated
    return Entries(plain.keys, plain.items, counts, plain.is_string, odd, repeated)


def _plain_entries(text: bytes, starts: Ints, stops: Ints) -> Entries:
    data = np.frombuffer(text, np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    opens, closes = quotes[0::2], quotes[1::2]
    numbers = np.flatnonzero(data[closes + 1] == _COLON)
    key_opens, key_closes = opens[numbers], closes[numbers]
    values = key_closes + 2
    values += data[values] == _SPACE
    first = data[values]
    is_string = first == _QUOTE
    edges = np.append(np.searchsorted(key_opens, starts), len(key_opens))
    limits = _limits(data, key_opens, edges, stops)
    is_scalar = _STARTS_SCALAR[first] & (data[limits - 1] > _SPACE) & _ENDS_SCALAR[data[limits]]
    wrong = ~(is_string | is_scalar)
    ends = np.where(is_string, closes[np.minimum(numbers + 1, len(closes) - 1)], limits)
    places = np.stack((key_opens + 1, key_closes, values + is_string, ends), axis=1)
    places[wrong, 2:] = key_closes[wrong, None]
    counts = np.diff(edges)
    odd = _odd(data, starts, opens, counts, is_string, wrong, edges)
    return _taken(text, places, counts, is_string, odd)


def _limits(data: Any, key_opens: Ints, edges: Ints, stops: Ints) -> Ints:
    """Where the text of each value must have ended: at the comma before the next key, or at the closing brace."""
    limits = np.empty(len(key_opens), np.int64)
    limits[:-1] = key_opens[1:] - 1
    limits[:-1] -= data[limits[:-1]] == _SPACE
    filled = edges[1:] > edges[:-1]
    limits[edges[1:][filled] - 1] = stops[filled] - 1
    return limits


def _odd(data: Any, starts: Ints, opens: Ints, counts: Ints, is_string: Bools, wrong: Bools, edges: Ints) -> Bools:
    """Objects with anything that is no entry of a string or scalar, or with strings that no entry explains."""
    odd: Bools = data[starts] != _OPEN
    if wrong.any():
        odd[np.repeat(np.arange(len(starts)), counts)[wrong]] = True
    if len(opens) != len(is_string) + np.count_nonzero(is_string):
        strings = np.diff(np.append(np.searchsorted(opens, starts), len(opens)))
        explained = np.diff(np.concatenate(([0], np.cumsum(is_string)))[edges])
        odd |= strings != counts + explained
    return odd


def _taken(text: bytes, places: Ints, counts: Ints, is_string: Bools, odd: Bools) -> Entries:
    """Keys and items out of the text: pieces between neighbouring places, of which every fourth is wanted."""
    if not len(places):
        empty = pa.array([], pa.string())
        return Entries(empty, empty, counts, is_string, odd, np.zeros(len(counts), np.bool_))
    buffers = [None, pa.py_buffer(places.astype(np.int32).ravel()), pa.py_buffer(text)]
    pieces = pa.Array.from_buffers(pa.string(), places.size - 1, buffers)
    wanted = np.arange(0, places.size, 4, dtype=np.int32)
    if odd.any():
        kept = np.repeat(~odd, counts)
        wanted, is_string, counts = wanted[kept], is_string[kept], np.where(odd, 0, counts)
    both = pieces.take(pa.array(np.concatenate((wanted, wanted + 2))))
    keys, items = both.slice(0, len(wanted)), both.slice(len(wanted))
    return Entries(keys, items, counts, is_string, odd, _repeated(keys, counts))


def _repeated(keys: pa.Array, counts: Ints) -> Bools:
    """Which objects have a key twice."""
    coded = keys.dictionary_encode()
    codes, repeated = coded.indices.to_numpy(), np.zeros(len(counts), np.bool_)
    if len(coded.dictionary) <= _FEW_KEYS:
        filled = np.flatnonzero(counts)
        if len(filled):
            firsts = (np.cumsum(counts) - counts)[filled]
            bits = np.left_shift(np.int64(1), codes.astype(np.int64))
            repeated[filled] = np.add.reduceat(bits, firsts) != np.bitwise_or.reduceat(bits, firsts)
        return repeated
    rows = np.repeat(np.arange(len(counts)), counts)
    pairs = np.sort(rows * len(coded.dictionary) + codes)
    again = pairs[1:][pairs[1:] == pairs[:-1]]
    repeated[again // len(coded.dictionary)] = True
    return repeated
