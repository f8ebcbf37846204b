"""What a step of maintenance is: it looks at a table and says what is to do; what is to do can be done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyiceberg.table import Table

from smelter.lake.home import Lake
from smelter.maintenance.subjects import Subject
from smelter.maintenance.survey import Survey, survey

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Step(StrEnum):
    """What maintenance does, in its order; `records` is about the lake and not about a table."""

    ROWS = "rows"
    COMPACT = "compact"
    EXPIRE = "expire"
    MANIFESTS = "manifests"
    ORPHANS = "orphans"
    RECORDS = "records"


@dataclass(frozen=True)
class View:
    """A table at one moment, as a step looks at it."""

    lake: Lake
    subject: Subject
    table: Table
    now: datetime

    @cached_property
    def survey(self) -> Survey:
        """What the table is made of, looked at once for all steps that ask."""
        return survey(self.table, self.subject)


@dataclass(frozen=True)
class Tools:
    """What acting takes: the name of the run, a Spark session that is started when it is asked for, its log, points."""

    run: str
    spark: Callable[[], SparkSession]
    log: Path
    reach: Callable[[str], None] = lambda _point: None


@dataclass(frozen=True)
class Done:
    """What came of it."""

    said: str
    bytes_freed: int = 0


@dataclass(frozen=True)
class Todo:
    """Something to do: why, what is expected of it, and how."""

    step: Step
    why: str
    said: str  # `files 412 → 6`
    act: Callable[[Tools], Done]
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Look:
    """What a step found: something to do or nothing, and what it must not touch, with the reason."""

    todo: Todo | None = None
    kept: tuple[str, ...] = ()


def in_one_folder(view: View) -> str:
    """Why a table's files are left alone: another one in its folder may need them."""
    return f"{view.subject.shares_with} lies in its folder too, and may need the same files"


def counted(number: int, what: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def sized(number: float) -> str:
    """`3.1 MB`."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if abs(number) < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"
