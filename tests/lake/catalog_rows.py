"""What a database holds as a catalog, seen from outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from postgres_server import PostgresServer
from smelter.catalog_address import CatalogAddress

Smelt = Callable[..., tuple[int, str, str]]


def rows_of(postgres: PostgresServer, address: CatalogAddress) -> list[tuple[Any, ...]]:
    """Everything that the database holds, to see that it stayed as it was."""
    words = "select catalog_name, table_namespace, table_name, metadata_location from iceberg_tables order by 1, 2, 3"
    more = (
        "select catalog_name, namespace, property_key, property_value from iceberg_namespace_properties order by 1, 2"
    )
    return [row for one in (words, more) for row in postgres.ask(one, database=address.database)]


def made_in(postgres: PostgresServer, address: CatalogAddress) -> list[str]:
    words = "select tablename from pg_tables where schemaname = 'public' order by 1"
    return [name for (name,) in postgres.ask(words, database=address.database)]
