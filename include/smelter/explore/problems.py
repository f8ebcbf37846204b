"""What went wrong with a query? DuckDB's words, kept short, and with what the lake has where they do not help."""

from __future__ import annotations

import difflib
import re

import duckdb

from smelter.contracts.faults import printable
from smelter.errors import Refused, SmelterError, Unreachable
from smelter.explore.catalog import CATALOG_NAME
from smelter.explore.views import Views

_NO_TABLE = re.compile(r'Table with name "?(.+?)"? does not exist')
_CARET = re.compile(r"(LINE \d+: .*)\n( *)\^")
_NAME = re.compile(r'(?:"(?:[^"]|"")*"|[^\s,;()"])+')
# Tables of the platform that are made when there is something to write into them.
_COMES_WITH = {
    "ops.quality": "smelt silver of a dataset with checks",
    "ops.maintenance": "smelt maintain run that does something",
    "ops.ledger": "smelt maintain run that folds old records of batches",
    "ops.forgotten": "smelt forget",
    "ops.contracts": "smelt contract apply",
    "dead_letters.resolutions": "smelt ingest",
}
_AGAIN = "run it again: maintenance may have replaced files while they were read"
# What a different text of the query would not help.
_NOT_THE_QUERY = (
    duckdb.ConnectionException,
    duckdb.FatalException,
    duckdb.InternalException,
    duckdb.IOException,
    duckdb.OutOfMemoryException,
)


def as_smelter_error(problem: duckdb.Error, views: Views) -> SmelterError:
    """The error to raise in place of DuckDB's."""
    text = _printable(str(problem).strip())
    if isinstance(problem, duckdb.PermissionException):
        return Refused(
            "a query may read the lake's tables, and do nothing else",
            where=text.splitlines()[0],
            data="nothing was changed",
            next_step="name a table of the lake, or allow everything with --unsafe (in Python unsafe=True)",
        )
    if isinstance(problem, duckdb.InterruptException):
        # A thread that fails seems to stop the others by the flag of a Ctrl-C, and who reads may be told of that flag
        # and not of the failure (DuckDB 1.5.5, busy machine: 43 of 1,800 failing questions; one thread: 0 of 1,200).
        return Refused(
            "this question was stopped before its end: by somebody, or because a part failed that DuckDB did not name",
            data="nothing was changed; what was read so far is not the whole answer",
            next_step="ask it again",
        )
    if isinstance(problem, _NOT_THE_QUERY):
        return Unreachable(text, data="nothing was changed", next_step=_AGAIN)
    missing = _NO_TABLE.search(text) if isinstance(problem, duckdb.CatalogException) else None
    if missing is None:
        return Refused(text)
    return _no_table(missing[1], text, views)


def _no_table(short: str, text: str, views: Views) -> SmelterError:
    caret = _CARET.search(text)
    name = _name_at(caret[1], len(caret[2])) if caret else short
    shown = f"\n{caret[0]}" if caret else ""
    trouble = views.trouble_with(name)
    if trouble:
        return Unreachable(printable(trouble) + shown)
    if not views.made and name not in _COMES_WITH:
        return Refused(
            f"there is no table {name}: the lake has no tables yet{shown}", next_step="smelt ingest DATASET --drain"
        )
    if name in _COMES_WITH:
        return Refused(f"there is no table {name} yet: it comes with the first {_COMES_WITH[name]}{shown}")
    near = _nearest(name, sorted(printable(str(table)) for table in views.known))
    return Refused(f"there is no table {name}{near}{shown}", next_step='smelt sql "show tables" lists them')


def _name_at(line: str, position: int) -> str:
    """The name that DuckDB's caret points at, as the catalog spells it."""
    found = _NAME.match(line, position)
    name = found[0] if found else ""
    return name.replace('"', "").removeprefix(f"{CATALOG_NAME}.")


def _nearest(name: str, tables: list[str]) -> str:
    """`; did you mean …?` with the tables that are spelled most alike, with or without their namespace."""
    known = {table: [table] for table in tables}
    for table in tables:
        known.setdefault(table.partition(".")[2], []).append(table)
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f"; did you mean {' or '.join(known[near[0]])}?" if near else ""


def _printable(text: str) -> str:
    """Lines stay lines; what would move the cursor is written out."""
    return "\n".join(map(printable, text.split("\n")))
