"""A time from its text to microseconds in UTC, or None. `time_columns` does the same for whole columns.

RFC 3339 needs a zone; a `format:` has none and takes it from `zone:`. A local time
that a clock change repeats is the first of the two; one that a clock change leaves out does not exist and is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from zoneinfo import ZoneInfo

from smelter.contracts.times import WIDTHS, TimeFormat

SECOND = 1_000_000
DAY_SECONDS = 86_400
_RFC3339 = tuple(TimeFormat.parse("%Y-%m-%dT%H:%M:%S").parts)
FIRST_MOMENT = -62_135_596_800 * SECOND  # 0001-01-01T00:00:00Z
LAST_MOMENT = 253_402_300_800 * SECOND - 1  # 9999-12-31T23:59:59.999999Z
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_FIRST_DAY = date(1, 1, 1).toordinal() - _EPOCH_ORDINAL
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
LONGEST = 64
_CLOCK = ("H", "M", "S")
MISSING = 2**31 - 1  # no offset: the clock never showed that time


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01, or None if there is no such day. There is a year 0: a zone's offset may lead out of it."""
    try:
        return date(year or 400, month, day).toordinal() - _EPOCH_ORDINAL - (0 if year else 146_097)
    except ValueError:
        return None


def _utc_moment(text: str) -> int | None:
    """The moment of a text that has the shape of RFC 3339 in UTC: what most times are, read by C."""
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
    except ValueError:
        return None


@dataclass
class TimeReader:
    """Reads one kind of time. `is_date` gives days, everything else microseconds in UTC."""

    format: str | None = None
    zone: str | None = None
    is_date: bool = False

    @cached_property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """The literal characters and numbers that a text consists of."""
        if self.format is not None:
            return TimeFormat.parse(self.format).parts
        return tuple(TimeFormat.parse("%Y-%m-%d").parts) if self.is_date else _RFC3339

    @cached_property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.zone or "UTC")

    @property
    def has_suffix(self) -> bool:
        """RFC 3339: after the seconds come a fraction, perhaps, and a zone unless the contract names it."""
        return self.format is None and not self.is_date

    # One at a time.

    def has_shape(self, text: str) -> bool:
        """Is the text written as such times are, whether or not there is such a time?"""
        return len(text) <= LONGEST and text.isascii() and self._pattern.fullmatch(text) is not None

    def skips(self, text: str) -> bool:
        """Is it a local time that a change of the clock left out?"""
        return (
            self.zone is not None and TimeReader(self.format, "UTC").read(text) is not None and self.read(text) is None
        )

    def read(self, text: str) -> int | None:
        """The moment that a text stands for, or None if it stands for none."""
        match = self._pattern.fullmatch(text) if len(text) <= LONGEST and text.isascii() else None
        if match is None:
            return None
        if self.has_suffix and not self.zone and text[-1] == "Z" and text[:4] != "0000":
            return _utc_moment(text)
        text_of = match.group
        days = _days(*map(int, text_of("Y", "m", "d")))
        if days is None or self.is_date:
            return days if days is None or days >= _FIRST_DAY else None
        hour, minute, second = map(int, text_of(*_CLOCK)) if self._has_whole_clock else self._short_clock(match)
        if hour > 23 or minute > 59 or second > 59:
            return None
        fraction = int((match["f"] or "0").ljust(6, "0")) if "f" in self._groups else 0
        seconds = days * DAY_SECONDS + hour * 3600 + minute * 60 + second
        offset = self._offset_of(match, seconds)
        if offset is None:
            return None
        moment = (seconds - offset) * SECOND + fraction
        return moment if FIRST_MOMENT <= moment <= LAST_MOMENT else None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pieces = []
        for kind, name in self.parts:
            if kind == "literal":
                pieces.append("[Tt]" if name == "T" and self.has_suffix else re.escape(name))
            elif name == "f":
                pieces.append("(?P<f>[0-9]{1,6})")
            else:
                pieces.append(f"(?P<{name}>[0-9]{{{WIDTHS[name]}}})")
        if self.has_suffix:
            pieces.append(r"(?:\.(?P<f>[0-9]{1,6}))?")
            pieces.append("" if self.zone else "(?P<zone>[Zz]|[+-][0-9]{2}:[0-9]{2})")
        return re.compile("".join(pieces))

    def _short_clock(self, match: re.Match[str]) -> list[int]:
        """Hours, minutes and seconds, where the format has only some of them."""
        return [int(match[name]) if name in self._groups else 0 for name in _CLOCK]

    @cached_property
    def _has_whole_clock(self) -> bool:
        return self._groups.issuperset(_CLOCK)

    @cached_property
    def _groups(self) -> frozenset[str]:
        return frozenset(self._pattern.groupindex)

    def _offset_of(self, match: re.Match[str], seconds: int) -> int | None:
        if self.format is not None or self.zone is not None:
            offset = self.zone_offset(seconds)
            return None if offset == MISSING else offset
        zone = match["zone"]
        if zone in "Zz":
            return 0
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            return None
        return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)

    def zone_offset(self, local_seconds: int) -> int:
        """Seconds east of UTC at a local time; the first of two; `MISSING` if the clock never showed it."""
        try:
            local = datetime(1970, 1, 1) + timedelta(seconds=local_seconds)  # noqa: DTZ001 a local time has no zone
            offset = local.replace(tzinfo=self._zone).utcoffset()
            assert offset is not None
            back = (local - offset).replace(tzinfo=UTC).astimezone(self._zone).replace(tzinfo=None)
        except OverflowError:
            return MISSING
        return int(offset.total_seconds()) if back == local else MISSING
