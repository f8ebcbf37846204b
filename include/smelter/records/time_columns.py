"""Whole columns of times with numpy, by the position of their digits: a tenth of the cost of one at a time.

The rules are those of `times`; a property test holds the two together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from smelter.contracts.times import WIDTHS
from smelter.records.times import DAY_SECONDS, FIRST_MOMENT, LAST_MOMENT, LONGEST, MISSING, SECOND, TimeReader

Ints = npt.NDArray[np.signedinteger[Any]]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

_BIN_SECONDS = 60  # since 1973 every zone is whole minutes from UTC, and its clock changes on whole minutes
_BINS_SINCE = 94_694_400  # 1973-01-01
_MOST_REMEMBERED = 100_000


class TimeColumns:
    """Reads columns of one kind of time."""

    def __init__(self, reader: TimeReader) -> None:
        self._reader = reader
        self._offsets: dict[int, int] = {}

    def read(self, data: Bytes, starts: Ints, lengths: Ints) -> tuple[Ints, Bools]:
        """Moments of many texts, and which of them are none; texts are slices of `data`."""
        moments = np.zeros(len(starts), np.int64)
        bad = np.ones(len(starts), np.bool_)
        for length in np.unique(lengths).tolist():
            if length > LONGEST:
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
        if not self._reader.has_suffix or self._reader.zone:
            return [(slice(None), 0)]
        if len(matrix) < 20:
            return []
        with_z = (matrix[-1] | 0x20) == ord("z")
        if with_z.all():
            return [(slice(None), 1)]
        return [(with_z, 1), (~with_z, 6)]

    def _layout(self, width: int) -> tuple[dict[str, slice], list[tuple[int, int]]] | None:
        """Where the numbers stand and which literal bytes stand between them, for a text of `width` bytes."""
        parts = list(self._reader.parts)
        fixed = sum(1 if kind == "literal" else WIDTHS.get(name, 0) for kind, name in parts)
        spare = width - fixed
        if self._reader.has_suffix and spare:
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
            if wanted == ord("T") and self._reader.has_suffix:
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
        days = _days_from_civil(year, month, day)
        if self._reader.is_date:
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
        bad |= found == MISSING
        return np.where(found == MISSING, 0, found)

    def _remembered_offset(self, key: int) -> int:
        offset = self._offsets.get(key)
        if offset is None:
            if len(self._offsets) > _MOST_REMEMBERED:
                self._offsets.clear()
            offset = self._offsets[key] = self._reader.zone_offset(key)
        return offset


def _days_from_civil(year: Any, month: Any, day: Any) -> Any:
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
