"""The lake as a script of SQL, for a DuckDB that is not ours: the shell's, or somebody's own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from smelter.errors import SmelterError
from smelter.explore.catalog import CATALOG_NAME, UNREADABLE, TableName, Tables
from smelter.explore.connection import places
from smelter.explore.extensions import NEEDED, packaged
from smelter.explore.facade import PLATFORM
from smelter.explore.quoting import qualified, quoted_name, quoted_text
from smelter.explore.saved_views import NAMESPACE
from smelter.explore.service import Service
from smelter.explore.sources import Pinned, Served, Sources
from smelter.explore.subjects import columns_of
from smelter.explore.views import LIST_OF_TABLES, VIEWS_CATALOG, twins_of, view_statements
from smelter.lake.letter_status import DEAD_LETTERS, LETTER_COLUMNS, RESOLUTION_COLUMNS, RESOLUTIONS

_WRONG_VERSION = (
    "this script is for DuckDB {version}: its extensions fit no other. Start a DuckDB {version}, or ask with smelt sql"
)


@dataclass(frozen=True)
class Script:
    """The parts of a script, in their order."""

    start: list[str]  # extensions, settings, the catalog
    views: list[str]
    lock: list[str]
    left_out: list[TableName]  # tables that cannot be opened

    def text(self) -> str:
        """One script, to be run from its top."""
        return "".join(f"{statement};\n" for statement in (*self.start, *self.views, *self.lock))


def served_script(service: Service, lake: Path, *, locked: bool) -> Script:
    """The live lake: every question sees the newest snapshots, as long as the service is there."""
    address, token = quoted_text(service.facade.address), quoted_text(service.facade.token)
    attach = [
        f"create or replace temporary secret lake_proxy (type http, scope {address}, http_proxy {address})",
        f"create or replace temporary secret lake_token (type iceberg, token {token})",
        f"attach or replace '' as {CATALOG_NAME} (type iceberg, endpoint {address}, secret lake_token, read_only)",
        "drop temporary secret lake_token",
    ]
    folders = ", ".join(map(quoted_text, places(lake, service.facade)))
    lock = [f"set allowed_directories = [{folders}]", "set enable_external_access = false"]
    tables, left_out = _opened(service.catalog)
    views = list(_views(tables, service, Served()))
    path = _search_path(VIEWS_CATALOG, CATALOG_NAME)
    return Script([*_start(), *attach], [*views, path], lock if locked else [], left_out)


def pinned_script(service: Service) -> Script:
    """The lake as it is now: the names of the newest metadata files are in the script."""
    sources = Pinned.of(service.catalog)
    tables, left_out = _opened(service.catalog, sources.files)
    views = list(_views(tables, service, sources))
    return Script(list(_start()), [*views, _search_path(VIEWS_CATALOG)], [], left_out)


def _start() -> Iterator[str]:
    version = duckdb.__version__
    wrong = quoted_text(_WRONG_VERSION.format(version=version))
    yield f"set variable smelter = (select error({wrong}) where version() <> {quoted_text(f'v{version}')})"
    yield from (f"load {quoted_text(str(packaged(name)))}" for name in NEEDED)
    yield "set TimeZone = 'UTC'"
    yield "set iceberg_use_metadata_log = false"
    yield f"attach if not exists ':memory:' as {VIEWS_CATALOG}"
    yield f"use {VIEWS_CATALOG}"


def _opened(
    catalog: Tables, files: Collection[TableName] | None = None
) -> tuple[frozenset[TableName], list[TableName]]:
    """Tables whose metadata can be read, and the others: a statement that fails would end the script."""
    every = frozenset(catalog.tables())
    readable = frozenset(table for table in every if _is_readable(catalog, table)) - twins_of(every)
    readable = readable if files is None else readable.intersection(files)
    return readable, sorted(every - readable)


def _views(tables: frozenset[TableName], service: Service, sources: Sources) -> Iterator[str]:
    catalog, saved = service.catalog, service.saved
    for namespace in sorted({NAMESPACE, *PLATFORM, *(table.namespace for table in tables)}):
        yield f"create schema if not exists {VIEWS_CATALOG}.{quoted_name(namespace)}"
    for table in sorted(tables):
        yield _fitting(view_statements(table, sources), table, tables, catalog)
    for name, statement in saved.statements(tables, catalog, sources):
        yield f"create or replace view {VIEWS_CATALOG}.{qualified(name)} as {statement}"
        yield f"comment on view {VIEWS_CATALOG}.{qualified(name)} is {quoted_text(saved.about(name))}"
    yield f"create or replace view {VIEWS_CATALOG}.main.tables as {LIST_OF_TABLES}"


def _search_path(*catalogs: str) -> str:
    """`bronze.events` is the view, or the table itself if it was made later."""
    places = [f"{catalog}.{namespace}" for namespace in PLATFORM for catalog in catalogs]
    return f"set search_path = {quoted_text(','.join([f'{VIEWS_CATALOG}.main', *places]))}"


def _fitting(statements: list[str], table: TableName, tables: Collection[TableName], catalog: Tables) -> str:
    """The first of them whose columns are there; here nobody tries which one can be made."""
    *better, plain = statements
    if not better or not _columns(catalog, table) >= LETTER_COLUMNS:
        return plain
    resolutions = TableName(DEAD_LETTERS, RESOLUTIONS)
    are_there = resolutions in tables and _columns(catalog, resolutions) >= RESOLUTION_COLUMNS
    return better[0] if are_there else better[-1]


def _columns(catalog: Tables, table: TableName) -> frozenset[str]:
    metadata = catalog.metadata(table)
    return columns_of(json.loads(metadata.content)) if metadata else frozenset()


def _is_readable(catalog: Tables, table: TableName) -> bool:
    try:
        metadata = catalog.metadata(table)
        return metadata is not None and bool(columns_of(json.loads(metadata.content)))
    except (*UNREADABLE, LookupError, SmelterError):
        return False
