"""How a landing file is named in the tables: by its URI, so that no two files, and no two readings, share a name."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote_to_bytes

from smelter.lake.batches import GONE, Unit

_SCHEME = "file://"
_NANOS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999


def source_of(path: Path, reading: int = 1) -> str:
    """The name of a file; a later reading of a rewritten file has a number, as in `…/a.json#2`."""
    uri = path.as_uri()
    return uri if reading == 1 else f"{uri}#{reading}"


def later_reading_of(source: str) -> str:
    """The name that the same file has if it is read once more: `…/a.json#2` after `…/a.json`."""
    base, _, reading = source.partition("#")
    return f"{base}#{int(reading or 1) + 1}"


def path_of(source: str) -> Path:
    """The file that a name stands for, whatever bytes are in it."""
    location = source.partition("#")[0].removeprefix(_SCHEME)
    return Path(os.fsdecode(unquote_to_bytes(location)))


def arrival_of(modified_ns: int) -> datetime:
    """When a file arrived: when it was last modified, as exactly as a table can say it."""
    seconds = min(max(modified_ns // _NANOS, _FIRST_SECOND), _LAST_SECOND)  # some file systems know the year 20000
    return _EPOCH + timedelta(seconds=seconds, microseconds=modified_ns // 1000 % 1_000_000)


def unit_of(path: Path, reading: int = 1, *, listed_ns: int = 0) -> Unit:
    """The file as it is now; one that is gone is known by when it was listed."""
    source = source_of(path, reading)
    try:
        stat = path.stat()
    except OSError:
        return Unit(source, GONE, listed_ns)
    return Unit(source, stat.st_size, stat.st_mtime_ns)
