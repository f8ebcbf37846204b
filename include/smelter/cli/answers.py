"""How an answer is given: as a table for people, as text for programs, or as a file."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from secrets import token_hex
from typing import IO, TYPE_CHECKING, Any

from smelter.cli.charts import bar
from smelter.cli.session import counted
from smelter.contracts.faults import printable
from smelter.errors import Refused, Unreachable, WrongUsage
from smelter.lake import layout

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

    from smelter.explore import Answer
    from smelter.explore.questions import Chart

Cells = list[list[str | None]]  # None is NULL
DEFAULT_LIMIT = 50
_WIDTHS = (80, 30)  # of a value in a table; the second is tried when the first does not fit
_WIDTH_ALONE = 400  # of a value that has a line to itself
_UNBOUNDED = 1_000_000  # the width of a file or a pipe
_ROWS_AT_ONCE = 50_000  # of a Parquet file: about one row group
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(\d+,\d+\)|DOUBLE|FLOAT|BIGNUM")
_OURS = (layout.TABLES, layout.RECEIPTS, layout.CHECKPOINTS)  # folders in which a stray file would be read or removed


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


def wanted_of(form: Format | None, as_json: bool, output: Path | None, limit: int | None, lake: Path) -> Wanted:
    """What the options mean together: a file's name tells its form, if nothing else does."""
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


def give(answer: Answer, wanted: Wanted) -> None:
    """Give the answer. A file is there whole or not at all: it is written under another name, and then renamed."""
    if wanted.output is None:
        _write(answer, wanted, sys.stdout)
        return
    with _whole_file(wanted.output) as file:
        rows = _write(answer, wanted, file)
    print(f"{counted(rows, 'row')} written to {wanted.output}", file=sys.stderr)


