"""The lock file of jars: one `group:artifact:version sha256` per line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import Unreachable

LINE = re.compile(r"([\w.-]+):([\w.-]+):([\w.-]+)\s+([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True)
class Jar:
    """One jar that must be there, with the hash it must have."""

    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def coordinate(self) -> str:
        """As Maven and Ivy name it."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file_name(self) -> str:
        """As Ivy calls the file."""
        return f"{self.group}_{self.artifact}-{self.version}.jar"


def read_lock(lock: Path) -> list[Jar]:
    """Every jar of the lock file, in order; a wrong line is refused with its number."""
    try:
        lines = lock.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        raise Unreachable(f"the list of jars cannot be read: {problem}", next_step="git restore include") from None
    jars: list[Jar] = []
    for number, line in enumerate(lines, start=1):
        entry = line.partition("#")[0].strip()
        if entry:
            jars.append(_jar(entry, f"{lock}:{number}"))
    _refuse_doubles(jars, lock)
    return jars


def _jar(entry: str, place: str) -> Jar:
    found = LINE.fullmatch(entry)
    if found is None:
        raise Unreachable(
            f"{place} is not `group:artifact:version sha256`: {entry}",
            next_step="mend the line; a hash has 64 of the digits 0-9a-f",
        )
    return Jar(*found.groups())


def _refuse_doubles(jars: list[Jar], lock: Path) -> None:
    names = [jar.file_name for jar in jars]
    for name in names:
        if names.count(name) > 1:
            raise Unreachable(f"{lock} names {name} twice", next_step="keep one of the two lines")
