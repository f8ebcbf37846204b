"""The lake as a script of SQL, for a DuckDB that is not ours: the shell's, or somebody's own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb

from smelter.explore.catalog import CATALOG_NAME, TableName, Tables
from smelter.explore.connection import places
from smelter.explore.extensions import NEEDED, packaged
from smelter.explore.facade import PLATFORM
from smelter.explore.quoting import qualified, quoted_name, quoted_text
from smelter.explore.saved_views import NAMESPACE, SavedViews
from smelter.explore.service import Service
from smelter.explore.sources import Pinned, Served, Sources
from smelter.explore.subjects import columns_of
from smelter.explore.views import VIEWS_CATALOG, twins_of, view_statements
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
    views = list(_views(service.catalog, service.saved, Served()))
    return Script([*_start(), *attach], [*views, _search_path()], lock if locked else [])


def pinned_script(service: Service) -> Script:
    """The lake as it is now: the names of the newest metadata files are in the script."""
    sources = Pinned.of(service.catalog)
    return Script(list(_start()), list(_views(service.catalog, service.saved, sources)), [])


def _start() -> Iterator[str]:
    version = duckdb.__version__
    wrong = quoted_text(_WRONG_VERSION.format(version=version))
    yield f"set variable smelter = (select error({wrong}) where version() <> {quoted_text(f'v{version}')})"
    yield from (f"load {quoted_text(str(packaged(name)))}" for name in NEEDED)
    yield "set TimeZone = 'UTC'"
    yield "set iceberg_use_metadata_log = false"
    yield f"attach if not exists ':memory:' as {VIEWS_CATALOG}"
    yield f"use {VIEWS_CATALOG}"


def _views(catalog: Tables, saved: SavedViews, sources: Sources) -> Iterator[str]:
    """Only of tables whose metadata can be read: a statement that fails would end the script."""
    tables = frozenset(filter(lambda table: _is_readable(catalog, table), catalog.tables()))
    tables -= twins_of(tables)
    for namespace in sorted({NAMESPACE, *PLATFORM, *(table.namespace for table in tables)}):
        yield f"create schema if not exists {VIEWS_CATALOG}.{quoted_name(namespace)}"
    for table in sorted(tables):
        yield _fitting(view_statements(table, sources), table, tables, catalog)
    for name, statement in saved.statements(tables, catalog, sources):
        yield f"create or replace view {VIEWS_CATALOG}.{qualified(name)} as {statement}"


def _search_path() -> str:
    """`bronze.events` is the view, or the table itself if it was made later."""
    places = [f"{VIEWS_CATALOG}.main"]
    for namespace in PLATFORM:
        places += [f"{VIEWS_CATALOG}.{namespace}", f"{CATALOG_NAME}.{namespace}"]
    return f"set search_path = {quoted_text(','.join(places))}"


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
        return metadata is not None and bool(json.loads(metadata.content)["schemas"])
    except (OSError, EOFError, ValueError, KeyError):
        return False
