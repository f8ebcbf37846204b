"""Times as a source writes them: RFC 3339, a date, or the contract's own format in its own zone."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from smelter.contracts import FieldRules
from smelter.contracts.rules import rule_value
from smelter.contracts.times import TimeFormat, seconds_of
from smelter.contracts.types import Scalar, Type
from smelter.producer.plan import EPOCH, SECOND_US

HOUR_US = 3600 * SECOND_US
DAY_US = 24 * HOUR_US
TIMES = (Scalar("timestamp"), Scalar("date"))
_MICROSECOND = datetime.timedelta(microseconds=1)
_STEPS_US = {"f": 1, "S": SECOND_US, "M": 60 * SECOND_US, "H": HOUR_US}
# Two days inside the years 1 to 9999, so that no zone leaves them.
EARLIEST_US = (datetime.datetime(1, 1, 3, tzinfo=datetime.UTC) - EPOCH) // _MICROSECOND
LATEST_US = (datetime.datetime(9999, 12, 29, tzinfo=datetime.UTC) - EPOCH) // _MICROSECOND


class At(NamedTuple):
    """Where a record stands: its number, its time, its file's arrival, and the step between its own times."""

    number: int
    clock_us: int
    arrival_us: int
    step_us: int = 0


@dataclass(frozen=True)
class TimeWriter:
    """Writes moments in the way that one field wants them."""

    is_date: bool
    zone: ZoneInfo | None
    format: TimeFormat | None

    @property
    def step_us(self) -> int:
        """The smallest difference that the text can show."""
        if self.is_date:
            return DAY_US
        if self.format is None:
            return 1
        return _STEPS_US[[name for name in "HMSf" if ("directive", name) in self.format.parts][-1]]

    def write(self, moment_us: int, low_us: int, high_us: int) -> str | None:
        """The text of the moment, or of the nearest one within bounds that reads back without doubt."""
        if not self.is_date and self.zone is None:
            return rfc3339(moment_us) if low_us <= moment_us <= high_us else None
        for near_us in _nearby(moment_us, self.step_us):
            local = self._local(near_us)
            read_back = (local - EPOCH) // _MICROSECOND
            if low_us <= read_back <= high_us and not _is_doubtful(local):
                return self._text(local)
        return None

    def _local(self, moment_us: int) -> datetime.datetime:
        moment_us = min(max(moment_us, EARLIEST_US), LATEST_US)
        local = (EPOCH + datetime.timedelta(microseconds=moment_us)).astimezone(self.zone or datetime.UTC)
        since_midnight = local.replace(tzinfo=None) - datetime.datetime.combine(local.date(), datetime.time())
        whole_steps = (since_midnight // _MICROSECOND) // self.step_us * self.step_us
        midnight = datetime.datetime.combine(local.date(), datetime.time())
        return (midnight + datetime.timedelta(microseconds=whole_steps)).replace(tzinfo=local.tzinfo)

    def _text(self, local: datetime.datetime) -> str:
        if self.format is None:
            return local.date().isoformat() if self.is_date else local.replace(tzinfo=None).isoformat()
        shown = {
            "Y": f"{local.year:04d}", "m": f"{local.month:02d}", "d": f"{local.day:02d}", "H": f"{local.hour:02d}",
            "M": f"{local.minute:02d}", "S": f"{local.second:02d}", "f": f"{local.microsecond:06d}",
        }  # fmt: skip
        return "".join(shown[text] if kind == "directive" else text for kind, text in self.format.parts)


def writer_of(kind: Type, rules: FieldRules | None) -> TimeWriter:
    """The writer of a field, or of a nested time, which has no rules."""
    zone = ZoneInfo(rules.zone) if rules is not None and rules.zone is not None else None
    pattern = TimeFormat.parse(rules.format) if rules is not None and rules.format is not None else None
    return TimeWriter(kind == Scalar("date"), zone, pattern)


def rule_us(kind: Type, value: object, rule: str) -> int:
    """The `min`, `max` or `one_of` of a time in microseconds; a date counts from its midnight in UTC."""
    read = rule_value(kind, value, rule)
    if not isinstance(read, datetime.datetime):
        read = datetime.datetime.combine(read, datetime.time(), datetime.UTC)
    assert isinstance(read, datetime.datetime)
    return (read - EPOCH) // _MICROSECOND


def bounds_us(rules: FieldRules) -> tuple[int, int]:
    """The moments between which `min` and `max` keep the field."""
    low = EARLIEST_US if rules.min is None else max(EARLIEST_US, rule_us(rules.kind, rules.min, "min"))
    high = LATEST_US if rules.max is None else min(LATEST_US, rule_us(rules.kind, rules.max, "max"))
    return low, high


def limit_us(rules: FieldRules, at: At) -> int:
    """The last moment that `not_after_arrival` lets pass."""
    assert rules.not_after_arrival is not None
    return at.arrival_us + seconds_of(rules.not_after_arrival) * SECOND_US


def rfc3339(moment_us: int) -> str:
    """A moment in UTC with six digits of fraction."""
    second, fraction = divmod(moment_us, SECOND_US)
    return f"{_second_text(second)}.{fraction:06d}Z"


@lru_cache(maxsize=4096)
def _second_text(second: int) -> str:
    return (EPOCH + datetime.timedelta(seconds=second)).replace(tzinfo=None).isoformat()


def _nearby(moment_us: int, step_us: int) -> Iterator[int]:
    """The moment, its neighbour, then ever further ones on both sides: an overlap of clocks can last a day."""
    yield moment_us
    yield moment_us + step_us
    for hours in (1, 2, 3, 6, 12, 25, 49):
        yield moment_us - hours * HOUR_US
        yield moment_us + hours * HOUR_US


def _is_doubtful(local: datetime.datetime) -> bool:
    """True for a local time that a change of clocks makes happen twice or not at all."""
    there_and_back = local.astimezone(datetime.UTC).astimezone(local.tzinfo)
    happens_once = local.utcoffset() == local.replace(fold=1 - local.fold).utcoffset()
    return there_and_back.replace(tzinfo=None) != local.replace(tzinfo=None) or not happens_once
