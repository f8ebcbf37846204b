"""What happens to a table in its life, as statements of Spark: `{t}` is the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from filters import FILTERS, LONG
from readings import Readers, Table

CREATE = """
    create table {t} (
      id bigint not null, a_string string, a_boolean boolean, an_int int, a_long bigint, a_float float, a_double double,
      a_decimal decimal(10,2), a_date date, a_moment timestamp, a_binary binary, an_array array<int>,
      a_map map<string,int>, a_struct struct<x: int, y: string>,
      deep array<struct<since: timestamp, tags: map<string,string>>>
    ) using iceberg partitioned by (days(a_moment)) tblproperties ({properties})
"""
_MODES = "'write.delete.mode'='{0}', 'write.update.mode'='{0}', 'write.merge.mode'='{0}', 'format-version'='{1}'"
COPIED, MERGED = _MODES.format("copy-on-write", 2), _MODES.format("merge-on-read", 2)
VECTORS = _MODES.format("merge-on-read", 3)
FULL = """
    insert into {t} values
    (1, 'one', true, -2147483648, 9223372036854775807, float('1.5'), double('nan'), 12345678.90, date'1969-12-31',
     timestamp'2026-03-01 12:00:00.123456', X'00ff', array(1, 2), map('k', 1), named_struct('x', 1, 'y', 's'),
     array(named_struct('since', timestamp'2001-01-01 00:00:00', 'tags', map('a', 'b', 'c', null)))),
    (2, '', false, 2147483647, -9223372036854775808, float('inf'), double('-inf'), -0.01, date'2026-03-02',
     timestamp'1969-12-31 23:59:59.999999', X'', array(), map(), named_struct('x', null, 'y', null), array()),
    (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
    (4, 'ß "q" \\'s', true, 0, 0, float('-0.0'), double('0.1'), 0.00, date'0001-01-01',
     timestamp'2026-03-02 00:00:00', X'41', array(1, null), map('n', null), named_struct('x', 2, 'y', 't'),
     array(null, named_struct('since', null, 'tags', null))),
    (5, 'one', null, 7, 7, float('nan'), double('-0.0'), 7.00, date'9999-12-31',
     timestamp'2026-03-01 23:59:59.999999', X'00', array(7), map('k', 7), named_struct('x', 7, 'y', ''), array())
"""
_COLUMNS = "id, {text}, a_number, moment, a_date, a_decimal"


@dataclass(frozen=True)
class Step:
    """Something that becomes of the table."""

    name: str
    statements: tuple[str, ...]


def rows_of(*ids: int, text: str = "a_string") -> str:
    """Rows on both sides of 1970, and one without anything, with the names that columns have after `RENAMED`."""
    values = ", ".join(
        f"({one}, {'null' if one % 5 == 0 else repr(f'{LONG}{one % 3}')}, {one % 7 - 3}, "
        f"{'null' if one % 6 == 0 else f'timestamp_seconds({(one % 4 - 1) * 5000 + one})'}, "
        f"date_add(date'1970-01-01', {one % 9 - 4}), {one % 4 - 2}.5)"
        for one in ids
    )
    return f"insert into {{t}} ({_COLUMNS.format(text=text)}) values {values}"


SCHEMA = (
    Step("rows came", (FULL,)),
    Step(
        "columns were added",
        (
            "alter table {t} add columns (added string after id, more double)",
            "alter table {t} add columns (a_struct.z string, deep.element.count int)",
            "insert into {t} (id, added, more, a_struct, deep) values (10, 'new', 0.5, named_struct('x', 3, 'y', 'y', "
            "'z', 'z'), array(named_struct('since', null, 'tags', map(), 'count', 1)))",
        ),
    ),
    Step(
        "types were widened",
        (
            "alter table {t} alter column an_int type bigint",
            "alter table {t} alter column a_float type double",
            "alter table {t} alter column a_decimal type decimal(18,2)",
            "alter table {t} alter column a_struct.x type bigint",
            "alter table {t} alter column an_array.element type bigint",
            "alter table {t} alter column a_map.value type bigint",
            "insert into {t} (id, an_int, a_float, a_decimal, a_struct, an_array, a_map, a_moment) values (20, "
            "2147483648, 1e300, 1234567890123456.78, named_struct('x', 2147483648, 'y', '', 'z', null), "
            "array(2147483648), map('k', 2147483648), timestamp'2026-03-01 12:00:00')",
        ),
    ),
    Step(
        "columns were renamed",
        (
            "alter table {t} rename column an_int to a_number",
            "alter table {t} rename column a_moment to moment",
            "alter table {t} rename column a_struct.y to why",
            "alter table {t} rename column deep.element.since to moment",
            "insert into {t} (id, a_number, moment, a_struct) values (30, 30, timestamp'2026-03-05 00:00:00', "
            "named_struct('x', 30, 'why', 'new', 'z', null))",
        ),
    ),
    Step(
        "two columns changed their names, and one its place",
        (
            "alter table {t} rename column added to aside",
            "alter table {t} rename column a_string to added",
            "alter table {t} rename column aside to a_string",
            "alter table {t} alter column a_number first",
            "insert into {t} (id, added, a_string) values (40, 'added', 'a_string')",
        ),
    ),
    Step(
        "a column went, and another came by its name",
        (
            "alter table {t} drop column a_boolean",
            "alter table {t} add columns (a_boolean string)",
            "insert into {t} (id, a_boolean) values (50, 'no boolean')",
        ),
    ),
)
PARTITIONS = (
    Step("a bucket was added", ("alter table {t} add partition field bucket(4, a_string)", rows_of(*range(100, 104)))),
    Step(
        "days became hours",
        ("alter table {t} replace partition field days(moment) with hours(moment)", rows_of(*range(110, 114))),
    ),
    Step("the bucket went", ("alter table {t} drop partition field bucket(4, a_string)", rows_of(*range(120, 124)))),
    Step(
        "a widened and renamed column was added",
        ("alter table {t} add partition field a_number", rows_of(*range(130, 134))),
    ),
    Step(
        "hours became a bucket, truncations and months were added",
        (
            "alter table {t} replace partition field hours(moment) with bucket(3, moment)",
            "alter table {t} add partition field truncate(6, a_string)",
            "alter table {t} add partition field truncate(10, a_decimal)",
            "alter table {t} add partition field months(a_date)",
            rows_of(*range(140, 144)),
        ),
    ),
    Step(
        "it is partitioned by the text alone",
        (
            "alter table {t} drop partition field a_number",
            "alter table {t} drop partition field bucket(3, moment)",
            "alter table {t} drop partition field truncate(6, a_string)",
            "alter table {t} drop partition field truncate(10, a_decimal)",
            "alter table {t} drop partition field months(a_date)",
            "alter table {t} add partition field a_string",
            rows_of(*range(150, 154)),
        ),
    ),
    Step(
        "the column of a partition was renamed",
        ("alter table {t} rename column a_string to a_text", rows_of(160, 161, text="a_text")),
    ),
)
_REWRITE_DELETES = (
    "call lake.system.rewrite_position_delete_files(table => '{t}', options => map('rewrite-all', 'true'))"
)
DELETES = (
    Step(
        "rows were deleted from new files",
        (rows_of(*range(60, 68)), "delete from {t} where id in (61, 63)", "delete from {t} where id in (64, 66)"),
    ),
    Step("the deletes were rewritten", (_REWRITE_DELETES,)),
)
BRANCHES_OFF = "rows were deleted"  # the table goes back to here later
ROWS = (
    Step(BRANCHES_OFF, ("delete from {t} where id in (1, 103, 142)", "delete from {t} where a_number = -3")),
    Step("rows were updated", ("update {t} set a_text = 'updated', a_number = 77 where id % 10 = 4",)),
    Step(
        "rows were merged",
        (
            "merge into {t} t using (select explode(sequence(150, 170)) as id) s on t.id = s.id "
            "when matched and s.id % 3 = 0 then delete when matched then update set moment = null, a_text = 'merged' "
            "when not matched then insert (id, a_text) values (s.id, 'merged')",
        ),
    ),
    Step("a whole partition was deleted", ("delete from {t} where a_text = 'text of more than sixteen letters 2'",)),
    Step(
        "rows came that were deleted before",
        (rows_of(1, 103, 142, 150, text="a_text"), "delete from {t} where id = 103", rows_of(103, text="a_text")),
    ),
)
CARE = (
    Step(
        "a part was compacted",
        (
            "call lake.system.rewrite_data_files(table => '{t}', where => 'id >= 110', "
            "options => map('rewrite-all', 'true'))",
        ),
    ),
    Step("manifests were rewritten", ("call lake.system.rewrite_manifests(table => '{t}', use_caching => false)",)),
    Step("rows were deleted behind the compaction", ("delete from {t} where id in (110, 4)",)),
    Step(
        "everything was compacted and sorted",
        (
            "call lake.system.rewrite_data_files(table => '{t}', strategy => 'sort', sort_order => 'id', "
            "options => map('rewrite-all', 'true', 'delete-file-threshold', '1'))",
        ),
    ),
    Step(
        "a row was changed, and the deletes were rewritten",
        ("update {t} set a_number = -1 where id = 5", _REWRITE_DELETES),
    ),
)
BACK = (
    Step("it went back", ("call lake.system.rollback_to_snapshot(table => '{t}', snapshot_id => {before})",)),
    Step("rows came behind the way back", (rows_of(200, 205, 206, text="a_text"), "delete from {t} where id = 2")),
    Step(
        "old snapshots went",
        (
            "call lake.system.expire_snapshots(table => '{t}', older_than => timestamp'2100-01-01 00:00:00', "
            "retain_last => 1)",
        ),
    ),
    Step("rows came behind the expiry", (rows_of(210, text="a_text"), "delete from {t} where id = 210")),
    Step("everything was deleted", ("delete from {t}",)),
    Step("rows came into the empty table", (rows_of(*range(220, 230), text="a_text"),)),
)
IN_MERGES = (*SCHEMA, *DELETES, *PARTITIONS[:2], *PARTITIONS[-1:], *ROWS, *CARE, *BACK[:3])
ONLY_ROWS = (*DELETES, *PARTITIONS[-1:], *ROWS, *CARE, *BACK)
IN_COPIES = (*SCHEMA, *PARTITIONS, *ROWS, *CARE[:1], *BACK)
IN_VECTORS = (*SCHEMA[:2], SCHEMA[3], *DELETES, *PARTITIONS[-1:], *ROWS, *CARE, *BACK[:2])


@dataclass(frozen=True)
class Life:
    """What two readers of a table differed in, and how its deletes were kept when rows had left for the first time."""

    differences: list[str]
    delete_files: set[str]


def lived(
    readers: Readers, name: str, properties: str, story: Sequence[Step], *, compared: Sequence[Step] | None = None
) -> Life:
    """A table lives through a story; after every step, or after those that are named, both readers are compared."""
    table = Table("shapes", name)
    readers.sql(f"create namespace if not exists lake.{table.namespace}")
    readers.sql(CREATE.format(t=table.in_spark, properties=properties))
    before, life = 0, Life([], set())
    for step in story:
        for statement in step.statements:
            readers.sql(statement.format(t=table.in_spark, before=before))
        if compared is None or step in compared:
            life.differences.extend(f"after {step.name}: {one}" for one in readers.differences(table, FILTERS))
        if step.name == BRANCHES_OFF:
            found = readers.sql(f"select distinct file_format from {table.in_spark}.delete_files")
            life.delete_files.update(row.file_format for row in found)
            history = readers.sql(f"select snapshot_id from {table.in_spark}.history order by made_current_at")
            before = history[-1].snapshot_id
    return life
