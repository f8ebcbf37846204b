"""Which names are allowed? Those that are safe in SQL, in paths and in every engine, without quoting."""

from __future__ import annotations

import re

NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
RESERVED_DATASETS = frozenset({"resolutions"})

# Words that Spark (ANSI mode) or DuckDB do not take as a bare column or table name.
_WORDS = """
    all analyse analyze and anti any array as asc asymmetric authorization both by case cast check collate column
    constraint create cross current_date current_time current_timestamp current_user default deferrable desc describe
    distinct do else end escape except false fetch filter for foreign from full grant group having in initially inner
    intersect into is join lambda lateral leading left limit minus natural not null offset on only or order outer
    overlaps pivot pivot_longer pivot_wider placing primary qualify references returning right select semi session_user
    set show some sql summarize symmetric table then to trailing true union unique unknown unpivot user using values
    variadic when where window with
"""
SQL_KEYWORDS = frozenset(_WORDS.split())


def name_problem(name: str) -> str | None:
    """Say why `name` cannot name a dataset, field or member, or None if it can."""
    if name.startswith("_"):
        return f"`{_shown(name)}` begins with `_`, which is kept for the platform's own columns"
    if NAME.fullmatch(name) is None:
        return (
            f"`{_shown(name)}` is not a name: it must begin with a small letter, "
            "then small letters, digits and `_`, at most 63 in all"
        )
    if name in SQL_KEYWORDS:
        return f"`{name}` is a SQL keyword"
    return None


def field_problem(name: str) -> str | None:
    """Say why `name` cannot name a field, and how records can keep it all the same; None if it can."""
    problem = name_problem(name)
    return f"{problem}; take another, and say `from: {_shown(name)}`" if problem and name else problem


def dataset_problem(name: str) -> str | None:
    """Say why `name` cannot name a dataset, or None if it can."""
    if name in RESERVED_DATASETS:
        return f"`{name}` is kept for the platform's own table"
    return name_problem(name)


def _shown(name: str) -> str:
    text = name if name.isprintable() else repr(name)[1:-1]
    return text if len(text) <= 80 else text[:77] + "..."
