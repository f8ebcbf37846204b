"""What a text is cut into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from smelter.records.scan import WHITE, Outcome, scan_value

KEPT_BYTES = 64 * 1024
_decode_raw = msgspec.json.Decoder(msgspec.Raw)
_decode_raw_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_NOT_JSON = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A window in which the caller's decoder took every record; `is_array` says how to cut it if need be."""

    values: list[Any]
    window: bytes
    is_array: bool


@dataclass(frozen=True, slots=True)
class Whole:
    """Records that are well-formed JSON, one after another."""

    texts: list[bytes]


@dataclass(frozen=True, slots=True)
class Broken:
    """One record that is not well-formed JSON; `at_end` if nothing at all follows it."""

    text: bytes
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class TooLarge:
    """One record longer than the limit; only its beginning is kept; `at_end` if nothing at all follows it."""

    text: bytes
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class CutOff:
    """The text ended inside a record or a batch: the tail that is no whole record."""

    tail: bytes


class Passed:
    """A record that is being passed over: no more of it is held than a record may be long."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._most_kept = max(KEPT_BYTES, max_bytes)
        self._kept = bytearray()
        self._length = 0
        self._solid_length = 0  # without the white space at its end

    def add(self, part: bytes) -> None:
        """The record goes on with these bytes; white space counts only if something else follows."""
        if len(self._kept) < self._most_kept:
            self._kept += part[: self._most_kept - len(self._kept)]
        solid = part.rstrip(WHITE)
        if solid:
            self._solid_length = self._length + len(solid)
        self._length += len(part)

    def text(self) -> bytes:
        """What was passed, or the beginning of it."""
        return bytes(self._kept[: self._solid_length])

    def piece(self, *, at_end: bool = False) -> Broken | TooLarge:
        """What was passed, as what it turned out to be."""
        if self._solid_length <= self._max_bytes:
            return Broken(self.text(), at_end)
        return TooLarge(self.text()[:KEPT_BYTES].rstrip(WHITE), at_end)


Piece = Decoded | Whole | Broken | TooLarge | CutOff


def whole_records(window: bytes, is_array: bool, max_depth: int) -> list[bytes] | None:
    """The records of a window that is well-formed throughout; None if it is not, or if a document is no object."""
    try:
        raws = _decode_raw_list(b"[" + window + b"]") if is_array else _decode_raw.decode_lines(window)
    except _NOT_JSON:
        return None
    texts = [bytes(raw) for raw in raws]
    if not is_array and not all(text[:1] == b"{" for text in texts):
        return None
    return None if any(_is_too_deep(text, max_depth) for text in texts) else texts


def _is_too_deep(text: bytes, max_depth: int) -> bool:
    """Is the well-formed text nested deeper? Few have so many brackets that it takes a scan to tell."""
    if text.count(b"{") + text.count(b"[") <= max_depth:
        return False
    return scan_value(text, 0, max_depth).outcome is not Outcome.WHOLE


def is_too_deep_somewhere(window: bytes, is_array: bool, max_depth: int) -> bool:
    """Is any record of a well-formed window nested deeper?"""
    if window.count(b"{") + window.count(b"[") <= max_depth:
        return False
    return whole_records(window, is_array, max_depth) is None


def is_whole(text: bytes, max_depth: int) -> bool:
    """Is the text one well-formed JSON value, nested no deeper than that?"""
    return is_json(text) and not _is_too_deep(text, max_depth)


def is_json(text: bytes) -> bool:
    """Is the text one well-formed JSON value, as deep as the reader goes?"""
    try:
        _decode_raw.decode(text)
    except _NOT_JSON:
        return False
    return True
