"""A catalog in PostgreSQL: a line to it, what went wrong on it, and which lake it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.catalog_address import CatalogAddress
from smelter.errors import Refused, Unreachable

if TYPE_CHECKING:
    from psycopg2.extensions import connection as Line  # noqa: N812

CATALOG_NAME = "lake"
_LOCK_SECONDS = 30
# Under a catalog name of its own, so that neither Spark nor PyIceberg takes it for a namespace of theirs.
_OWNER = ("smelter", CATALOG_NAME, "tables")


def open_line(address: CatalogAddress) -> Line:
    """A line on which each statement sees the newest state, and which leaves nothing open behind it."""
    import psycopg2

    line = psycopg2.connect(**address.libpq())
    line.autocommit = True
    with line.cursor() as cursor:
        cursor.execute("select set_config('lock_timeout', %s, false)", (f"{_LOCK_SECONDS * 1000:.0f}",))
    return line


@contextmanager
def asking(address: CatalogAddress) -> Iterator[Line]:
    """A line for a few questions; what goes wrong on it is one sentence."""
    import psycopg2

    try:
        line = open_line(address)
        try:
            yield line
        finally:
            line.close()
    except psycopg2.Error as problem:
        raise no_answer(problem, address) from problem


def no_answer(problem: Exception, address: CatalogAddress) -> Unreachable:
    """The catalog's database could not be asked; nothing depends on the answer yet."""
    return Unreachable(
        f"the catalog does not answer: {in_one_line(problem)}",
        where=str(address),
        data="nothing was changed",
        next_step="see that the database runs, and that user and password are right, then: smelt doctor",
    )


def in_one_line(problem: Exception) -> str:
    """What the database said; drivers say it in several lines."""
    return " ".join(str(problem).split())


def owner_of(line: Line) -> str | None:
    """The tables folder of the lake that the database belongs to; nothing if it is nobody's yet. Makes nothing."""
    import psycopg2.errors

    words = "select property_value from iceberg_namespace_properties"
    with line.cursor() as cursor:
        try:
            cursor.execute(f"{words} where catalog_name = %s and namespace = %s and property_key = %s", _OWNER)
        except psycopg2.errors.UndefinedTable:
            return None
        found = cursor.fetchone()
    return None if found is None else str(found[0])


def is_of(owner: str | None, tables: Path, address: CatalogAddress) -> bool:
    """Does the database belong to the lake with these tables? One that belongs to another is refused."""
    if owner is None or owner == str(tables):
        return owner is not None
    raise Refused(
        "the database is the catalog of another lake",
        where=f"{address} has the tables in {owner}, and this lake has its own in {tables}",
        data="nothing was changed",
        next_step="give each lake a database of its own (createdb), and name it in the setting `catalog`",
    )


def claim(line: Line, tables: Path, address: CatalogAddress) -> None:
    """Make the database this lake's, unless it is another's; of two that try at once, one is refused."""
    if is_of(owner_of(line), tables, address):
        return
    with line.cursor() as cursor:
        cursor.execute("select metadata_location from iceberg_tables where catalog_name = %s", (CATALOG_NAME,))
        places = [str(place).removeprefix("file://").removeprefix("file:") for (place,) in cursor.fetchall()]
        for place in places:
            is_of(str(tables) if Path(place).is_relative_to(tables) else place, tables, address)
        cursor.execute(
            "insert into iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)"
            " values (%s, %s, %s, %s) on conflict do nothing",
            (*_OWNER, str(tables)),
        )
    is_of(owner_of(line), tables, address)


def count_tables(line: Line) -> int:
    """How many tables the catalog names."""
    with line.cursor() as cursor:
        cursor.execute("select count(*) from iceberg_tables where catalog_name = %s", (CATALOG_NAME,))
        found = cursor.fetchone()
    return int(found[0]) if found else 0


def forget_lake(address: CatalogAddress, tables: Path) -> None:
    """Take the lake's tables out of the catalog, all or none; other catalogs in the database stay. Safe to repeat."""
    with asking(address) as line:
        line.autocommit = False
        with line, line.cursor() as cursor:
            if not is_of(owner_of(line), tables, address):
                return
            cursor.execute("delete from iceberg_tables where catalog_name = %s", (CATALOG_NAME,))
            cursor.execute("delete from iceberg_namespace_properties where catalog_name = %s", (CATALOG_NAME,))
            cursor.execute(
                "delete from iceberg_namespace_properties"
                " where catalog_name = %s and namespace = %s and property_key = %s",
                _OWNER,
            )
