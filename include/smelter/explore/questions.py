"""Questions that people usually ask, kept as SQL: one file each, with what it asks and what can be given to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from smelter.contracts.ago import time_or_ago
from smelter.contracts.faults import printable
from smelter.contracts.misfit import nearest
from smelter.errors import Refused, WrongUsage
from smelter.explore.sql_files import SqlFile, flaw, sql_files

Value = str | int | float | datetime | None
_KEYS = frozenset({"question", "about", "param", "chart", "needs"})
_PARAM = re.compile(r"(\w+) (varchar|bigint|double|timestamptz)(?: = ([^:]+))?: (.+)")


@dataclass(frozen=True)
class Param:
    """A value that may be given to a question; NULL if there is none and no default."""

    name: str
    kind: str
    default: str | None
    about: str

    def value_of(self, text: str | None) -> Value:
        """The value that a text means."""
        text = self.default if text is None else text
        if text is None or self.kind == "varchar":
            return text
        try:
            return _READ[self.kind](text)
        except ValueError:
            what = "a whole number" if self.kind == "bigint" else "a number"
            raise WrongUsage(f"--param {self.name}: `{printable(text)}` is not {what}") from None


@dataclass(frozen=True)
class Chart:
    """Which column names the bars, and which says how long they are."""

    label: str
    value: str


@dataclass(frozen=True)
class Question:
    """One file of `duckdb/questions`."""

    name: str
    question: str
    about: tuple[str, ...]
    params: tuple[Param, ...]
    chart: Chart | None
    needs: tuple[str, ...]  # tables without which it has no answer
    sql: str

    def values(self, given: Mapping[str, str]) -> dict[str, Value]:
        """What is bound in the statement: what was given, else the defaults."""
        names = [param.name for param in self.params]
        for name in given:
            if name not in names:
                takes = f"it takes {', '.join(names)}" if names else "it takes none"
                raise WrongUsage(f"{self.name} has no parameter `{printable(name)}`{nearest(name, names)}: {takes}")
        return {param.name: param.value_of(given.get(param.name)) for param in self.params}


def questions(folder: Path) -> list[Question]:
    """Every question of a folder, by name."""
    return [_question(file) for file in sql_files(folder, _KEYS)]


def question_named(folder: Path, name: str) -> Question:
    """One question; another name is refused with the nearest."""
    known = {question.name: question for question in questions(folder)}
    if name in known:
        return known[name]
    raise Refused(
        f"there is no question `{printable(name)}`{nearest(name, known, 0.5)}", where=str(folder), next_step="smelt ask"
    )


def _question(file: SqlFile) -> Question:
    params = []
    for text in file.header.get("param", ()):
        found = _PARAM.fullmatch(text)
        if found is None:
            raise flaw(file.path, f"`-- param: {text}` must be `-- param: NAME TYPE = DEFAULT: what it is`")
        params.append(Param(*found.groups()))
    label, _, value = (word.strip() for word in file.one("chart").partition(","))
    chart = Chart(label, value) if label and value else None
    needs = tuple(word.strip() for word in file.one("needs").split(",") if word.strip())
    about = file.header.get("about", ())
    return Question(file.name, file.needed("question"), about, tuple(params), chart, needs, file.body)


def _ago(text: str) -> datetime:
    return time_or_ago(text, "--param", datetime.now(UTC))


_READ: dict[str, Callable[[str], Value]] = {"bigint": int, "double": float, "timestamptz": _ago}
