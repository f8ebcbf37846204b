"""Files that appear only when they are complete, and are never overwritten."""

from __future__ import annotations

import datetime
import os
import zlib
from pathlib import Path

from smelter.errors import Refused
from smelter.producer.plan import EPOCH, Format, Plan

_GZIP = 16 + zlib.MAX_WBITS


def packer() -> zlib._Compress:
    """A gzip stream without a time or a name in it, so that the same text gives the same bytes."""
    return zlib.compressobj(level=6, wbits=_GZIP)


def packed(content: bytes) -> bytes:
    """The content as gzip."""
    gzip = packer()
    return gzip.compress(content) + gzip.flush()


def path_of(dataset: str, plan: Plan, number: int, mark: str = "") -> Path:
    """Where file `number` goes: `events-20261116T114300Z-s7-00001.json`, in a folder of its day if asked."""
    assert plan.to is not None
    started = plan.start.astimezone(datetime.UTC)
    moment = started.strftime("%Y%m%dT%H%M%S") + (f"{started.microsecond:06d}" if started.microsecond else "")
    suffix = (".ndjson" if plan.format is Format.NDJSON else ".json") + (".gz" if plan.gzip else "")
    arrival = EPOCH + datetime.timedelta(microseconds=plan.arrival_us(number))
    folder = plan.to / arrival.strftime("%Y/%m/%d") if plan.by_day else plan.to
    return folder.absolute() / f"{dataset}-{moment}Z-s{plan.seed}-{number + 1:05d}{mark}{suffix}"


def publish(path: Path, content: bytes, arrival_us: int) -> None:
    """Make the file appear whole, with its time of arrival; the same file again is left alone, another is refused."""
    if path.exists():
        _refuse_other_content(path, content)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with hidden.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.utime(hidden, ns=(arrival_us * 1000, arrival_us * 1000))
        hidden.replace(path)
    finally:
        hidden.unlink(missing_ok=True)


def _refuse_other_content(path: Path, content: bytes) -> None:
    if path.read_bytes() != content:
        raise Refused(
            "a file of this name is there already, with other content",
            where=str(path),
            data="it was left as it is; files before it in this run are complete",
            next_step="choose another --seed, --start or --to",
        )
