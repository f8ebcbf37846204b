"""From the bytes of a file to its text: found to be packed by looking, expanded in bounded pieces, ended at the cap."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from io import SEEK_END
from typing import BinaryIO

import zstandard

from smelter.ledger.limits import CountLimits

PIECE_BYTES = 1024 * 1024
EXPANSION_FLOOR_BYTES = 4 * 1024 * 1024
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZSTD_STEP_BYTES = 256  # expands to 8 MiB at most, because a block of 4 bytes can be 128 KiB of text
_ZSTD_WINDOW_BYTES = 128 * 1024 * 1024  # what the tool `zstd` allows unless told otherwise


class TextCutShort(Exception):
    """The file is to blame for the end of its text: it cannot be read or expanded further, or the cap is reached."""


class StoredFile:
    """The bytes of an open file as they are stored, counted and digested while they are read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.length = stream.seek(0, SEEK_END)
        stream.seek(0)
        self._hash = hashlib.sha256()
        self._problem: OSError | None = None
        self.bytes_read = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of what was read."""
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        """Pieces of the same length, of which only the last may be shorter."""
        while piece := self._next_piece():
            self._hash.update(piece)
            self.bytes_read += len(piece)
            yield piece
        if self._problem is not None:
            raise TextCutShort from self._problem

    def _next_piece(self) -> bytes:
        parts: list[bytes] = []
        missing = PIECE_BYTES
        while missing and self._problem is None:
            try:
                part = self._stream.read(missing)
            except OSError as problem:
                self._problem = problem
                break
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


def text_of(stored: StoredFile, limits: CountLimits) -> Iterator[bytes]:
    """The text in pieces; raises TextCutShort after the last one if the file is to blame for the end."""
    pieces = iter(stored)
    first = next(pieces, b"")
    expand = _gunzip if first.startswith(_GZIP) else _unzstd if first.startswith(_ZSTD) else iter
    cap = limits.max_file_bytes
    if expand is not iter:
        cap = min(cap, max(EXPANSION_FLOOR_BYTES, limits.max_expansion * stored.length))
    yield from _up_to(cap, expand(_again(first, pieces)))


def _again(first: bytes, others: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from others


def _up_to(cap: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
    left = cap
    for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left < 0:
            raise TextCutShort


def _gunzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Members one after another; zero bytes after one are padding."""
    member, is_begun = zlib.decompressobj(wbits=31), False
    for data in pieces:
        is_waiting = False
        while data or is_waiting:
            if not is_begun:
                data = data.lstrip(b"\x00")
            is_begun = is_begun or bool(data)
            before = member.copy()
            try:
                text = member.decompress(data, PIECE_BYTES)
            except zlib.error as damage:
                yield from _up_to_the_damage(before, data)
                raise TextCutShort from damage
            yield text
            data, is_waiting = member.unconsumed_tail, len(text) == PIECE_BYTES
            if member.eof:
                data, is_waiting = member.unused_data, False
                member, is_begun = zlib.decompressobj(wbits=31), False
    if is_begun:
        raise TextCutShort


def _up_to_the_damage(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """Byte by byte, because a call that fails gives nothing of what it had expanded before."""
    for at in range(len(data)):
        try:
            yield member.decompress(data[at : at + 1])
        except zlib.error:
            return


def _unzstd(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Frames one after another, in steps counted from the beginning of the file, so that damage has one place."""
    unpacker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    frame = None
    for piece in pieces:
        for at in range(0, len(piece), _ZSTD_STEP_BYTES):
            step = piece[at : at + _ZSTD_STEP_BYTES]
            while step:
                frame = frame or unpacker.decompressobj()
                try:
                    yield frame.decompress(step)
                except zstandard.ZstdError as damage:
                    raise TextCutShort from damage
                step = frame.unused_data if frame.eof else b""
                frame = None if frame.eof else frame
    if frame is not None:
        raise TextCutShort
