"""`select * from bronze.events`: one view for each table of the catalog, kept in step with it; and the saved ones.

DuckDB binds a view anew at each query, so a view shows the newest snapshot and the newest columns by itself.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import duckdb

from smelter.errors import SmelterError
from smelter.explore.catalog import UNREADABLE, TableName, Tables
from smelter.explore.quoting import qualified, quoted_name, quoted_text
from smelter.explore.saved_views import NAMESPACE, SavedViews
from smelter.explore.sources import Served, Sources
from smelter.lake.letter_status import DEAD_LETTERS, RESOLUTIONS, status_sql

VIEWS_CATALOG = "memory"  # DuckDB's own name for what is in no file
LIST_OF_TABLES = f"""
  select schema_name as namespace, view_name as "table", coalesce(comment, '') as about from duckdb_views()
  where database_name = '{VIEWS_CATALOG}' and schema_name <> 'main' and not internal order by all
"""  # noqa: S608 (a name of our own)
_NO_RESOLUTIONS = """(
  select '' as dataset, '' as _source, 0::bigint as _position, '' as outcome, '' as run, '' as contract, '' as reason,
    current_timestamp as resolved_at, [{'rule': '', 'field': '', 'found': '', 'message': ''}] as errors, '' as raw,
    ''::blob as raw_bytes
  where false
)"""
_TWINS = "the catalog has two names for it that differ in small and capital letters only"


class Views:
    """The views of one DuckDB; threads may refresh them at once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, catalog: Tables, saved: SavedViews) -> None:
        self._connection = connection
        self._catalog = catalog
        self._saved = saved
        self._lock = threading.Lock()
        self._made: frozenset[TableName] = frozenset()
        self._broken: dict[TableName, str] = {}
        self._over: object = None  # what the saved views were last written for

    @property
    def made(self) -> frozenset[TableName]:
        """The tables that can be asked."""
        return self._made

    @property
    def known(self) -> frozenset[TableName]:
        """Everything that may stand behind a `from`."""
        return self._made | self.saved

    @property
    def saved(self) -> frozenset[TableName]:
        """The saved views; a table of the same name goes before."""
        return frozenset(self._saved.names) - self._made

    @property
    def broken(self) -> dict[TableName, str]:
        """A sentence for each table that cannot be opened; no view holds its rows."""
        told = {}
        for table in sorted(self._broken):
            try:
                told[table] = self.trouble_with(str(table))
            except SmelterError as problem:  # a moment of the past that is not kept
                told[table] = problem.what
        return {table: sentence for table, sentence in told.items() if sentence}

    def refresh(self, *, saved: bool = True) -> None:
        """Make views of new tables and drop those of tables that are gone; broken ones are tried anew.

        The saved ones look at every table when they are made, so a question that does not need them leaves them out.
        """
        with self._lock:
            before, tables = self._made, self._catalog.tables()
            twins = twins_of(tables)
            wanted = frozenset(tables) - twins
            with self._connection.cursor() as cursor:
                _drop(cursor, before - wanted)
                failed = _make(cursor, sorted(_to_make(wanted, before)))
                self._made = wanted - frozenset(failed)
                self._broken = self._saved.flaws | dict.fromkeys(twins, _TWINS) | failed
                if saved:
                    self._save(cursor)

    def write_anew(self) -> None:
        """Write the saved views anew: a column that they ask may have another name now."""
        self._over = None
        self.refresh()

    def _save(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Write the saved views anew, if there is something new that they are for."""
        over = self._saved.over(self._made)
        if over == self._over:
            return
        cursor.execute(f"create schema if not exists {VIEWS_CATALOG}.{quoted_name(NAMESPACE)}")
        self._over = over
        for name, statement in self._saved.statements(self._made, self._catalog, Served()):
            view = f"{VIEWS_CATALOG}.{qualified(name)}"
            try:
                cursor.execute(f"create or replace view {view} as {statement}")
                cursor.execute(f"comment on view {view} is {quoted_text(self._saved.about(name))}")
            except duckdb.Error as problem:  # a file of one's own, or a table that broke just now
                cursor.execute(f"drop view if exists {view}")
                self._broken[name] = str(problem)
                self._over = None

    def trouble_with(self, name: str) -> str | None:
        """Say which table of this name, full or short, cannot be opened, and why; nothing if there is none."""
        for table in sorted({*self._made, *self._broken, *self.saved}):
            why = self._why_broken(table) if name in (str(table), table.name) else None
            if why:
                return f"the table {table} cannot be opened: {why.splitlines()[0]}"
        return None

    def _why_broken(self, table: TableName) -> str | None:
        try:
            metadata = self._catalog.metadata(table)
            json.loads(metadata.content if metadata else b"{}")
        except (OSError, EOFError, zlib.error) as problem:
            return f"its metadata cannot be read: {problem}"
        except ValueError as problem:
            return f"its metadata is no JSON: {problem}"
        except UNREADABLE as problem:
            return f"its metadata is not that of a table: {problem!r}"
        return self._broken.get(table)


def twins_of(tables: Iterable[TableName]) -> frozenset[TableName]:
    """Tables that DuckDB cannot tell apart: it would show the rows of one under the name of the other."""
    seen = Counter(str(table).lower() for table in tables)
    return frozenset(table for table in tables if seen[str(table).lower()] > 1)


def _to_make(wanted: frozenset[TableName], made: frozenset[TableName]) -> frozenset[TableName]:
    """Tables that have no view; and letters, as soon as it is written down somewhere what became of them."""
    new = wanted - made
    if TableName(DEAD_LETTERS, RESOLUTIONS) in new:
        new |= {table for table in wanted if table.namespace == DEAD_LETTERS}
    return new


def _drop(cursor: duckdb.DuckDBPyConnection, tables: Iterable[TableName]) -> None:
    for table in tables:
        cursor.execute(f"drop view if exists {VIEWS_CATALOG}.{qualified(table)}")


def _make(cursor: duckdb.DuckDBPyConnection, tables: Iterable[TableName]) -> dict[TableName, str]:
    """One table that cannot be opened must not hide the others: it is returned with DuckDB's words."""
    failed = {}
    for table in tables:
        schema = f"{VIEWS_CATALOG}.{quoted_name(table.namespace)}"
        try:
            cursor.execute(f"create schema if not exists {schema}")
            _make_view(cursor, table)
        except duckdb.Error as problem:
            failed[table] = str(problem)
    return failed


def _make_view(cursor: duckdb.DuckDBPyConnection, table: TableName) -> None:
    """The best view that can be made: a lake that an earlier version made, or others, may lack what the first needs."""
    *better, plain = view_statements(table, Served())
    for statement in better:
        with suppress(duckdb.Error):
            cursor.execute(statement)
            return
    cursor.execute(plain)


def view_statements(table: TableName, sources: Sources) -> list[str]:
    """The table as it is; before that, dead letters with their status, by their resolutions and without these."""
    create = f"create or replace view {VIEWS_CATALOG}.{qualified(table)} as "
    rows = sources.rows(table)
    plain = f"{create} from {rows}"
    if table.namespace != DEAD_LETTERS or table.name == RESOLUTIONS:
        return [plain]
    with suppress(KeyError):  # a table that is not there has no file
        every = [sources.rows(TableName(DEAD_LETTERS, RESOLUTIONS)), _NO_RESOLUTIONS]
        return [*(create + status_sql(rows, resolutions, table.name) for resolutions in every), plain]
    return [create + status_sql(rows, _NO_RESOLUTIONS, table.name), plain]
