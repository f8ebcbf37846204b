"""An answer for people: a table that fits the terminal, with bars where it is a distribution."""

from __future__ import annotations

import math
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

from smelter.cli.charts import WIDTH as BAR_WIDTH
from smelter.cli.charts import bar
from smelter.cli.session import counted
from smelter.contracts.faults import printable
from smelter.explore.values import as_text

if TYPE_CHECKING:
    from smelter.explore import Answer
    from smelter.explore.questions import Chart

_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(\d+,\d+\)|DOUBLE|FLOAT|BIGNUM")
_ADDRESS = re.compile(r"[a-z0-9]+://?")  # what tells such values apart is at their ends
_BAR = "bar"
_GAP = "  "
_WIDEST, _WIDEST_ALONE = 80, 400  # of a value, in a table and on a line of its own
_NARROWEST = 12
_SHORTEST_BAR = 8
_FEW = 3  # so many rows that do not fit are written line by line
_CUT = "values with … are cut: --format json gives them whole"
_MORE_OF_THE_END = 3  # an address keeps so much more of its end than of its beginning


@dataclass(frozen=True)
class _Column:
    """One column as text; NULL is None."""

    name: str
    kind: str
    cells: Sequence[str | None]
    must_stay: bool = False

    @property
    def is_number(self) -> bool:
        """Does it stand at the right?"""
        return is_number(self.kind)

    @property
    def is_short(self) -> bool:
        """A number or a time is never cut, its name may be."""
        return self.is_number or self.kind.startswith(("TIME", "DATE")) or self.kind == _BAR

    @cached_property
    def longest(self) -> int:
        """The length of its longest value."""
        return max((_length("NULL" if cell is None else cell) for cell in self.cells), default=0)

    def width(self, most: int | None) -> int:
        """How wide it is if its texts are cut at `most`."""
        if most is None:
            return max(self.longest, _length(self.name))
        return max(self.longest if self.is_short else min(self.longest, most), min(_length(self.name), most))


def write_table(answer: Answer, file: IO[str], *, limit: int | None, is_whole: bool, chart: Chart | None) -> int:
    """Write a table of the first rows, and say what is left out; `is_whole` cuts no value. Returns the rows shown."""
    if answer.columns == ["explain_key", "explain_value"]:
        for _, plan in answer:
            print("\n".join(map(printable, plan.rstrip("\n").split("\n"))), file=file)
        return 1
    rows = answer.fetchall() if limit is None else answer.fetchmany(limit + 1)
    shown = rows[:limit]
    columns = _columns_of(answer, shown, chart)
    drawn = partial(_bar_column, answer, shown, chart) if chart is not None and shown else None
    _write_fitting(columns, drawn, len(shown), None if is_whole else _width(file), file)
    if len(rows) > len(shown):
        print(f"the first {counted(len(shown), 'row')} of more: --limit N, or --format csv for all", file=file)
    else:
        print(counted(len(shown), "row"), file=file)
    return len(shown)


def is_number(kind: str) -> bool:
    """Is this DuckDB's name of a type of numbers?"""
    return _NUMBER.fullmatch(kind) is not None


def _columns_of(answer: Answer, rows: Sequence[Sequence[Any]], chart: Chart | None) -> list[_Column]:
    columns = []
    named = (chart.label, chart.value) if chart else ()
    for place, (name, kind) in enumerate(zip(answer.columns, answer.types, strict=True)):
        cells = [None if row[place] is None else printable(as_text(row[place])) for row in rows]
        columns.append(_Column(printable(name), kind, cells, must_stay=name in named))
    return columns


def _bar_column(answer: Answer, rows: Sequence[Sequence[Any]], chart: Chart, width: int) -> _Column:
    """A bar for each row, as long as its value's share of the largest."""
    place = answer.columns.index(chart.value)
    values = [value if math.isfinite(value := float(row[place] or 0)) else 0.0 for row in rows]
    largest = max((abs(value) for value in values), default=0) or 1
    cells = [bar(value / largest, width) for value in values]
    return _Column(_cut(chart.value, width), _BAR, cells)


