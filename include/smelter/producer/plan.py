"""What is asked of the producer, and what it answers."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path

from smelter.errors import WrongUsage

SAMPLE_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
SIMULATED_RATE = 100.0
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
SECOND_US = 1_000_000


class Format(StrEnum):
    """How the records of a file are written."""

    ARRAY = "array"
    NDJSON = "ndjson"
    PRETTY = "pretty"


class Reason(StrEnum):
    """Why a record that the producer spoilt must become a dead letter."""

    NOT_JSON = "not_json"
    MISSING_FIELD = "missing_field"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    RULE_BROKEN = "rule_broken"
    TRUNCATED_BATCH = "truncated_batch"


@dataclass(frozen=True)
class Faults:
    """How often each thing goes wrong, from 0 to 1: the first ten per record, the last three per file."""

    invalid: float = 0.0
    missing: float = 0.0
    nulls: float = 0.0
    wrong_type: float = 0.0
    extra: float = 0.0
    duplicate: float = 0.0
    late: float = 0.0
    out_of_order: float = 0.0
    future: float = 0.0
    garbage: float = 0.0
    corrupt: float = 0.0
    empty_file: float = 0.0
    duplicate_file: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            rate = getattr(self, one.name)
            if not 0 <= rate <= 1:
                raise WrongUsage(f"the rate of `{one.name}` is {rate}; it goes from 0 to 1")


PER_FILE = ("corrupt", "empty_file", "duplicate_file")
PER_RECORD = tuple(one.name for one in fields(Faults) if one.name not in PER_FILE)


@dataclass(frozen=True)
class Plan:
    """One run of the producer; the same plan gives the same bytes. `to=None` is standard output."""

    count: int
    to: Path | None
    seed: int = 0
    start: datetime.datetime = SAMPLE_START
    rate: float | None = None
    records_per_file: int = 1000
    format: Format = Format.ARRAY
    gzip: bool = False
    faults: Faults = field(default_factory=Faults)
    truth: Path | None = None
    by_day: bool = False

    def __post_init__(self) -> None:
        for name in ("count", "records_per_file"):
            if getattr(self, name) < 1:
                raise WrongUsage(f"`{name}` is {getattr(self, name)}; at least 1 is needed")
        if self.seed < 0:
            raise WrongUsage(f"`seed` is {self.seed}; write 0 or more")
        if self.rate is not None and not (math.isfinite(self.rate) and self.rate > 0):
            raise WrongUsage(f"`rate` is {self.rate}; write how many records a second, such as 100")
        if self.start.tzinfo is None:
            raise WrongUsage("`start` has no zone; write 2026-01-01T00:00:00Z")
        if self.start_us < 0 or self.moment_us(self.count) > _LAST_US:
            raise WrongUsage("the run leaves the years 1970 to 9000", next_step="choose another --start or --rate")

    @property
    def start_us(self) -> int:
        """The start in microseconds since 1970."""
        return (self.start - EPOCH) // datetime.timedelta(microseconds=1)

    @property
    def start_text(self) -> str:
        """The start as RFC 3339 in UTC."""
        return self.start.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")

    @property
    def files(self) -> int:
        """How many files the records fill."""
        return -(-self.count // self.records_per_file)

    def moment_us(self, index: int) -> int:
        """When event number `index` happens by the simulated clock."""
        return self.start_us + round(index * SECOND_US / (self.rate or SIMULATED_RATE))

    def slots(self, number: int) -> range:
        """The indexes of the records of file `number`, counted from 0."""
        return range(number * self.records_per_file, min((number + 1) * self.records_per_file, self.count))

    def arrival_us(self, number: int) -> int:
        """When file `number` arrives: one second after its last event. A stream arrives as a whole."""
        last = self.slots(number)[-1] if self.to is not None else self.count - 1
        return self.moment_us(last) + SECOND_US


_LAST_US = (datetime.datetime(9000, 1, 1, tzinfo=datetime.UTC) - EPOCH) // datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Produced:
    """What was written, and what must become of it; `records` = `good` + `dead`."""

    files: tuple[Path, ...]
    records: int
    good: int
    by_reason: dict[str, int]
    interrupted: bool = False

    @property
    def dead(self) -> int:
        """How many dead letters there must be."""
        return sum(self.by_reason.values())
