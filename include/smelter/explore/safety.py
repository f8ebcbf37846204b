"""Which queries are safe? Those that only ask: one `select`, or what is short for one, over the lake's own tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import duckdb

from smelter.errors import Refused, WrongUsage
from smelter.explore.catalog import CATALOG_NAME, TableName
from smelter.explore.quoting import quoted_text

# Functions that may stand behind `from`. The others read files, follow addresses of memory, or change settings.
_HARMLESS_WORDS = """
    duckdb_columns duckdb_functions duckdb_keywords duckdb_schemas duckdb_tables duckdb_types duckdb_views
    generate_series generate_subscripts histogram histogram_values iceberg_metadata iceberg_snapshots json_each
    json_tree pg_timezone_names pragma_show pragma_table_info pragma_version range regexp_split_to_table repeat
    repeat_row summary test_all_types unnest
"""
_HARMLESS = frozenset(_HARMLESS_WORDS.split())
# Of its options nothing but words: a comment among them would end elsewhere for DuckDB than it does for us.
_EXPLAIN = re.compile(r"\s*explain\s+(?:analyze\s+)?(?:\(\s*(?:analyze|format)\b[\w\s,]*\)\s*)?", re.IGNORECASE)
_PARTS = """
    select
        tree ->> 'error',
        json_extract_string(tree, '$..function.function_name'),
        json_extract_string(tree, '$..catalog_name'),
        json_extract_string(tree, '$..schema_name'),
        json_extract_string(tree, '$..table_name')
    from (select json_serialize_sql({}) as tree)
"""
# DuckDB reads a file where a table's name is a path, with or without quotes: `from x.parquet`.
_DATA_FILE = re.compile(r"[/\\*?\[]|\.(parquet|csv|tsv|\w*json\w*|avro|db|ddb|duckdb)(\.\w+)?$", re.IGNORECASE)
_KINDS = {"LOAD": "INSTALL or LOAD", "COPY_DATABASE": "COPY FROM DATABASE", "MULTI": "this statement"}
_RULE = "a query may read the lake's tables, and do nothing else"
_NEXT = "ask the lake's tables with `select`, or allow everything with --unsafe (in Python unsafe=True)"


def refuse_unless_query(cursor: duckdb.DuckDBPyConnection, sql: str, tables: Iterable[TableName]) -> None:
    """Refuse a text that is not one question about tables, before any of it runs."""
    statement = _only_statement(cursor, sql)
    if statement.type == duckdb.StatementType.EXPLAIN:
        explain = _EXPLAIN.match(sql)
        sql = sql[explain.end() :] if explain else sql
        statement = _only_statement(cursor, sql)
    if statement.type != duckdb.StatementType.SELECT:
        kind = _KINDS.get(statement.type.name, statement.type.name.replace("_", " "))
        raise _refused(f"{kind} is not allowed")
    _refuse_other_sources(cursor, sql, {str(table).lower() for table in tables})


def is_query(cursor: duckdb.DuckDBPyConnection, sql: str) -> bool:
    """Is this text one question, which changes nothing if it is asked twice?"""
    statements = cursor.extract_statements(sql)
    return [statement.type for statement in statements] == [duckdb.StatementType.SELECT]


def _only_statement(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    try:
        statements = cursor.extract_statements(sql)
    except (duckdb.IOException, duckdb.PermissionException):  # it opens the file of an IMPORT, though it runs nothing
        raise _refused("IMPORT is not allowed") from None
    if not statements:
        raise WrongUsage("a query is needed, and this text has none", next_step='smelt sql "show tables"')
    if [statement.type.name for statement in statements] == ["CREATE", "SELECT"] and not statements[0].query:
        raise _refused("PIVOT without its values is not allowed: say `pivot … on column in (…)`")
    if len(statements) > 1:
        raise _refused(f"this text has {len(statements)} statements, and one is allowed")
    return statements[0]


def _refuse_other_sources(cursor: duckdb.DuckDBPyConnection, sql: str, known: Collection[str]) -> None:
    """Every function and every name behind a `from`, however deep, is one that may stand there."""
    # A bound parameter would import pandas, which takes a third of a second.
    found = cursor.execute(_PARTS.format(quoted_text(sql))).fetchone()
    assert found is not None
    error, functions, *names = found
    if error != "false":  # PRAGMA is taken for a `select` by the parser, and only by it
        raise _refused("this statement is not allowed")
    others = sorted({name.lower() for name in functions} - _HARMLESS)
    if others:
        raise _refused(f"{others[0]}() is not allowed")
    for name in (".".join(filter(None, parts)) for parts in zip(*names, strict=True)):
        if _is_file(name, known):
            raise _refused(f"the file {name} is not a table")


def _is_file(name: str, known: Collection[str]) -> bool:
    """Would DuckDB look for a file of this name? Not where the lake has a table of that name."""
    return _DATA_FILE.search(name) is not None and name.lower().removeprefix(f"{CATALOG_NAME}.") not in known


def _refused(what: str) -> Refused:
    return Refused(f"{what}: {_RULE}", data="nothing was run", next_step=_NEXT)
