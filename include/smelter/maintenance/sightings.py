"""Which strays were there already when we last looked? A file goes only when it is seen a second time, unchanged.

Safe to kill and to repeat: what was seen is one small file per table, written whole; without it, everything is seen for
the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from smelter.lake import layout
from smelter.lake.durable import replace
from smelter.lake.home import Lake
from smelter.maintenance.strays import Stray
from smelter.maintenance.subjects import Subject


def seen_before(lake: Lake, subject: Subject, strays: Sequence[Stray]) -> list[Stray]:
    """Those that an earlier survey saw just as they are now."""
    known = set(_read(_place(lake, subject)))
    return [one for one in strays if one in known]


def remember(lake: Lake, subject: Subject, strays: Sequence[Stray]) -> None:
    """Write down what was seen now, instead of what was seen before."""
    place = _place(lake, subject)
    if not strays:
        place.unlink(missing_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    replace(place, msgspec.json.encode(list(strays)))


def _place(lake: Lake, subject: Subject) -> Path:
    return lake.root / layout.RUN / "maintenance" / f"{subject}.strays.json"


def _read(place: Path) -> list[Stray]:
    try:
        return msgspec.json.decode(place.read_bytes(), type=list[Stray])
    except (FileNotFoundError, msgspec.DecodeError):
        return []
