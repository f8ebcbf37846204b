"""Files of SQL with a header: lines `-- key: value` at their top, which say what the statement below is for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from smelter.contracts.misfit import nearest
from smelter.errors import Refused, Unreachable

_LINE = re.compile(r"--\s*(\w+)\s*:\s*(.*?)\s*")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_NAME_RULE = "its name must be small letters, digits and _, and begin with a letter"


@dataclass(frozen=True)
class SqlFile:
    """One file: what its header says, key by key in order, and its statement."""

    path: Path
    header: Mapping[str, tuple[str, ...]]
    body: str

    @property
    def name(self) -> str:
        """What it is called: the file's name without `.sql`."""
        return self.path.stem

    def one(self, key: str) -> str:
        """The value of a key that is there once, or nothing."""
        values = self.header.get(key, ())
        if len(values) > 1:
            raise flaw(self.path, f"the header has `-- {key}: …` {len(values)} times")
        return values[0] if values else ""

    def needed(self, key: str) -> str:
        """The value of a key that must be there."""
        value = self.one(key)
        if not value:
            raise flaw(self.path, f"the header has no `-- {key}: …`")
        return value


def sql_paths(folder: Path) -> list[Path]:
    """Every `.sql` file of a folder, by name; none where there is no folder."""
    return sorted(folder.glob("*.sql"))


def read_sql_file(path: Path, keys: frozenset[str]) -> SqlFile:
    """Read one file; a key that has no meaning is refused, because its line would say something to nobody."""
    if _NAME.fullmatch(path.stem) is None:
        raise flaw(path, _NAME_RULE)
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise Unreachable(f"this file cannot be read: {problem}", where=str(path)) from problem
    header: dict[str, list[str]] = {}
    count = 0
    for count, key, value in _header_lines(lines):
        if key not in keys:
            raise flaw(path, f"line {count}: `{key}` has no meaning here{nearest(key, keys)}")
        header.setdefault(key, []).append(value)
    body = "\n".join(lines[count:]).strip().removesuffix(";")
    if not body:
        raise flaw(path, "there is no statement below the header")
    return SqlFile(path, {key: tuple(values) for key, values in header.items()}, body)


def flaw(path: Path, what: str) -> Refused:
    """What is wrong with a file of SQL."""
    return Refused(f"{path.name}: {what}", where=str(path), next_step="mend the file; duckdb/README.md tells its form")


def _header_lines(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """The lines at the top that have a key, with their numbers from 1; the first other line ends the header."""
    for number, line in enumerate(lines, start=1):
        found = _LINE.fullmatch(line)
        if found is None:
            return
        yield number, found[1], found[2]
