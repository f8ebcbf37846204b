"""Questions that people usually ask, kept as SQL: one file each, with what it asks and what can be given to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from smelter.contracts.ago import time_or_ago
from smelter.contracts.faults import printable
from smelter.contracts.misfit import nearest
from smelter.errors import Refused, SmelterError, Unreachable, WrongUsage
from smelter.explore.catalog import TableName
from smelter.explore.quoting import quoted_text
from smelter.explore.sql_files import SqlFile, flaw, read_sql_file, sql_paths

Value = str | int | float | datetime | None
_BRONZE = "bronze"
_KEYS = frozenset({"question", "about", "param", "chart", "needs"})
_PARAM = re.compile(r"(\w+) (varchar|bigint|double|timestamptz|dataset|table|status)(?: = ([^:]+))?: (.+)")
_STATUS = ("open", "replayed", "edited", "discarded")


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
        if text is None or self.kind in ("varchar", "dataset", "table", "status"):
            return text
        if self.kind == "timestamptz":
            return time_or_ago(text, f"--param {self.name}", datetime.now(UTC), joined="=")
        try:
            value = int(text) if self.kind == "bigint" else float(text)
        except ValueError:
            value = -1
        if not (0 <= value < 2**63):
            what = "a whole number of 0 or more" if self.kind == "bigint" else "a number of 0 or more"
            raise WrongUsage(
                f"--param {self.name}: `{printable(text)}` is not {what}", next_step=f"--param {self.name}=10"
            )
        return value

    def refuse_unknown(self, value: Value, tables: Collection[TableName]) -> None:
        """Refuse the name of something that the lake has not: no rows would look as if all were well."""
        datasets = {table.name for table in tables if table.namespace == _BRONZE}
        known = {"dataset": datasets, "table": set(map(str, tables)), "status": set(_STATUS)}.get(self.kind)
        if not known or value is None or value in known:
            return
        raise Refused(
            f"--param {self.name}: there is no {self.kind} `{printable(str(value))}`{nearest(str(value), known)}",
            data="nothing was asked",
            next_step=f"--param {self.name}= one of {', '.join(map(printable, sorted(known)))}",
        )


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

    def refuse_unknown(self, values: Mapping[str, Value], tables: Collection[TableName]) -> None:
        """Refuse a dataset, a table or a status that is not there."""
        for param in self.params:
            param.refuse_unknown(values[param.name], tables)

    def with_values(self, values: Mapping[str, Value]) -> str:
        """The statement with its values written into it, to be taken elsewhere."""
        names = "|".join(map(re.escape, values))
        if not names:
            return self.sql
        return re.sub(rf"\$({names})\b", lambda found: _literal(values[found[1]]), self.sql)


def questions(folder: Path) -> tuple[list[Question], list[SmelterError]]:
    """Every question of a folder, by name; and what is wrong with files that hold none."""
    found, flaws = [], []
    for path in _paths(folder).values():
        try:
            found.append(_question(read_sql_file(path, _KEYS)))
        except SmelterError as flaw_of_one:  # one's own mistake must not take the other questions away
            flaws.append(flaw_of_one)
    return found, flaws


def question_named(folder: Path, name: str) -> Question:
    """One question; another name is refused with the nearest."""
    paths = _paths(folder)
    if name in paths:
        return _question(read_sql_file(paths[name], _KEYS))
    raise Refused(
        f"there is no question `{printable(name)}`{nearest(name, paths, 0.5)}", where=str(folder), next_step="smelt ask"
    )


def _paths(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise Unreachable(
            "the folder of the questions is not there",
            where=str(folder),
            next_step="smelt settings shows where `duckdb` comes from",
        )
    return {path.stem: path for path in sql_paths(folder)}


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


def _literal(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, datetime):
        return f"timestamptz {quoted_text(value.isoformat(sep=' '))}"
    return quoted_text(value) if isinstance(value, str) else str(value)
