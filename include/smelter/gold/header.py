"""The header of a model: lines `-- key: value` at the top of its file, each key once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from smelter.contracts.misfit import nearest
from smelter.contracts.names import name_problem
from smelter.contracts.times import seconds_of
from smelter.contracts.values import TRANSFORM, partition_name
from smelter.gold.shapes import Fixed, Sessions, Window, parse_window
from smelter.gold.statement import Flaw, handed_on, keys_of

KEYS = ("about", "source", "window", "grain", "partition", "keep_rows")
_OPTIONAL = ("partition", "keep_rows")
_LINE = re.compile(r"--\s*(\w+)\s*:\s*(.*?)\s*")
_SOURCE = re.compile(r"silver\.(\S+)")
_PARTS = re.compile(r",(?![^(]*\))")  # a comma that is not inside parentheses


@dataclass(frozen=True)
class Header:
    """What the top of a model's file says, and the line of each key."""

    about: str
    dataset: str
    window: Window
    grain: tuple[str, ...]
    partition: tuple[str, ...]
    lines: dict[str, int]
    end: int  # the line of the first word of SQL
    keep_rows: str | None = None  # how long rows are kept after their window has begun


def read_header(text: str) -> tuple[Header | None, list[Flaw]]:
    """Read the header; nothing if a key is missing or has no meaning, and everything that is wrong."""
    values, lines, end, flaws = _values(text)
    for key in KEYS:
        if key not in values and key not in _OPTIONAL:
            flaws.append(Flaw(1, f"the header has no `-- {key}: …`"))
    read: dict[str, object] = {}
    readers: dict[str, Callable[[str], object]] = {"source": _dataset, "window": parse_window, "grain": _names}
    for key, reader in (readers | {"partition": _transforms, "keep_rows": seconds_of}).items():
        try:
            read[key] = reader(values[key]) if key in values else ()
        except ValueError as problem:
            flaws.append(Flaw(lines[key], f"{key}: {problem}"))
    if flaws:
        return None, flaws
    window, grain, partition = read["window"], read["grain"], read["partition"]
    assert window is None or isinstance(window, Fixed | Sessions)
    assert isinstance(grain, tuple)
    assert isinstance(partition, tuple)
    keep_rows = values.get("keep_rows")
    return Header(values["about"], str(read["source"]), window, grain, partition, lines, end, keep_rows), []


def header_flaws(header: Header, columns: tuple[str, ...]) -> list[Flaw]:
    """Whether the header fits the columns that the statement gives."""
    flaws = []
    if header.keep_rows is not None and header.window is None:
        said = "keep_rows: a model without a window has no time by which rows could go"
        flaws.append(Flaw(header.lines["keep_rows"], said))
    for name in header.grain:
        if name not in columns:
            flaws.append(Flaw(header.lines["grain"], f"grain: there is no column `{name}`{nearest(name, columns)}"))
    for transform in header.partition:
        column = column_of(transform)
        if column not in columns:
            said = f"partition: there is no column `{column}`{nearest(column, columns)}"
            flaws.append(Flaw(header.lines["partition"], said))
        elif transform != column and (taken := partition_name(transform)) in columns:
            said = f"partition: `{taken}` is what tables call {transform}; give the column another name"
            flaws.append(Flaw(header.lines["partition"], said))
    for name in handed_on(header.window):
        if name not in columns:
            flaws.append(Flaw(header.end, f"the window asks for a column `{name}`, and there is none"))
    for name in keys_of(header.window):
        if name not in header.grain:
            flaws.append(Flaw(header.lines["grain"], f"grain: it must hold `{name}`, which tells the window"))
    return flaws


def column_of(transform: str) -> str:
    """The column of a partition such as `days(window_start)`."""
    match = TRANSFORM.fullmatch(transform)
    assert match is not None
    return str(match["time"] or match["bucket"] or match["plain"])


def _values(text: str) -> tuple[dict[str, str], dict[str, int], int, list[Flaw]]:
    """The keys of the lines at the top, the line of each, and the line where SQL begins."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    flaws: list[Flaw] = []
    all_lines = text.splitlines()
    top = list(takewhile(lambda line: line.startswith("--"), all_lines))
    for number, line in enumerate(top, start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            flaws.append(Flaw(number, "this is not `-- key: value`; an empty line ends the header"))
        elif match[1] not in KEYS:
            said = f"there is no key `{match[1]}`{nearest(match[1], KEYS)} (allowed: {', '.join(KEYS)})"
            flaws.append(Flaw(number, said))
        elif match[1] in values:
            flaws.append(Flaw(number, f"`{match[1]}` appears twice"))
        else:
            values[match[1]], lines[match[1]] = match[2], number
            flaws += [] if match[2] else [Flaw(number, f"{match[1]}: it is empty")]
    has_sql = (number for number, line in enumerate(all_lines, start=1) if line.strip() and not line.startswith("--"))
    end = next(has_sql, None)
    flaws += [] if end is not None else [Flaw(max(len(top), 1), "there is no SQL below the header")]
    return values, lines, end or len(top) + 1, flaws


def _dataset(text: str) -> str:
    match = _SOURCE.fullmatch(text)
    if match is None:
        raise ValueError(f"`{text}` is not a silver table; write silver.events")
    problem = name_problem(match[1])
    if problem:
        raise ValueError(problem)
    return match[1]


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for place, name in enumerate(names):
        problem = name_problem(name) or (f"`{name}` is named twice" if name in names[:place] else None)
        if problem:
            raise ValueError(problem)
    return names


def _transforms(text: str) -> tuple[str, ...]:
    transforms = tuple(part.strip() for part in _PARTS.split(text))
    for place, transform in enumerate(transforms):
        if TRANSFORM.fullmatch(transform) is None:
            raise ValueError(f"`{transform}` is not a partition; write days(window_start), bucket(16, user_id)")
        if transform in transforms[:place]:
            raise ValueError(f"`{transform}` is named twice")
    return transforms
