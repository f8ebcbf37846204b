"""The catalog as PyIceberg sees it: one SQLite file, the same that Spark opens through JDBC under the same name."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import URL
from sqlalchemy.exc import DatabaseError, OperationalError

from smelter.errors import Unreachable

CATALOG_NAME = "lake"
BUSY_SECONDS = 60
logging.getLogger("pyiceberg").setLevel(logging.ERROR)  # it warns of each commit that it tries again, which is its job


def open_catalog(file: Path) -> SqlCatalog:
    """Open the catalog, and make it if it is not there; a second one that does the same finds it made."""
    with catalog_errors(str(file)):
        if not file.exists():
            _make_wal(file)
        uri = URL.create("sqlite", database=str(file), query={"timeout": str(BUSY_SECONDS)})  # no character is special
        return SqlCatalog(CATALOG_NAME, uri=uri, schema_version="v1")  # type: ignore[arg-type]


def _make_wal(file: Path) -> None:
    """Readers never wait for a writer: a property of the file, so it is set once."""
    with closing(sqlite3.connect(file, timeout=BUSY_SECONDS)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


@contextmanager
def catalog_errors(where: str) -> Iterator[None]:
    """A catalog that is locked, full or damaged is told in one sentence; whatever was prepared is still prepared."""
    try:
        yield
    except (OperationalError, DatabaseError, sqlite3.DatabaseError) as problem:
        said = str(getattr(problem, "orig", None) or problem)
        busy = "locked" in said
        raise Unreachable(
            f"the catalog was locked for {BUSY_SECONDS} s" if busy else f"the catalog cannot be used: {said}",
            where=where,
            data="what was committed before stays committed; a batch that was prepared is finished at the next start",
            next_step="find who holds it (lsof), then run it again" if busy else "smelt doctor",
        ) from problem
