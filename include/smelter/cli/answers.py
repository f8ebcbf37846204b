"""How an answer is given: in which form, where to, and how much of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING

from smelter.cli.session import counted
from smelter.contracts.faults import printable
from smelter.errors import Refused, Unreachable, WrongUsage

if TYPE_CHECKING:
    from smelter.explore import Answer
    from smelter.explore.questions import Chart

DEFAULT_LIMIT = 50


class Format(StrEnum):
    """How an answer is given."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    MARKDOWN = "markdown"


_OF_SUFFIX = {
    ".csv": Format.CSV,
    ".json": Format.JSON,
    ".md": Format.MARKDOWN,
    ".parquet": Format.PARQUET,
    ".txt": Format.TABLE,
}


@dataclass(frozen=True)
class Wanted:
    """In what form, where to, and how many rows; `limit` is the wish, and nothing if there is none."""

    form: Format
    output: Path | None = None
    limit: int | None = None
    chart: Chart | None = None

    @property
    def as_text(self) -> frozenset[str]:
        """The types that Parquet or Python has no words for: a month would be thirty days, nanoseconds would go."""
        return frozenset({"INTERVAL"} if self.form is Format.PARQUET else {"INTERVAL", "TIMESTAMP_NS", "TIME_NS"})


def wanted_of(form: Format | None, as_json: bool, output: Path | None, limit: int | None, lake: Path) -> Wanted:
    """What the options mean together: a file's name tells its form, if nothing else does."""
    if output is not None and (not output.name or output.is_dir()):
        raise WrongUsage("--output names a folder, and an answer is a file", next_step="--output answer.csv")
    if as_json and form not in (None, Format.JSON):
        raise WrongUsage(f"--json and --format {form} are different forms", next_step="say one of them")
    if form is None and as_json:
        form = Format.JSON
    if form is None and output is not None:
        form = _OF_SUFFIX.get(output.suffix.lower())
        if form is None:
            endings = ", ".join(_OF_SUFFIX)
            raise WrongUsage(
                f"the name {printable(output.name)} does not tell its form: it ends with none of {endings}",
                next_step="say --format csv, json, parquet, markdown or table",
            )
    if form is Format.PARQUET and output is None and sys.stdout.isatty():
        raise WrongUsage("Parquet is not for a terminal", next_step="say where to: --output answer.parquet")
    if output is not None:
        refuse_ours(output, lake)
    return Wanted(form or Format.TABLE, output, limit)


def refuse_ours(output: Path, lake: Path) -> None:
    """A file in the lake would be read as a source, removed as a stray, or be in the place of the catalog."""
    if output.resolve().is_relative_to(lake.resolve()):
        raise Refused(
            "an answer is not written into the lake's own folder",
            where=str(output),
            data="nothing was written",
            next_step="name a file somewhere else",
        )


def give(answer: Answer, wanted: Wanted) -> int:
    """Give the answer; how many rows it has, or were shown.

    A file is there whole or not at all: it is written under another name, and then renamed.
    """
    if wanted.output is None:
        return _write(answer, wanted, sys.stdout)
    with whole_file(wanted.output.resolve()) as file:
        rows = _write(answer, wanted, file)
    print(f"{counted(rows, 'row')} written to {wanted.output}", file=sys.stderr)
    return rows


def _write(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    if wanted.form is Format.TABLE:
        from smelter.cli.answer_table import write_table

        # A file has all rows and whole values: nobody would see there that something is left out.
        limit = wanted.limit or (DEFAULT_LIMIT if wanted.output is None else None)
        return write_table(answer, file, limit=limit, is_whole=wanted.output is not None, chart=wanted.chart)
    from smelter.cli import answer_forms

    writers = {
        Format.CSV: answer_forms.write_csv,
        Format.JSON: answer_forms.write_json,
        Format.PARQUET: answer_forms.write_parquet,
        Format.MARKDOWN: answer_forms.write_markdown,
    }
    return writers[wanted.form](answer, wanted.limit, file)


@contextmanager
def whole_file(path: Path, *, is_secret: bool = False) -> Iterator[IO[str]]:
    """A file that takes its name when everything is in it and on the disk; a pipe or a device is written into."""
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8", newline="") as file:
                yield file
            return
        with _part_of(path, 0o600 if is_secret else 0o666) as file:
            yield file
    except (FileNotFoundError, NotADirectoryError, PermissionError) as problem:
        raise Unreachable(
            f"the file cannot be made: {(problem.strerror or str(problem)).lower()}",
            where=str(path),
            data="nothing was written",
            next_step="name a file in a folder that is there, and that you may write into",
        ) from problem


@contextmanager
def _part_of(path: Path, mode: int) -> Iterator[IO[str]]:
    part = path.with_name(f".{path.name}.{token_hex(4)}.part")
    try:
        opened = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(opened, "w", encoding="utf-8", newline="") as file:
            if path.exists():
                os.fchmod(opened, path.stat().st_mode & mode)
            yield file
            file.flush()
            os.fsync(opened)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