def _write_fitting(
    columns: list[_Column], drawn: Callable[[int], _Column] | None, rows: int, width: int | None, file: IO[str]
) -> None:
    """The widest form that fits: a table, a table whose texts are cut, a few lines per row, or fewer columns."""
    if width is None:
        _write_rows([*columns, *([drawn(BAR_WIDTH)] if drawn else [])], None, file)
        return
    most = _most(columns, width - _SHORTEST_BAR - len(_GAP)) if drawn else None
    most = most or _most(columns, width)
    if most is None and drawn is None and rows <= _FEW:
        _write_lines(columns, rows, file)
        return
    shown = list(columns)
    while most is None and (away := _next_to_hide(shown)) is not None:
        del shown[away]
        most = _most(shown, width)
    most = most or _NARROWEST
    hidden = [column.name for column in columns if all(column is not other for other in shown)]
    left = width - _total(shown, most) - len(_GAP)
    if drawn and left >= _SHORTEST_BAR:
        shown.append(drawn(min(left, BAR_WIDTH)))
    was_cut = _write_rows(shown, most, file)
    if hidden:
        more = f"without {', '.join(hidden)}: a wider terminal or --format json has them"
        print(textwrap.fill(more, width, break_long_words=False), file=file)
    if was_cut:
        print(_CUT, file=file)


def _most(columns: Sequence[_Column], width: int) -> int | None:
    """The widest that texts may be, so that the table fits; nothing where even the narrowest does not."""
    for most in range(_WIDEST, _NARROWEST - 1, -1):
        if _total(columns, most) <= width:
            return most
    return None


def _total(columns: Sequence[_Column], most: int) -> int:
    return sum(column.width(most) for column in columns) + len(_GAP) * (len(columns) - 1)


def _next_to_hide(columns: Sequence[_Column]) -> int | None:
    """From the middle, so that the first and the last stay longest."""
    can_go = [place for place, column in enumerate(columns) if not column.must_stay]
    if len(columns) <= 1 or not can_go:
        return None
    middle = (len(columns) - 1) / 2
    return min(can_go, key=lambda place: (abs(place - middle), -place))


def _write_rows(columns: Sequence[_Column], most: int | None, file: IO[str]) -> bool:
    """Write the table; was anything cut?"""
    widths = [column.width(most) for column in columns]
    null = "\x1b[2mNULL\x1b[0m" if file.isatty() and not os.environ.get("NO_COLOR") else "NULL"
    names = [_cut(column.name, width) for column, width in zip(columns, widths, strict=True)]
    pairs = list(zip(columns, widths, strict=True))
    print(_line(_padded(name, *pair) for name, pair in zip(names, pairs, strict=True)), file=file)
    print(_GAP.join("─" * width for width in widths), file=file)
    was_cut = any(name != column.name for name, column in zip(names, columns, strict=True))
    for cells in zip(*(column.cells for column in columns), strict=True):
        texts = []
        for cell, (column, width) in zip(cells, pairs, strict=True):
            text = "NULL" if cell is None else _cut(cell, width)
            was_cut = was_cut or (cell is not None and text != cell)
            padded = _padded(text, column, width)
            texts.append(padded.replace("NULL", null) if cell is None else padded)
        print(_line(texts), file=file)
    return was_cut


def _line(texts: Iterable[str]) -> str:
    return _GAP.join(texts).rstrip()


def _padded(text: str, column: _Column, width: int) -> str:
    space = " " * (width - _length(text))
    return space + text if column.is_number else text + space


def _write_lines(columns: Sequence[_Column], rows: int, file: IO[str]) -> None:
    """One line for each value."""
    widest = max((_length(column.name) for column in columns), default=0)
    was_cut = False
    for number in range(rows):
        print(f"row {number + 1:,}", file=file)
        for column in columns:
            cell = column.cells[number]
            text = "NULL" if cell is None else _cut(cell, _WIDEST_ALONE)
            was_cut = was_cut or (cell is not None and text != cell)
            print(f"  {column.name}{' ' * (widest - _length(column.name))}  {text}", file=file)
    if was_cut:
        print(_CUT, file=file)


def _width(file: IO[str]) -> int:
    """Of the terminal; a pipe has room enough, and values of any length are cut there too."""
    return shutil.get_terminal_size().columns if file.isatty() else 1_000_000


def _length(text: str) -> int:
    """The places that it takes in a terminal: two for a sign of East Asia."""
    from rich.cells import cell_len

    return len(text) if text.isascii() else cell_len(text)


def _cut(text: str, most: int) -> str:
    """The text, or as much of it as there is room for; of an address the end too, which tells it from others."""
    if _length(text) <= most:
        return text
    if not text.isascii():
        from rich.cells import set_cell_size

        return set_cell_size(text, most - 1) + "…"
    if _ADDRESS.match(text):
        head = (most - 1) // (_MORE_OF_THE_END + 1)
        return text[:head] + "…" + text[head + 1 - most :]
    return text[: most - 1] + "…"
