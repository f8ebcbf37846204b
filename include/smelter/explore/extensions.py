"""DuckDB's extensions come from installed packages, of exactly DuckDB's version; nothing is ever downloaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import duckdb

from smelter.errors import Unreachable

NEEDED = ("avro", "httpfs", "iceberg")  # in this order: the last needs the others
_SET_UP = "make setup"
# DuckDB hashes 84 MB to check their signatures: 0.25 s of each session, so once in a process has to do.
_checked: set[tuple[int, int, int, int]] = set()


def are_checked() -> bool:
    """Were these very files loaded with their signatures checked, by this process?"""
    return all(_identity(packaged(name)) in _checked for name in NEEDED)


def load_extensions(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Load what Iceberg needs; `folder` is the connection's extension directory, and is filled with links."""
    shelf = folder / _word(connection, "select library_version from pragma_version()")
    shelf = shelf / _word(connection, "select platform from pragma_platform()")
    shelf.mkdir(parents=True, exist_ok=True)
    files = {name: packaged(name) for name in NEEDED}
    for file in files.values():
        (shelf / file.name).symlink_to(file)
    for name in NEEDED:
        _load(connection, name)
    connection.execute("set allow_unsigned_extensions = false")
    _checked.update(map(_identity, files.values()))


def packaged(name: str, version: str = duckdb.__version__) -> Path:
    """The extension's file in its package."""
    package = find_spec(f"duckdb_extension_{name}")
    if package is None or package.origin is None:
        raise _missing(name, "its package is not installed")
    file = Path(package.origin).parent / "extensions" / f"v{version}" / f"{name}.duckdb_extension"
    if not file.is_file():
        raise _missing(name, f"its package is not for DuckDB {version}")
    return file


def _load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    try:
        connection.execute(f"load {name}")
    except duckdb.Error as problem:
        raise _missing(name, str(problem).splitlines()[0]) from problem


def _identity(file: Path) -> tuple[int, int, int, int]:
    found = file.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _missing(name: str, why: str) -> Unreachable:
    return Unreachable(f"DuckDB's extension `{name}` cannot be loaded: {why}", next_step=_SET_UP)


def _word(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    found = connection.execute(query).fetchone()
    assert found is not None
    return str(found[0])
