"""The catalog as PyIceberg sees it: a SQLite file or a PostgreSQL database, the same that Spark opens through JDBC."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

import psycopg2.errors
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from sqlalchemy import URL, event, select, text
from sqlalchemy.exc import DBAPIError

from smelter.catalog_address import CatalogAddress
from smelter.errors import Unreachable
from smelter.postgres import CATALOG_NAME, asking, claim, in_one_line

BUSY_SECONDS = 60
_FIRST_USE = 0x736D656C74  # the number of the lock under which the tables of a catalog are made
logging.getLogger("pyiceberg").setLevel(logging.ERROR)  # it warns of each commit that it tries again, which is its job


def open_catalog(file: Path) -> SqlCatalog:
    """Open the catalog, and make it if it is not there; a second one that does the same finds it made."""
    with catalog_errors(str(file)):
        if not file.exists():
            _make(file)
        return _opened(file)


def _opened(file: Path) -> SqlCatalog:
    uri = URL.create("sqlite", database=str(file), query={"timeout": str(BUSY_SECONDS)})  # no character is special
    return SqlCatalog(CATALOG_NAME, uri=uri, schema_version="v1")  # type: ignore[arg-type]


def open_database(address: CatalogAddress, tables: Path) -> SqlCatalog:
    """Open the catalog of the lake with these tables, and make it if it is not there; another lake's is refused."""
    uri = URL.create(
        "postgresql+psycopg2",
        username=address.user,
        password=address.password,
        host=address.host,
        port=address.port,
        database=address.database,
        query=address.habits(),
    )
    with catalog_errors(str(address)):
        catalog = _PostgresCatalog(CATALOG_NAME, uri=uri, schema_version="v1", pool_pre_ping="true")  # type: ignore[arg-type]
        del catalog.properties["uri"]  # tables carry the properties of their catalog with them: not the password
    with asking(address) as line:
        claim(line, tables, address)
    return catalog


def metadata_places(catalog: SqlCatalog, where: str) -> dict[str, str]:
    """Where the metadata of every table lies, in whatever namespace, by its name; no table is opened."""
    columns = IcebergTables.table_namespace, IcebergTables.table_name, IcebergTables.metadata_location
    with catalog_errors(where), catalog.engine.connect() as line:
        rows = line.execute(select(*columns)).all()
    return {f"{space}.{name}": real_path(place) for space, name, place in rows if place is not None}


def local_path(location: str) -> Path:
    """A location of a table as a path; they are plain, or URIs of files where Spark wrote them."""
    return Path(location.removeprefix("file://").removeprefix("file:"))


def real_path(location: str) -> str:
    """A location as the kernel calls it, without links."""
    return os.path.realpath(local_path(location))


class _PostgresCatalog(SqlCatalog):
    """One at a time makes the tables of the catalog: two at once would fail on each other."""

    def _init_catalog(self) -> None:
        event.listen(self.engine, "connect", _settle)
        with self.engine.begin() as line:
            line.execute(text("select pg_advisory_xact_lock(:number)"), {"number": _FIRST_USE})
            super()._init_catalog()


def _settle(line: Any, _record: object) -> None:
    """How each line behaves, whatever the database's own defaults: a commit that was answered is on the disk.

    PyIceberg swaps a table's metadata by `update … where metadata_location = <the old one>`. Under READ COMMITTED
    whoever waited for another swap then finds no such row, a conflict that it tries again; stricter levels would fail.
    """
    line.set_session(isolation_level="READ COMMITTED")
    with line.cursor() as cursor:
        cursor.execute("select set_config('lock_timeout', %s, false)", (f"{BUSY_SECONDS * 1000:.0f}",))
        cursor.execute(
            "select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'"
        )
    line.commit()


def _make(file: Path) -> None:
    """Made under another name, whole, and then given its own: of two that do so at once one finds the other's.

    Readers never wait for a writer (WAL): a property of the file, so it is set once.
    """
    aside = file.with_name(f".{file.name}.{token_hex(4)}")
    try:
        with closing(sqlite3.connect(aside, timeout=BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        _opened(aside).engine.dispose()
        with suppress(FileExistsError):
            os.link(aside, file)
    finally:
        for name in ("", "-wal", "-shm"):
            aside.with_name(f"{aside.name}{name}").unlink(missing_ok=True)


@contextmanager
def catalog_errors(where: str) -> Iterator[None]:
    """A catalog that is gone, locked, full or damaged is one sentence; whatever was prepared is still prepared."""
    try:
        yield
    except (DBAPIError, sqlite3.DatabaseError, psycopg2.Error) as problem:
        cause = problem.orig if isinstance(problem, DBAPIError) and problem.orig is not None else problem
        said = in_one_line(Exception(str(cause)))
        busy = isinstance(cause, psycopg2.errors.LockNotAvailable) or "locked" in said
        holder = "lsof" if isinstance(cause, sqlite3.Error) else "pg_stat_activity"
        raise Unreachable(
            f"the catalog was locked for {BUSY_SECONDS} s" if busy else f"the catalog cannot be used: {said}",
            where=where,
            data="what was committed before stays committed; a batch that was prepared is finished at the next start",
            next_step=f"find who holds it ({holder}), then run it again" if busy else "smelt doctor",
        ) from problem
