"""`smelt sql`: ask the lake's tables, with DuckDB."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.session import counted, session_of
from smelter.contracts.faults import printable
from smelter.errors import WrongUsage

if TYPE_CHECKING:
    from rich.console import JustifyMethod
    from rich.table import Table

    from smelter.explore import Answer

Cells = list[list[str | None]]  # None is NULL
_DEFAULT_LIMIT = 50
_WIDTHS = (80, 30)  # of a value in a table; the second is tried when the first does not fit
_WIDTH_ALONE = 400  # of a value that has a line to itself
_UNBOUNDED = 1_000_000  # the width of a file or a pipe
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(\d+,\d+\)|DOUBLE|FLOAT|BIGNUM")


class Format(StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("sql")(sql)


def sql(
    context: typer.Context,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="One query in DuckDB's SQL, or - for standard input.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to print the answer.")] = Format.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="Short for --format json.")] = False,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help=f"Rows to show in a table; {_DEFAULT_LIMIT} if not given."),
    ] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Allow everything DuckDB can do, such as reading and writing files.")
    ] = False,
) -> None:
    """Ask the lake's tables in SQL; `show tables` lists them.

    For example: smelt sql "select count(*) from bronze.events". Every query sees the newest snapshots.
    Without --unsafe it can read the lake's tables, and do nothing else.
    """
    from smelter.explore import connect
    from smelter.lake.layout import refuse_other_catalog, refuse_other_layout, refuse_unless_lake

    form = Format.JSON if as_json else form
    if limit is not None and form is not Format.TABLE:
        raise WrongUsage(
            f"--limit is for tables; {form} gives every row", next_step="write `limit N` at the end of the query"
        )
    text = _query_text(query)
    settings = session_of(context).settings
    refuse_unless_lake(settings.lake)
    refuse_other_layout(settings.lake)
    refuse_other_catalog(settings.lake, settings.catalog)
    with connect(settings.lake, unsafe=unsafe, catalog=settings.catalog) as explorer:
        _print(explorer.execute(text), form, limit or _DEFAULT_LIMIT)


def _query_text(query: str | None) -> str:
    if query is None:
        raise WrongUsage("a query is needed", next_step='smelt sql "show tables", or smelt sql --help')
    try:
        return sys.stdin.read() if query == "-" else query
    except UnicodeDecodeError as problem:
        raise WrongUsage(f"standard input is not text in UTF-8: {problem}") from None


def _print(answer: Answer, form: Format, limit: int) -> None:
    if form is Format.JSON:
        _print_json(answer)
    elif form is Format.CSV:
        _print_csv(answer)
    elif answer.columns == ["explain_key", "explain_value"]:
        for _, plan in answer:
            print("\n".join(map(printable, plan.rstrip("\n").split("\n"))))
    else:
        _print_for_people(answer, limit)


def _print_json(answer: Answer) -> None:
    """A list of objects, written as rows come, so that millions of them need no memory."""
    from smelter.explore.values import as_json, distinct_names

    names = distinct_names(answer.columns)
    opening = "[\n  "
    for row in answer:
        members = dict(zip(names, map(as_json, row), strict=True))
        sys.stdout.write(opening + json.dumps(members, ensure_ascii=False))
        opening = ",\n  "
    sys.stdout.write("[]\n" if opening == "[\n  " else "\n]\n")


def _print_csv(answer: Answer) -> None:
    from smelter.explore.values import csv_line

    rows = iter(answer)
    first = next(rows, None)  # so that an answer that fails has no header
    sys.stdout.write(csv_line(answer.columns))
    if first is not None:
        sys.stdout.write(csv_line(first))
    sys.stdout.writelines(map(csv_line, rows))


def _print_for_people(answer: Answer, limit: int) -> None:
    """A table, or one line for each value where a table would be wider than the terminal."""
    from smelter.explore.values import as_text

    rows = answer.fetchmany(limit + 1)
    cells = [[None if value is None else printable(as_text(value)) for value in row] for row in rows[:limit]]
    most = _print_table(answer, cells) or _print_lines(answer.columns, cells)
    if len(rows) > limit:
        print(f"the first {counted(limit, 'row')} of more: --limit N shows N of them, --format csv gives all")
    else:
        print(counted(len(cells), "row"))
    if any(len(cell) > most for row in cells for cell in row if cell):
        print("values that end in … are cut: --format json gives them whole")


def _print_table(answer: Answer, cells: Cells) -> int:
    """Print a table, if one fits; say how long its values may be, and 0 if none fits."""
    from rich.console import Console

    width = _width()
    console = Console(width=_UNBOUNDED, highlight=False, soft_wrap=True)
    for most in _WIDTHS:
        table = _table(answer, cells, most)
        if console.measure(table).maximum <= width:
            console.print(table)
            return most
    return 0


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _UNBOUNDED


def _table(answer: Answer, cells: Cells, most: int) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name, kind in zip(answer.columns, answer.types, strict=True):
        side: JustifyMethod = "right" if _NUMBER.fullmatch(kind) else "left"
        table.add_column(Text(_cut(printable(name), most)), justify=side, no_wrap=True)
    for row in cells:
        table.add_row(*(Text("NULL", "dim") if cell is None else Text(_cut(cell, most)) for cell in row))
    return table


def _print_lines(columns: Sequence[str], cells: Cells) -> int:
    """Print one line for each value; say how long they may be."""
    names = [printable(name) for name in columns]
    widest = max(map(len, names), default=0)
    for number, row in enumerate(cells, start=1):
        print(f"row {number:,}")
        for name, cell in zip(names, row, strict=True):
            print(f"  {name:<{widest}}  {'NULL' if cell is None else _cut(cell, _WIDTH_ALONE)}")
    return _WIDTH_ALONE


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
