"""What do people want of a stream? Small files that its driver reads: they reach it in another container too.

Two kinds. A wish is about the stream and stays until somebody wishes otherwise: run, pause, stop. A request to stop is
about one life of the driver, and ends with it: whoever started that driver can end it so, and say nothing of the next.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

WANTED = "wanted.json"
_STOP = "stop-"
_RUN = re.compile(r"[0-9a-f]{1,32}")


class Wish(StrEnum):
    """What a stream may be wanted to do."""

    RUN = "run"
    PAUSE = "pause"
    STOP = "stop"


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a stream, by whom, why and since when."""

    wish: Wish = Wish.RUN
    by: str = ""
    reason: str = ""
    since: float = 0.0

    def __str__(self) -> str:
        words = {Wish.RUN: "wanted to run", Wish.PAUSE: "paused", Wish.STOP: "stopped"}[self.wish]
        by = f" by {self.by}" if self.by else ""
        since = f" at {time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(self.since))}" if self.since else ""
        return f"{words}{by}{since}{f': {self.reason}' if self.reason else ''}"


def wanted(folder: Path) -> Wanted:
    """What is wanted of the stream; to run, if nobody said otherwise. A file that cannot be read holds the stream."""
    try:
        said = json.loads((folder / WANTED).read_text("utf-8"))
        return Wanted(Wish(said["wish"]), str(said["by"]), str(said["reason"]), float(said["since"]))
    except FileNotFoundError:
        return Wanted()
    except (OSError, ValueError, KeyError, TypeError):
        return Wanted(Wish.PAUSE, reason=f"{WANTED} cannot be read; smelt stream resume writes it anew")


def want(folder: Path, wish: Wish, by: str, reason: str = "") -> Wanted:
    """Say what is wanted of the stream from now on; the file is replaced, never half there."""
    said = Wanted(wish, by, reason, time.time())
    folder.mkdir(parents=True, exist_ok=True)
    if wish is Wish.RUN:
        (folder / WANTED).unlink(missing_ok=True)
    else:
        put_file(folder / WANTED, json.dumps(asdict(said)))
    return said


def ask_to_stop(folder: Path, run: str, by: str) -> None:
    """Ask one life of the driver to finish its batch and end; a later driver does not hear of it."""
    if _RUN.fullmatch(run):
        put_file(folder / f"{_STOP}{run}", by)


def who_asked_to_stop(folder: Path, run: str) -> str | None:
    """Who asked this life of the driver to end; nothing if nobody did."""
    with suppress(OSError):
        return (folder / f"{_STOP}{run}").read_text("utf-8") or "somebody"
    return None


def forget_requests(folder: Path, but: str) -> None:
    """Remove what was asked of drivers that are gone; called by the one that holds the lock, whose own stay."""
    for left in folder.glob(f"{_STOP}*"):
        if left.name != f"{_STOP}{but}":
            left.unlink(missing_ok=True)


def put_file(place: Path, content: str) -> None:
    """Replace a small file; a reader sees the old one or the new one, never half."""
    fresh = place.with_name(f".{place.name}-{os.getpid()}-{time.monotonic_ns()}")
    fresh.write_text(content, "utf-8")
    fresh.replace(place)
