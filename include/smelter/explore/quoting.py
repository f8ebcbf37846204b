"""Names and texts as SQL takes them, whatever is in them."""

from __future__ import annotations

import re

from smelter.explore.catalog import TableName


def quoted_name(name: str) -> str:
    """A name of a table, schema or column."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text between quotes."""
    return "'" + text.replace("'", "''") + "'"


def in_pattern(path: str) -> str:
    """A path as a pattern of names has it: signs that would stand for others stand for themselves."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def qualified(table: TableName) -> str:
    """A table's two names."""
    return f"{quoted_name(table.namespace)}.{quoted_name(table.name)}"
