"""The bytes of one source: opened by looking at them, expanded in bounded chunks, counted and hashed on the way."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import zstandard

from smelter.records.letters import Problem, Reason

CHUNK_BYTES = 1024 * 1024
EXPANSION_FLOOR_BYTES = 4 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_STEP = 256  # a block of 4 bytes can expand to 128 KiB, so one step never expands to more than 8 MiB
_ZSTD_WINDOW_LOG_MAX = 27  # 128 MiB, what the reference tool allows by default


@dataclass(frozen=True)
class Limits:
    """How large things may get; see docs/settings.md."""

    max_record_bytes: int = 16 * 1024 * 1024
    max_depth: int = 100
    max_file_bytes: int = 16 * 1024 * 1024 * 1024
    max_expansion: int = 200


@dataclass(frozen=True)
class Source:
    """Something that holds records: its name, when it arrived, how long it is, and how to open it."""

    name: str
    length: int
    arrived_at: datetime
    open: Callable[[], BinaryIO]

    @classmethod
    def of_file(cls, path: Path) -> Source:
        """A local file; it arrived when it was last modified. One that cannot be looked at cannot be opened either."""
        path = path.absolute()
        try:
            stat = path.stat()
        except OSError as problem:
            return cls(str(path), 0, datetime.fromtimestamp(0, UTC), _raising(problem))
        arrived = datetime.fromtimestamp(stat.st_mtime_ns // 1_000_000_000, UTC)
        arrived = arrived.replace(microsecond=stat.st_mtime_ns // 1000 % 1_000_000)
        return cls(str(path), stat.st_size, arrived, lambda: path.open("rb", buffering=0))


def _raising(problem: OSError) -> Callable[[], BinaryIO]:
    def refuse() -> BinaryIO:
        raise problem

    return refuse


class Reading:
    """One pass over a source's expanded bytes. Iterate once; then `bytes_read`, `digest` and `problem` are final.

    Whatever goes wrong ends the bytes early and is told by `problem`; what came before it counts.
    """

    def __init__(self, source: Source, limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._hash = hashlib.sha256()
        self.bytes_read = 0
        self.problem: Problem | None = None

    @property
    def digest(self) -> str:
        """The hash of the bytes as they are stored."""
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        expanded = 0
        cap = self._limits.max_file_bytes
        try:
            with self._source.open() as stream:
                first = self._first_bytes(stream)
                packed = first.startswith((_GZIP_MAGIC, _ZSTD_MAGIC))
                if packed:
                    ratio_cap = max(EXPANSION_FLOOR_BYTES, self._limits.max_expansion * self._source.length)
                    cap = min(cap, ratio_cap)
                chunks = _expand(first, lambda: self._read(stream)) if packed else self._plain(first, stream)
                for chunk in chunks:
                    expanded += len(chunk)
                    if expanded > cap:
                        yield chunk[: len(chunk) - (expanded - cap)]
                        self.problem = _too_large(cap, packed=packed)
                        return
                    yield chunk
        except (OSError, EOFError, zlib.error, zstandard.ZstdError) as problem:
            self.problem = _unreadable(problem)

    def _first_bytes(self, stream: BinaryIO) -> bytes:
        """Enough to tell what they are: a pipe may give out one byte at a time."""
        first = self._read(stream)
        while 0 < len(first) < len(_ZSTD_MAGIC):
            more = self._read(stream)
            if not more:
                break
            first += more
        return first

    def _read(self, stream: BinaryIO) -> bytes:
        data = stream.read(CHUNK_BYTES)
        self._hash.update(data)
        self.bytes_read += len(data)
        return data

    def _plain(self, first: bytes, stream: BinaryIO) -> Iterator[bytes]:
        while first:
            yield first
            first = self._read(stream)


def _expand(first: bytes, read: Callable[[], bytes]) -> Iterator[bytes]:
    return _expand_gzip(first, read) if first.startswith(_GZIP_MAGIC) else _expand_zstd(first, read)


def _expand_gzip(data: bytes, read: Callable[[], bytes]) -> Iterator[bytes]:
    """Members one after another; zero bytes after the last one are padding, anything else is an error."""
    member = zlib.decompressobj(wbits=31)
    while True:
        if data:
            before = member.copy()
            try:
                chunk = member.decompress(data, CHUNK_BYTES)
            except zlib.error:
                yield from _expand_up_to_the_error(before, data)
                raise
            if chunk:
                yield chunk
            data = member.unconsumed_tail
        if member.eof:
            data = member.unused_data.lstrip(b"\x00")
            while not data:
                data = read()
                if not data:
                    return
                data = data.lstrip(b"\x00")
            member = zlib.decompressobj(wbits=31)
        elif not data:
            data = read()
            if not data:
                rest = member.flush()
                if rest:
                    yield rest
                raise EOFError("the compressed data ends too early")


def _expand_up_to_the_error(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """All that comes before the error, byte by byte: a call that fails gives nothing of what it had expanded."""
    with suppress(zlib.error):
        for at in range(len(data)):
            tail = data[at : at + 1]
            while tail:
                chunk = member.decompress(tail, CHUNK_BYTES)
                if chunk:
                    yield chunk
                tail = member.unconsumed_tail


def _expand_zstd(data: bytes, read: Callable[[], bytes]) -> Iterator[bytes]:
    """Frames one after another, fed in small steps because one call expands all that it is given.

    Steps are counted from the beginning of the file, so that a damaged one ends at the same place however it is read.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=2**_ZSTD_WINDOW_LOG_MAX)
    frame = decompressor.decompressobj()
    inside = True
    is_last = False
    while not is_last:
        more = read()
        is_last = not more
        data += more
        whole = len(data) if is_last else len(data) - len(data) % _ZSTD_STEP
        steps, data = data[:whole], data[whole:]
        for at in range(0, len(steps), _ZSTD_STEP):
            step = steps[at : at + _ZSTD_STEP]
            while step:
                if not inside:
                    frame, inside = decompressor.decompressobj(), True
                chunk = frame.decompress(step)
                if chunk:
                    yield chunk
                step = b""
                if frame.eof:
                    step, inside = frame.unused_data, False
    if inside:
        raise EOFError("the compressed data ends too early")


def _unreadable(problem: Exception) -> Problem:
    said = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    message = f"the file cannot be read to its end: {said[:200]}"
    return Problem(Reason.FILE_UNREADABLE, "readable", "", said[:200], message)


def _too_large(cap: int, *, packed: bool) -> Problem:
    what = "expands to more than" if packed else "has more than"
    message = f"the file {what} {cap:,} bytes; what follows was not read"
    return Problem(Reason.FILE_TOO_LARGE, "max_file_bytes", "", f"more than {cap} bytes", message)
