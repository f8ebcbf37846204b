"""The small texts of a contract, such as names, durations and zones: each is checked on its own here."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, WithJsonSchema

from smelter.contracts.misfit import nearest
from smelter.contracts.names import NAME, dataset_problem, field_problem, name_problem
from smelter.contracts.patterns import pattern_problem, shared_pattern_problem
from smelter.contracts.times import TimeFormat, seconds_of
from smelter.contracts.types import parse_type

ONE_ROW_PER_KEY = "one row per key"
TRANSFORM = re.compile(
    r"(?P<unit>years|months|days|hours)\((?P<time>\w+)\)|bucket\([1-9][0-9]{0,4}, ?(?P<bucket>\w+)\)|(?P<plain>\w+)",
    re.ASCII,
)
SHORTEST_SNAPSHOTS = 60  # seconds that a snapshot is kept at least
YOUNGEST_ORPHAN = 86_400  # seconds: whatever somebody configures, a younger file is left alone
_SIZE = re.compile(r"([1-9][0-9]{0,5})(KB|MB|GB)")
_BYTES = {"KB": 1000, "MB": 1000**2, "GB": 1000**3}
_NOT_IN_PATHS = re.compile(r"[*?{}\[\]\\\x00-\x1f\x7f]")  # Spark reads most of these as a pattern of names
_LAKE_PARTS = frozenset(
    {"catalog.db", "tables", "checkpoints", "receipts", "run", "archive", "quality", "trash", "smelter.toml"}
)
_CHECK_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_ -]{0,78}[A-Za-z0-9_])?")
_SHARE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)%")
_RECORDS = re.compile(r"([1-9][0-9]{0,8}) records|1 record")
_NOT_ZONES = re.compile(r"(posix|right)/.*|posixrules|localtime|Factory")


def _checked(problem_of: Callable[[str], str | None]) -> AfterValidator:
    def check(text: str) -> str:
        problem = problem_of(text)
        if problem:
            raise ValueError(problem)
        return text

    return AfterValidator(check)


def _a_duration(text: str) -> str:
    seconds_of(text)
    return text


def _timetable_problem(text: str) -> str | None:
    if 60 <= seconds_of(text) <= 86_400:
        return None
    return f"`{text}` is not from 1m to 24h, and nothing is drained on any other timetable; write 15m"


def _snapshot_age_problem(text: str) -> str | None:
    if seconds_of(text) >= SHORTEST_SNAPSHOTS:
        return None
    return f"`{text}` is too short: a reader that has just begun would lose its files; write 1m or longer"


def _orphan_age_problem(text: str) -> str | None:
    if seconds_of(text) >= YOUNGEST_ORPHAN:
        return None
    return f"`{text}` is too short: a file may be part of a slow write that has not ended; write 1d or longer"


def _size_problem(text: str) -> str | None:
    return None if _SIZE.fullmatch(text) else f"`{text}` is not a size; write 128MB"


def bytes_of(size: str) -> int:
    """`128MB` as a number."""
    return int(size[:-2]) * _BYTES[size[-2:]]


def partition_name(transform: str) -> str:
    """What tables call the partition field of `days(at)`: `at_day`. No column of the table can have that name."""
    match = TRANSFORM.fullmatch(transform)
    assert match is not None
    if match["unit"] is not None:
        return f"{match['time']}_{match['unit'].removesuffix('s')}"
    return f"{match['bucket']}_bucket" if match["bucket"] is not None else f"{match['plain']}_value"


def _zone_problem(name: str) -> str | None:
    try:
        ZoneInfo(name)
        is_zone = _NOT_ZONES.fullmatch(name) is None
    except (KeyError, ValueError, OSError):
        is_zone = False
    if is_zone:
        return None
    in_small = {zone.lower(): zone for zone in available_timezones()}
    near = nearest(name, in_small)
    hint = re.sub("`(.+)`", lambda match: f"`{in_small[match[1]]}`", near) or "; write one such as America/New_York"
    return f"`{name}` is not a time zone{hint}"


def share_of(value: str | float) -> float:
    """`5%` or 0.05 as a number from 0 to 1."""
    match = _SHARE.fullmatch(value) if isinstance(value, str) else None
    share = float(Decimal(match[1]).scaleb(-2)) if match else value  # 0.7 / 100 is less than 0.007
    if isinstance(share, str | bool) or not 0 <= share <= 1:
        raise ValueError(f"`{str(value).lower()}` is not a share; write 5% or 0.05")
    return share


def _a_share(value: str | float) -> str | float:
    share_of(value)
    return value


def records_of(text: str) -> int:
    """`1000 records` as a number from 1 on."""
    match = _RECORDS.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a number of records; write 1000 records")
    return int(match[1] or 1)


def _a_record_count(text: str) -> str:
    records_of(text)
    return text


def _check_name_problem(text: str) -> str | None:
    if text == ONE_ROW_PER_KEY:
        return f"`{text}` is the name of a check that every silver has"
    if _CHECK_NAME.fullmatch(text):
        return None
    return (
        f"`{text[:80]}` is not a check's name: letters, digits, `_`, and `-` or spaces between them, at most 80 in all"
    )


def _a_format(text: str) -> str:
    TimeFormat.parse(text)
    return text


def source_name_problem(text: str) -> str | None:
    """Say why records cannot have a field of this name, or None if they can."""
    if not text:
        return "a source's name cannot be empty"
    if re.search(r'["\\\x00-\x1f]', text):
        return f"{text!r} cannot be a source's name: quotes, backslashes and control characters are not read"
    return None


def _landing_problem(text: str) -> str | None:
    path = PurePosixPath(text)
    is_strange = text != text.strip() or _NOT_IN_PATHS.search(text) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|~", text)
    if is_strange or not path.parts or ".." in path.parts or path == PurePosixPath("/"):
        return f"`{text}` is not a folder of files; write landing/events"
    if path.parts[0] in _LAKE_PARTS:
        return f"`{text}` is where the lake keeps its own things; write landing/events"
    return None


def _transform_problem(text: str) -> str | None:
    if TRANSFORM.fullmatch(text):
        return None
    return f"`{text}` is not a partition; write days(_ingested_at), bucket(16, user_id) or a column"


_NAME_SCHEMA = WithJsonSchema({"type": "string", "pattern": f"^{NAME.pattern}$"})
TypeText = Annotated[str, AfterValidator(lambda text: str(parse_type(text)))]
Name = Annotated[str, _checked(name_problem), _NAME_SCHEMA]
FieldName = Annotated[str, _checked(field_problem), _NAME_SCHEMA]
Dataset = Annotated[str, _checked(dataset_problem), _NAME_SCHEMA]
Duration = Annotated[str, AfterValidator(_a_duration)]
Timetable = Annotated[str, _checked(_timetable_problem)]
SnapshotAge = Annotated[str, _checked(_snapshot_age_problem)]
OrphanAge = Annotated[str, _checked(_orphan_age_problem)]
Size = Annotated[str, _checked(_size_problem)]
Zone = Annotated[str, _checked(_zone_problem)]
Format = Annotated[str, AfterValidator(_a_format)]
Pattern = Annotated[str, _checked(pattern_problem)]
SharedPattern = Annotated[str, _checked(shared_pattern_problem)]
SourceName = Annotated[str, _checked(source_name_problem)]
LandingPath = Annotated[str, _checked(_landing_problem)]
Transform = Annotated[str, _checked(_transform_problem)]
CheckName = Annotated[str, _checked(_check_name_problem), WithJsonSchema({"type": "string", "maxLength": 80})]
RecordCount = Annotated[str, AfterValidator(_a_record_count)]
Value = str | int | float | bool
Share = Annotated[Value, AfterValidator(_a_share)]
