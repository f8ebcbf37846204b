"""Names that are hard to write, and the same rows under them."""

from __future__ import annotations

import pytest
from readings import Readers, Table

from smelter.errors import Refused, Unreachable
from smelter.explore.quoting import quoted_name

pytestmark = pytest.mark.jvm
NAMES = [
    'with "quotes"',
    "with 'single' ones",
    "a.dot",
    "a space",
    " around ",
    "größe_價格_😀",
    "Upper And lower",
    "select",
    "a`backtick",
    "percent % and /slash\\",
    "x" * 200,
]


def in_spark(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def test_columns_of_any_name_are_the_same_and_can_be_asked_by_it(readers: Readers) -> None:
    table = Table("names", "columns")
    readers.sql("create namespace if not exists lake.names")
    columns = ", ".join(f"{in_spark(name)} string" for name in NAMES)
    readers.sql(f"create table {table.in_spark} (id bigint, {columns}) using iceberg partitioned by (`a.dot`)")
    for number in range(3):
        values = ", ".join(f"'{number} {place}'" for place in range(len(NAMES)))
        readers.sql(f"insert into {table.in_spark} values ({number}, {values})")
    readers.sql(f"alter table {table.in_spark} rename column `a space` to `another ' \" one`")
    assert readers.differences(table) == []
    for place, name in enumerate(NAMES):
        name = "another ' \" one" if name == "a space" else name
        query = f"select id from {table.view} where {quoted_name(name)} = '1 {place}'"
        assert readers.compare(query, ["id"], [(1,)]) == []


def test_tables_and_members_of_any_name_are_the_same(readers: Readers) -> None:
    table = Table("größe", 'a table\'s "name"')
    readers.sql("create namespace if not exists lake.`größe`")
    members = ", ".join(f"{in_spark(name)}: string" for name in NAMES)
    readers.sql(f"create table {table.in_spark} (id bigint, inside struct<{members}>) using iceberg")
    values = ", ".join(f"'{place}'" for place in range(len(NAMES)))
    readers.sql(f"insert into {table.in_spark} select 1, struct({values})")
    assert readers.differences(table) == []


def test_a_table_whose_columns_differ_in_capitals_only_is_refused_and_hides_no_other(readers: Readers) -> None:
    """DuckDB knows no capitals in names: it would have to show one column under the name of the other."""
    twins, other = Table("names", "twins"), Table("names", "other")
    readers.sql("create namespace if not exists lake.names")
    readers.spark.conf.set("spark.sql.caseSensitive", "true")
    readers.sql(f"create table {twins.in_spark} (id bigint, name string, Name string) using iceberg")
    readers.spark.conf.unset("spark.sql.caseSensitive")
    readers.sql(f"create table {other.in_spark} (id bigint, Name string) using iceberg")
    readers.sql(f"insert into {other.in_spark} values (1, 'with a capital')")
    with pytest.raises(Unreachable, match=r"the table names\.twins cannot be opened: .*Column with name Name already"):
        readers.explorer.execute("select id from names.twins")
    with pytest.raises(Refused, match="Column with name Name already exists"):
        readers.explorer.execute("select id from lake.names.twins")
    assert readers.differences(other) == []
    assert readers.compare("select NAME from names.other", ["Name"], [("with a capital",)]) == []
