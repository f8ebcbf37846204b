"""One DuckDB that sees a lake's tables, in UTC, and is locked to them unless it was asked to be unsafe."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import duckdb

from smelter.errors import Unreachable
from smelter.explore.catalog import CATALOG_NAME, RECEIPTS_FOLDER, TABLES_FOLDER
from smelter.explore.extensions import are_checked, load_extensions
from smelter.explore.facade import Facade
from smelter.explore.quoting import in_pattern, quoted_text

_SECRET = "lake_token"  # noqa: S105 (a name, not the secret)


def open_duckdb(workspace: Path, lake: Path, facade: Facade, *, unsafe: bool) -> duckdb.DuckDBPyConnection:
    """Open DuckDB with the lake attached to read only; `workspace` is an empty folder, for links and for big sorts."""
    extensions = workspace / "extensions"
    try:
        connection = duckdb.connect(":memory:", config=_settings(extensions, workspace / "spill"))
        load_extensions(connection, extensions)
        connection.execute("set global TimeZone = 'UTC'")
        # Else a commit that is newer than the question's beginning, by the writer's clock, is passed over for an older
        # version, and where none of those is old enough the question fails (an internal error, seen beside a writer).
        connection.execute("set global iceberg_use_metadata_log = false")
        _attach(connection, facade)
        if not unsafe:
            _lock(connection, places(lake, facade))
    except duckdb.Error as problem:
        raise Unreachable(
            f"DuckDB cannot open the lake: {problem}", where=str(lake), next_step="smelt doctor"
        ) from problem
    return connection


def places(lake: Path, facade: Facade) -> list[str]:
    """Where a locked DuckDB may read: the tables, the records of batches, and the catalog."""
    tables, receipts = (str(lake.absolute() / name) for name in (TABLES_FOLDER, RECEIPTS_FOLDER))
    folders = dict.fromkeys([tables, receipts, in_pattern(receipts)])  # each once
    return [*(f"{folder}/" for folder in folders), f"{facade.address}/"]


def _settings(extensions: Path, spill: Path) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "extension_directory": str(extensions),
        "temp_directory": str(spill),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_unsigned_extensions": are_checked(),
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
    }


def _attach(connection: duckdb.DuckDBPyConnection, facade: Facade) -> None:
    """The attached catalog keeps its token; the secret goes, so that no query can show it."""
    address = quoted_text(facade.address)
    # DuckDB would ask through HTTP_PROXY, and an empty setting does not stop it: the catalog is its own proxy.
    connection.execute(f"create secret lake_proxy (type http, scope {address}, http_proxy {address})")
    connection.execute(f"create secret {_SECRET} (type iceberg, token {quoted_text(facade.token)})")
    connection.execute(f"attach '' as {CATALOG_NAME} (type iceberg, endpoint {address}, secret {_SECRET}, read_only)")
    connection.execute(f"drop secret {_SECRET}")


def _lock(connection: duckdb.DuckDBPyConnection, places: Iterable[str]) -> None:
    """From here on DuckDB reads these places only, however they are spelled, and its settings stay as they are."""
    connection.execute(f"set allowed_directories = [{', '.join(map(quoted_text, places))}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