def _write(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    writers: dict[Format, Callable[[Answer, Wanted, IO[str]], int]] = {
        Format.TABLE: _write_table,
        Format.CSV: _write_csv,
        Format.JSON: _write_json,
        Format.PARQUET: _write_parquet,
        Format.MARKDOWN: _write_markdown,
    }
    return writers[wanted.form](answer, wanted, file)


@contextmanager
def _whole_file(path: Path) -> Iterator[IO[str]]:
    """A file that takes its name when everything is in it and on the disk."""
    part = path.with_name(f".{path.name}.{token_hex(4)}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except FileNotFoundError as problem:
        raise Unreachable("the folder of the file is not there", where=str(path.parent)) from problem
    finally:
        part.unlink(missing_ok=True)


def refuse_ours(output: Path, lake: Path) -> None:
    place = output.resolve()
    for name in _OURS:
        if place.is_relative_to((lake / name).resolve()):
            raise Refused(
                f"a file cannot be written into the lake's {name}: maintenance would take it for a stray",
                where=str(output),
                data="nothing was written",
                next_step="name a file somewhere else",
            )


def _first(answer: Answer, limit: int | None) -> Iterator[Sequence[Any]]:
    """The rows, or so many of them; the first is there before anything is written, so that an error has no header."""
    rows = iter(answer) if limit is None else itertools.islice(answer, limit)
    first = list(itertools.islice(rows, 1))
    return itertools.chain(first, rows)


def _write_json(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    """A list of objects, written as rows come, so that millions of them need no memory."""
    from smelter.explore.values import as_json, distinct_names

    names, count = distinct_names(answer.columns), 0
    for count, row in enumerate(_first(answer, wanted.limit), start=1):
        members = dict(zip(names, map(as_json, row), strict=True))
        file.write(("[\n  " if count == 1 else ",\n  ") + json.dumps(members, ensure_ascii=False))
    file.write("\n]\n" if count else "[]\n")
    return count


def _write_csv(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    from smelter.explore.values import csv_line

    rows, count = _first(answer, wanted.limit), 0
    file.write(csv_line(answer.columns))
    for count, row in enumerate(rows, start=1):  # noqa: B007
        file.write(csv_line(row))
    return count


def _write_markdown(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    """A table of GitHub's Markdown; signs that would end a cell are escaped."""
    from smelter.explore.values import as_text

    rows, count = _first(answer, wanted.limit), 0
    sides = ["---:" if _is_number(kind) else "---" for kind in answer.types]
    for line in ([_escaped(name) for name in answer.columns], sides):
        file.write(f"| {' | '.join(line)} |\n")
    for count, row in enumerate(rows, start=1):  # noqa: B007
        cells = ("" if value is None else _escaped(as_text(value)) for value in row)
        file.write(f"| {' | '.join(cells)} |\n")
    return count


def _escaped(text: str) -> str:
    return printable(text).replace("|", "\\|").replace("<", "&lt;")


def _write_parquet(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    """With DuckDB's own types, batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from smelter.explore.values import distinct_names

    count, names = 0, distinct_names(answer.columns)
    schema, batches = answer.typed_batches(_ROWS_AT_ONCE)
    file.flush()
    with pq.ParquetWriter(pa.PythonFile(file.buffer, mode="w"), _renamed(schema, names)) as writer:  # type: ignore[attr-defined]
        for batch in batches:
            kept = batch if wanted.limit is None else batch.slice(0, wanted.limit - count)
            writer.write_batch(kept.rename_columns(names))
            count += kept.num_rows
            if count == wanted.limit:
                break
    return count


def _renamed(schema: Any, names: Iterable[str]) -> Any:
    import pyarrow as pa

    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def _write_table(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    if answer.columns == ["explain_key", "explain_value"]:
        for _, plan in answer:
            print("\n".join(map(printable, plan.rstrip("\n").split("\n"))), file=file)
        return 1
    return _write_for_people(answer, wanted, file)


def _write_for_people(answer: Answer, wanted: Wanted, file: IO[str]) -> int:
    """A table, or one line for each value where a table would be wider than the terminal."""
    from smelter.explore.values import as_text

    limit = wanted.limit or DEFAULT_LIMIT
    rows = answer.fetchmany(limit + 1)
    shown = rows[:limit]
    cells = [[None if value is None else printable(as_text(value)) for value in row] for row in shown]
    columns = [(printable(name), _is_number(kind)) for name, kind in zip(answer.columns, answer.types, strict=True)]
    if wanted.chart is not None and shown:
        columns.append(("", False))
        for line, drawn in zip(cells, _bars(answer.columns.index(wanted.chart.value), shown), strict=True):
            line.append(drawn)
    most = _write_columns(columns, cells, file)
    if not most and wanted.chart is not None:  # in a narrow terminal the bars go before the other columns
        places = [answer.columns.index(name) for name in (wanted.chart.label, wanted.chart.value)]
        chosen = [*dict.fromkeys(places), -1]
        short = [[line[place] for place in chosen] for line in cells]
        most = _write_columns([columns[place] for place in chosen], short, file)
    if not most:
        most = _write_lines([name for name, _ in columns], cells, file)
    if len(rows) > limit:
        print(
            f"the first {counted(limit, 'row')} of more: --limit N shows N of them, --format csv gives all", file=file
        )
    else:
        print(counted(len(cells), "row"), file=file)
    if any(len(cell) > most for row in cells for cell in row if cell):
        print("values that end in … are cut: --format json gives them whole", file=file)
    return len(cells)


def _bars(place: int, rows: Sequence[Sequence[Any]]) -> list[str]:
    """A bar for each row, as long as its value's share of the largest."""
    values = [float(row[place] or 0) for row in rows]
    largest = max((abs(value) for value in values), default=0) or 1
    return [bar(value / largest) for value in values]


def _write_columns(columns: Sequence[tuple[str, bool]], cells: Cells, file: IO[str]) -> int:
    """Write a table, if one fits; say how long its values may be, and 0 if none fits."""
    from rich.console import Console

    width = _width(file)
    console = Console(file=file, width=_UNBOUNDED, highlight=False, soft_wrap=True)
    for most in _WIDTHS:
        table = _table(columns, cells, most)
        if console.measure(table).maximum <= width:
            console.print(table)
            return most
    return 0


def _width(file: IO[str]) -> int:
    return shutil.get_terminal_size().columns if file.isatty() else _UNBOUNDED


def _table(columns: Sequence[tuple[str, bool]], cells: Cells, most: int) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name, is_number in columns:
        side: JustifyMethod = "right" if is_number else "left"
        table.add_column(Text(_cut(name, most)), justify=side, no_wrap=True)
    for row in cells:
        table.add_row(*(Text("NULL", "dim") if cell is None else Text(_cut(cell, most)) for cell in row))
    return table


def _write_lines(names: Sequence[str], cells: Cells, file: IO[str]) -> int:
    """Write one line for each value; say how long they may be."""
    widest = max(map(len, names), default=0)
    for number, row in enumerate(cells, start=1):
        print(f"row {number:,}", file=file)
        for name, cell in zip(names, row, strict=True):
            print(f"  {name:<{widest}}  {'NULL' if cell is None else _cut(cell, _WIDTH_ALONE)}", file=file)
    return _WIDTH_ALONE


def _is_number(kind: str) -> bool:
    return _NUMBER.fullmatch(kind) is not None


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
