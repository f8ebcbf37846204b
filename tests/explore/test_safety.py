"""A question cannot write, read other files, or change anything, unless it was allowed to."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from small_lakes import SmallLake

from smelter.errors import Refused, SmelterError, WrongUsage
from smelter.explore import Explorer, connect

Safe = tuple[SmallLake, Explorer]

OTHER_FILES = """
from read_csv('/etc/passwd')
from read_text('/etc/passwd')
from read_blob('/etc/passwd')
from '/etc/passwd'
from '{lake}/tables/table0/data/*.parquet'
from read_parquet('{lake}/tables/table0/data/*.parquet')
from read_text('{lake}/tables/../catalog.db')
from 'file://{lake}/tables/table0/data/*.parquet'
describe '{lake}/tables/table0/data/*.parquet'
from "{lake}/tables/table0/data/x".parquet
from glob('/etc/*')
from glob('{lake}/tables/**')
select (select count(*) from glob('/etc/*'))
select * from bronze.events where name in (select content from read_text('/etc/passwd'))
with x as (from read_text('/etc/passwd')) from x
describe from read_csv('/etc/passwd')
summarize from read_csv('/etc/passwd')
from (values (1)) t(a), lateral (from read_text('/etc/passwd'))
from "READ_TEXT"('/etc/passwd')
from system.main.read_text('/etc/passwd')
from read_text('http://127.0.0.1:1/')
from query('from read_text(''/etc/passwd'')')
from query('from glob(''{lake}/tables/**'')')
from query_table('/etc/passwd')
from json_execute_serialized_sql(json_serialize_sql('select 42'))
from sniff_csv('/etc/passwd')
from parquet_metadata('/etc/passwd')
from iceberg_scan('/etc')
from iceberg_metadata('/etc')
from sqlite_scan('{lake}/catalog.db', 'iceberg_tables')
explain from read_text('/etc/passwd')
""".strip().splitlines()

CHANGES = """
attach '{lake}/other.db'
attach ':memory:' as other
detach lake
use lake.bronze
copy (select 1) to '{lake}/out.csv'
copy (select 1) to '{lake}/tables/out.csv'
copy bronze.events to '{lake}/tables/out.parquet'
copy bronze.events from '/etc/passwd'
explain analyze copy (select 1) to '{lake}/tables/out.csv'
explain (analyze) copy (select 1) to '{lake}/tables/out.csv'
explain (analyze /*) select 1 --*/) copy (select 1) to '{lake}/tables/out.csv'
explain (analyze --) select 1 /*
explain /* ( */ (analyze) copy (select 1) to '{lake}/tables/out.csv'
explain (format json, analyze) copy (select 1) to '{lake}/tables/out.csv'
/* explain */ explain analyze copy (select 1) to '{lake}/tables/out.csv'
export database '{lake}/tables/out'
import database '{lake}/tables/out'
install httpfs
install httpfs from 'http://127.0.0.1:1/'
force install tpch
load httpfs
load '{lake}/tables/x.duckdb_extension'
set threads = 1
set enable_external_access = true
reset lock_configuration
set variable x = 1
pragma enable_profiling
pragma threads = 1
pragma table_info('bronze.events')
call enable_logging()
from enable_logging(storage = 'file')
from enable_profiling(save_location = '{lake}/tables/out.json')
from truncate_duckdb_logs()
from set_iceberg_table_properties('lake.bronze.events', map {{'a': 'b'}})
from iceberg_to_ducklake('lake', 'x')
create table x as select 1
create temp table x as select 1
create view x as select 1
create or replace view bronze.events as select 1 as id
create macro f(x) as x
create secret (type s3)
create table lake.bronze.x (id int)
drop view bronze.events
drop table lake.bronze.events
alter view bronze.events rename to x
comment on view bronze.events is 'x'
insert into bronze.events values (9, 'x')
insert into lake.bronze.events values (9, 'x')
update lake.bronze.events set id = 1
delete from lake.bronze.events
truncate lake.bronze.events
merge into lake.bronze.events e using (select 9 as id) n on e.id = n.id when not matched then insert values (9, 'x')
begin
checkpoint
vacuum
prepare q as select 1
execute q
select 1; copy (select 1) to '{lake}/tables/out.csv'
select 1; select 2
from duckdb_secrets()
from which_secret('http://x', 'http')
from duckdb_settings()
from duckdb_logs()
from arrow_scan(1, 2, 3)
from pandas_scan(1)
select getenv('HOME')
pivot bronze.events on name using count(*)
""".strip().splitlines()

QUESTIONS = """
select 1;
from bronze.events
table bronze.events
values (1), (2)
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) select sum(i) from n
describe bronze.events
summarize bronze.events
show tables
SHOW Tables ;
show all tables
explain from bronze.events
explain analyze from bronze.events
EXPLAIN (format json) select 1
from range(3), unnest([1, 2])
select unnest(generate_series(1, 3)), list_transform([1], lambda x: x + 1), 'copy me', 'read_text(1)'
pivot bronze.events on name in ('name 1', 'name 2') using count(*)
from duckdb_columns() where table_name = 'events'
from information_schema.tables
from iceberg_snapshots('lake.bronze.events')
""".strip().splitlines()


def place(safe: Safe, query: str) -> str:
    return query.format(lake=safe[0].path)


@pytest.mark.parametrize("query", OTHER_FILES + CHANGES)
def test_what_is_not_a_question_about_tables_is_refused(
    safe: Safe, query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lake, explorer = safe
    before = lake.files()
    with pytest.raises(SmelterError) as caught:
        explorer.execute(place(safe, query)).fetchall()
    assert caught.value.exit_code == 1, str(caught.value)
    assert len(str(caught.value)) < 600
    assert lake.files() == before
    assert list(tmp_path.iterdir()) == []
    assert explorer.execute("select id from bronze.events order by id").fetchall() == [(1,), (2,), (3,)]


@pytest.mark.parametrize("query", QUESTIONS)
def test_questions_are_answered(safe: Safe, query: str) -> None:
    assert safe[1].execute(query).fetchall()


@pytest.mark.parametrize("text", ["", "  ", "-- nothing\n", "/* nothing */;"])
def test_a_text_without_a_query_is_wrong_usage(safe: Safe, text: str) -> None:
    with pytest.raises(WrongUsage, match="a query is needed"):
        safe[1].execute(text)


def test_a_zero_byte_hides_nothing(safe: Safe) -> None:
    lake, explorer = safe
    with pytest.raises(Refused):
        explorer.execute(f"select 1\0; copy (select 1) to '{lake.path}/tables/out.csv'").fetchall()
    assert not (lake.path / "tables" / "out.csv").exists()


def test_files_of_the_lake_are_not_tables_even_beside_them(safe: Safe, monkeypatch: pytest.MonkeyPatch) -> None:
    lake, explorer = safe
    data = next((lake.path / "tables").rglob("*.parquet"))
    monkeypatch.chdir(data.parent)
    for query in (
        f"from '{data.name}'",
        f'from "{data.stem}".parquet',
        "from '*.parquet'",
        f"summarize './{data.name}'",
    ):
        with pytest.raises(Refused, match="is not a table"):
            explorer.execute(query)


def test_a_table_may_be_named_like_a_kind_of_file(lake: SmallLake) -> None:
    lake.append(lake.make("bronze", "json"), [1])
    with connect(lake.path) as explorer:
        assert explorer.execute("select id from bronze.json").fetchall() == [(1,)]
        assert explorer.execute("select id from lake.bronze.json").fetchall() == [(1,)]


def test_the_lock_holds_where_the_check_of_statements_does_not_reach(safe: Safe) -> None:
    """What a caller can do with DuckDB's own cursor: the second wall."""
    lake, explorer = safe
    cursor = explorer._connection.cursor()
    for words in ("from read_text('/etc/passwd')", f"attach '{lake.path}/x.db'", f"copy (select 1) to '{lake.path}/x'"):
        with pytest.raises(duckdb.PermissionException):
            cursor.execute(words)
    for words in ("set enable_external_access = true", "set allowed_directories = ['/']"):
        with pytest.raises(duckdb.Error, match="lock"):
            cursor.execute(words)


