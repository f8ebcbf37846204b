"""Times from their text to microseconds in UTC: whole columns at once with numpy, and one at a time with a reason.

Both ways follow the same rules. RFC 3339 needs a zone; a `format:` has none and takes it from `zone:`. A local time
that a clock change repeats is the first of the two; one that a clock change leaves out does not exist and is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from smelter.contracts.times import WIDTHS, TimeFormat

Ints = npt.NDArray[np.signedinteger[Any]]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

SECOND = 1_000_000
DAY_SECONDS = 86_400
_RFC3339 = tuple(TimeFormat.parse("%Y-%m-%dT%H:%M:%S").parts)
FIRST_MOMENT = -62_135_596_800 * SECOND  # 0001-01-01T00:00:00Z
LAST_MOMENT = 253_402_300_800 * SECOND - 1  # 9999-12-31T23:59:59.999999Z
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_FIRST_DAY = date(1, 1, 1).toordinal() - _EPOCH_ORDINAL
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST = 64
_CLOCK = ("H", "M", "S")
_BIN_SECONDS = 60  # since 1973 every zone is whole minutes from UTC, and its clock changes on whole minutes
_BINS_SINCE = 94_694_400  # 1973-01-01
_UNKNOWN, _MISSING = -(2**31), 2**31 - 1


def days_from_civil(year: Any, month: Any, day: Any) -> Any:
    """Days since 1970-01-01 in the Gregorian calendar, for numbers or arrays of them."""
    year = year - (month <= 2)
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + 12 * (month <= 2) - 3) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468


def _days_in_month(year: Any, month: Any) -> Any:
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    return 30 + ((month + (month > 7)) % 2) - (month == 2) * (2 - leap * 1)


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
    _offsets: dict[int, int] = field(default_factory=dict, repr=False)

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
    def _has_suffix(self) -> bool:
        """RFC 3339: after the seconds come a fraction, perhaps, and a zone unless the contract names it."""
        return self.format is None and not self.is_date

    # One at a time.

    def has_shape(self, text: str) -> bool:
        """Is the text written as such times are, whether or not there is such a time?"""
        return len(text) <= _LONGEST and text.isascii() and self._pattern.fullmatch(text) is not None

    def skips(self, text: str) -> bool:
        """Is it a local time that a change of the clock left out?"""
        return (
            self.zone is not None and TimeReader(self.format, "UTC").read(text) is not None and self.read(text) is None
        )

    def read(self, text: str) -> int | None:
        """The moment that a text stands for, or None if it stands for none."""
        match = self._pattern.fullmatch(text) if len(text) <= _LONGEST and text.isascii() else None
        if match is None:
            return None
        if self._has_suffix and not self.zone and text[-1] == "Z" and text[:4] != "0000":
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
                pieces.append("[Tt]" if name == "T" and self._has_suffix else re.escape(name))
            elif name == "f":
                pieces.append("(?P<f>[0-9]{1,6})")
            else:
                pieces.append(f"(?P<{name}>[0-9]{{{WIDTHS[name]}}})")
        if self._has_suffix:
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
            offset = self._zone_offset(seconds)
            return None if offset == _MISSING else offset
        zone = match["zone"]
        if zone in "Zz":
            return 0
        hours, minutes = int(zone[1:3]), int(zone[4:6])
        if hours > 23 or minutes > 59:
            return None
        return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)

    def _zone_offset(self, local_seconds: int) -> int:
        """Seconds east of UTC at a local time; the first of two; `_MISSING` if the clock never showed it."""
        try:
            local = datetime(1970, 1, 1) + timedelta(seconds=local_seconds)  # noqa: DTZ001 a local time has no zone
            offset = local.replace(tzinfo=self._zone).utcoffset()
            assert offset is not None
            back = (local - offset).replace(tzinfo=UTC).astimezone(self._zone).replace(tzinfo=None)
        except OverflowError:
            return _MISSING
        return int(offset.total_seconds()) if back == local else _MISSING

    # A whole column.

    def read_column(self, data: Bytes, starts: Ints, lengths: Ints) -> tuple[Ints, Bools]:
        """Moments of many texts, and which of them are none; texts are slices of `data`."""
        moments = np.zeros(len(starts), np.int64)
        bad = np.ones(len(starts), np.bool_)
        for length in np.unique(lengths).tolist():
            if length > _LONGEST:
                continue
            rows = np.flatnonzero(lengths == length)
            matrix = _columns_of(data, starts[rows], length)
            for chosen, zone_width in self._by_zone(matrix):
                found, wrong = self._read_matrix(matrix[:, chosen], zone_width)
                moments[rows[chosen]] = found
                bad[rows[chosen]] = wrong
        return moments, bad

    def _by_zone(self, matrix: Bytes) -> list[tuple[Bools | slice, int]]:
        """Split texts of one length by how their zone is written, as its width in bytes."""
        if not self._has_suffix or self.zone:
            return [(slice(None), 0)]
        if len(matrix) < 20:
            return []
        with_z = (matrix[-1] | 0x20) == ord("z")
        if with_z.all():
            return [(slice(None), 1)]
        return [(with_z, 1), (~with_z, 6)]

    def _layout(self, width: int) -> tuple[dict[str, slice], list[tuple[int, int]]] | None:
        """Where the numbers stand and which literal bytes stand between them, for a text of `width` bytes."""
        parts = list(self.parts)
        fixed = sum(1 if kind == "literal" else WIDTHS.get(name, 0) for kind, name in parts)
        spare = width - fixed
        if self._has_suffix and spare:
            parts += [("literal", "."), ("directive", "f")]
            spare -= 1
        has_fraction = ("directive", "f") in parts
        if not (1 <= spare <= 6 if has_fraction else spare == 0):
            return None
        numbers: dict[str, slice] = {}
        literals: list[tuple[int, int]] = []
        at = 0
        for kind, name in parts:
            size = 1 if kind == "literal" else WIDTHS.get(name, spare)
            if kind == "literal":
                literals.append((at, ord(name)))
            else:
                numbers[name] = slice(at, at + size)
            at += size
        return numbers, literals

    def _read_matrix(self, matrix: Bytes, zone_width: int) -> tuple[Ints, Bools]:
        layout = self._layout(len(matrix) - zone_width)
        if layout is None:
            return np.zeros(matrix.shape[1], np.int64), np.ones(matrix.shape[1], np.bool_)
        numbers, literals = layout
        bad = np.zeros(matrix.shape[1], np.bool_)
        for at, wanted in literals:
            found = matrix[at]
            if wanted == ord("T") and self._has_suffix:
                found = found & 0xDF
            bad |= found != wanted
        part = {name: _number(matrix[where], bad) for name, where in numbers.items()}
        if "f" in part:
            part["f"] *= 10 ** (6 - (numbers["f"].stop - numbers["f"].start))
        return self._moments(part, bad, matrix, zone_width)

    def _moments(self, part: dict[str, Ints], bad: Bools, matrix: Bytes, zone_width: int) -> tuple[Ints, Bools]:
        year, month, day = part["Y"], part["m"], part["d"]  # 32 bits are enough, and half the work
        bad |= (month < 1) | (month > 12) | (day < 1)
        bad |= day > _days_in_month(year, np.clip(month, 1, 12))
        days = days_from_civil(year, month, day)
        if self.is_date:
            return days.astype(np.int64), bad | (year < 1)
        seconds = days.astype(np.int64) * DAY_SECONDS
        for name, unit, most in (("H", 3600, 23), ("M", 60, 59), ("S", 1, 59)):
            if name in part:
                bad |= part[name] > most
                seconds = seconds + part[name] * unit
        offsets = self._column_offsets(seconds, bad, matrix, zone_width)
        moments = (seconds - offsets) * SECOND + part.get("f", np.int64(0))
        bad |= (moments < FIRST_MOMENT) | (moments > LAST_MOMENT)
        return moments, bad

    def _column_offsets(self, seconds: Ints, bad: Bools, matrix: Bytes, zone_width: int) -> Ints:
        if zone_width == 1:
            return np.zeros(len(seconds), np.int64)
        if zone_width == 6:
            zone = matrix[-6:]
            bad |= ((zone[0] != ord("+")) & (zone[0] != ord("-"))) | (zone[3] != ord(":"))
            hours, minutes = _number(zone[1:3], bad), _number(zone[4:6], bad)
            bad |= (hours > 23) | (minutes > 59)
            return (hours * 3600 + minutes * 60) * np.where(zone[0] == ord("-"), -1, 1)
        return self._local_offsets(seconds, bad)

    def _local_offsets(self, seconds: Ints, bad: Bools) -> Ints:
        """Offsets of local times; one look-up for each minute that occurs, remembered."""
        keys = np.where(seconds >= _BINS_SINCE, seconds // _BIN_SECONDS * _BIN_SECONDS, seconds)
        keys = np.where(bad, _BINS_SINCE, keys)
        distinct, where = np.unique(keys, return_inverse=True)
        found = np.array([self._remembered_offset(key) for key in distinct.tolist()], np.int64)[where]
        bad |= found == _MISSING
        return np.where(found == _MISSING, 0, found)

    def _remembered_offset(self, key: int) -> int:
        offset = self._offsets.get(key, _UNKNOWN)
        if offset == _UNKNOWN:
            if len(self._offsets) > 100_000:
                self._offsets.clear()
            offset = self._offsets[key] = self._zone_offset(key)
        return offset


def _columns_of(data: Bytes, starts: Ints, length: int) -> Bytes:
    """The first byte of every text, then the second, and so on: one row for each place in the text."""
    if len(starts) and starts[-1] - starts[0] == length * (len(starts) - 1):  # one right after the other
        matrix = data[starts[0] : starts[-1] + length].reshape(len(starts), length)
    else:
        matrix = data[starts[:, None] + np.arange(length)]
    return np.ascontiguousarray(matrix.T)


def _number(digits: Bytes, bad: Bools) -> Ints:
    """The number that rows of ASCII digits spell; where anything else stands, `bad` is set."""
    values = digits - np.uint8(48)  # anything below `0` wraps around to more than 9
    bad |= values.max(axis=0) > 9
    number: Ints = values[0].astype(np.int32)
    for row in values[1:]:
        number = number * 10 + row
    return number
