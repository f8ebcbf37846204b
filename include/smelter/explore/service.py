"""A lake's catalog, open and served: what every DuckDB that asks it is given, ours or somebody's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from smelter.catalog_address import CatalogAddress, parse_address
from smelter.contracts.ago import time_or_ago
from smelter.errors import WrongUsage
from smelter.explore.as_of import AsOf, PastCatalog, moment_of_newest, moment_of_snapshot
from smelter.explore.catalog import CATALOG_FILE, RECEIPTS_FOLDER, Catalog, Database, Tables
from smelter.explore.databases import PostgresDatabase, SqliteFile
from smelter.explore.facade import Facade
from smelter.explore.saved_views import SavedViews
from smelter.settings import Settings

NOW = "now"  # the newest snapshots, and none that come later
VIEWS_FOLDER, QUESTIONS_FOLDER = "views", "questions"


@dataclass(frozen=True)
class Service:
    """A catalog that is served, and the views that go with it."""

    catalog: Tables
    facade: Facade
    saved: SavedViews
    as_of: AsOf | None


@contextmanager
def serve(settings: Settings, at: str | int | datetime | None = None) -> Iterator[Service]:
    """Serve the lake's catalog until the end of the block; as it was at a moment of the past, if one is named."""
    database = _database(settings.lake, settings.catalog)
    try:
        catalog: Tables = Catalog(database)
        as_of = None if at is None else _as_of(catalog, at)
        if as_of is not None:
            catalog = PastCatalog(catalog, as_of)
        facade = Facade(catalog)
        try:
            moment = as_of.moment.isoformat() if as_of else None
            saved = SavedViews(settings.duckdb / VIEWS_FOLDER, settings.lake.absolute() / RECEIPTS_FOLDER, moment)
            yield Service(catalog, facade, saved, as_of)
        finally:
            facade.close()
    finally:
        database.close()


def address_of(catalog: CatalogAddress | str) -> CatalogAddress:
    """The address of a PostgreSQL catalog, as somebody gave it."""
    try:
        return parse_address(catalog) if isinstance(catalog, str) else catalog
    except ValueError as problem:
        raise WrongUsage(f"`catalog` cannot be used: {problem}") from None


def _database(lake: Path, catalog: CatalogAddress | None) -> Database:
    if catalog is not None:
        return PostgresDatabase(catalog, lake)
    file = SqliteFile(lake.absolute() / CATALOG_FILE)
    file.refuse_if_left()
    return file


def _as_of(catalog: Tables, at: str | int | datetime) -> AsOf:
    """What was meant: a moment, or the number of a snapshot."""
    if at == NOW:
        return moment_of_newest(catalog)
    if isinstance(at, int) or (isinstance(at, str) and at.isdecimal()):
        return moment_of_snapshot(catalog, int(at))
    now = datetime.now(UTC)
    moment = time_or_ago(at.isoformat() if isinstance(at, datetime) else at, "--at", now)
    if moment > now:
        raise WrongUsage(f"{moment.isoformat()} is in the future", next_step="leave --at out to see what is now")
    return AsOf(moment)