def test_the_token_is_nowhere_to_be_seen(safe: Safe) -> None:
    cursor = safe[1]._connection.cursor()
    for words in ("from duckdb_secrets()", "from duckdb_databases()", "from duckdb_settings()"):
        shown = str(cursor.execute(words).fetchall())
        assert "Bearer" not in shown
        assert "token=" not in shown
        assert "'token'" not in shown


def test_variables_of_the_program_are_not_tables(lake: SmallLake) -> None:
    import pyarrow as pa

    secrets = pa.table({"a": [1]})
    with connect(lake.path, unsafe=True) as explorer:
        cursor = explorer._connection.cursor()
        with pytest.raises(duckdb.CatalogException, match="secrets does not exist"):
            cursor.execute("from secrets")
    assert secrets.num_rows == 1


def test_unsafe_opens_files_but_never_writes_the_lakes_tables(lake: SmallLake, tmp_path: Path) -> None:
    lake.with_events([1, 2])
    with connect(lake.path, unsafe=True) as explorer:
        explorer.execute(f"copy (select id from bronze.events order by id) to '{tmp_path}/out.csv'")
        assert (tmp_path / "out.csv").read_text() == "id\n1\n2\n"
        assert explorer.execute(f"select count(*) from read_csv('{tmp_path}/out.csv')").fetchall() == [(2,)]
        explorer.execute("create table kept as from bronze.events; insert into kept values (3, 'x')")
        assert explorer.execute("select count(*) from kept").fetchall() == [(3,)]
        with pytest.raises(Refused, match="read-only"):
            explorer.execute("insert into lake.bronze.events values (3, 'x')")


def test_what_changes_something_is_run_once(lake: SmallLake, tmp_path: Path) -> None:
    lake.with_events([1])
    with connect(lake.path, unsafe=True) as explorer:
        explorer.execute(f"attach '{tmp_path}/mine.db' as mine; create table mine.spans (span interval)")
        words = "insert into mine.spans values (interval 2 months) returning span"
        assert len(explorer.execute(words, as_text=frozenset({"INTERVAL"})).fetchall()) == 1
        with pytest.raises(Refused, match="nowhere"):
            explorer.execute(f"{words}; select nowhere from ops.letters")
        assert explorer.execute("select count(*) from mine.spans").fetchall() == [(2,)]
