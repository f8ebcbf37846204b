"""How is a value written? As JSON and as text, without loss: times in UTC, decimals in full, bytes in hex."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

_WHOLE = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")
_EMPTY = '""'  # an empty line would be skipped by readers
_QUOTED = re.compile('[,"\r\n]')


def as_json(value: Any) -> Any:
    """The value as JSON has it; what JSON has no word for becomes a text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _not_finite(value)
        case Decimal():
            return format(value, "f")
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case datetime() | date() | time():
            return _moment(value)
        case dict():
            return {as_text(key): as_json(member) for key, member in value.items()}
        case list() | tuple():
            return [as_json(member) for member in value]
        case _:
            return str(value)


def as_text(value: Any) -> str:
    """The value as one text: lists, structs and maps as JSON, nothing as `null`."""
    plain = as_json(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def csv_line(row: Sequence[Any]) -> str:
    """A line of CSV; NULL is empty, and an empty text is `""`. Like DuckDB's and PostgreSQL's it ends in LF."""
    line = ",".join(_csv_field(value) for value in row)
    return f"{line or _EMPTY}\n"


def csv_lines(rows: Sequence[Sequence[Any]], types: Sequence[str]) -> str:
    """The same lines for many rows, whose whole numbers are written without a look at each."""
    fields = (
        map(_csv_number if _WHOLE.fullmatch(kind) else _csv_field, column)
        for kind, column in zip(types, zip(*rows, strict=True), strict=True)
    )
    return "".join(f"{line or _EMPTY}\n" for line in map(",".join, zip(*fields, strict=True)))


def distinct_names(names: Iterable[str]) -> list[str]:
    """Names for the keys of an object: of two columns with one name, the second gets a number."""
    taken: dict[str, None] = {}  # in their order
    for name in names:
        number, free = 0, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken[free] = None
    return list(taken)


def _csv_number(value: int | None) -> str:
    return "" if value is None else str(value)


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else as_text(value)
    if text and _QUOTED.search(text) is None:
        return text
    return '"' + text.replace('"', '""') + '"'


def _moment(value: datetime | date | time) -> str:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return value.isoformat()


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
