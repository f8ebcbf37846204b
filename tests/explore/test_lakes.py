"""Lakes as they may be found: other spellings, older catalogs, hostile names, broken parts."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from small_lakes import NUMBERS, SmallLake, metadata_file

from smelter.contracts.fit import PLATFORM_COLUMNS
from smelter.errors import Unreachable
from smelter.explore import connect
from smelter.explore.catalog import CATALOG_FILE, TABLES_FOLDER, Catalog, TableName
from smelter.explore.databases import SqliteFile
from smelter.explore.facade import Facade
from smelter.lake import layout


def ids(lake: Path, table: str = "bronze.events") -> list[int]:
    with connect(lake) as explorer:
        return [number for (number,) in explorer.execute(f"select id from {table} order by id").fetchall()]


def test_both_rooms_know_the_same_parts_of_a_lake() -> None:
    assert (CATALOG_FILE, TABLES_FOLDER) == (layout.CATALOG, layout.TABLES)


@pytest.mark.parametrize("spelled", ["file:", "file://"])
def test_places_may_be_paths_or_addresses(lake: SmallLake, spelled: str) -> None:
    lake.append(lake.make("bronze", "events", spelled=spelled), [1, 2])
    assert ids(lake.path) == [1, 2]


def test_compressed_metadata_is_read(lake: SmallLake) -> None:
    plain = metadata_file(lake.with_events([1]))
    packed = plain.with_name(plain.name.replace(".metadata.json", ".gz.metadata.json"))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    lake.in_catalog("update iceberg_tables set metadata_location = ?", str(packed))
    assert ids(lake.path) == [1]


def test_a_lake_may_be_reached_through_a_link_or_from_where_one_is(
    lake: SmallLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.with_events([1])
    (tmp_path / "a link's name").symlink_to(lake.path)
    assert ids(tmp_path / "a link's name") == [1]
    through = SmallLake(tmp_path / "a link's name")
    through.append(through.make("silver", "events"), [2])
    through.close()
    assert ids(lake.path, "silver.events") == [2]
    monkeypatch.chdir(tmp_path)
    assert ids(Path("lake")) == [1]


def test_a_lake_in_a_folder_with_signs_in_its_name_is_read(tmp_path: Path) -> None:
    lake = SmallLake(tmp_path / "it's 100% #1, [a] lake")
    lake.path.mkdir()
    lake.make("bronze", "events", pa.schema({name: pa.string() for name in PLATFORM_COLUMNS}))
    receipt = {"unit": {"source": "file:///a", "length": 9}, "records": 3, "accepted": 2, "dead": 1, "is_whole": True}
    batch = {"token": "t", "sequence": 1, "ingested_at": "2026-01-01T00:00:00Z", "receipts": [receipt]}
    (lake.path / "receipts" / "events").mkdir(parents=True)
    (lake.path / "receipts" / "events" / "1.done.json").write_text(json.dumps(batch))
    with connect(lake.path) as explorer:
        assert explorer.execute("select count(*) from bronze.events").fetchall() == [(0,)]
        assert explorer.execute("select source, accepted from ops.receipts").fetchall() == [("file:///a", 2)]
    lake.close()


def test_older_catalogs_have_no_types_and_newer_ones_have_views(lake: SmallLake) -> None:
    place = str(metadata_file(lake.with_events([1])))
    lake.in_catalog("insert into iceberg_tables values ('lake', 'bronze', 'a_view', ?, null, 'VIEW')", place)
    lake.in_catalog("insert into iceberg_tables values ('other', 'bronze', 'not_ours', ?, null, 'TABLE')", place)
    with connect(lake.path) as explorer:
        assert list(map(str, explorer.tables)) == ["bronze.events"]
    lake.in_catalog("delete from iceberg_tables where table_name <> 'events'")
    lake.in_catalog("alter table iceberg_tables drop column iceberg_type")
    assert ids(lake.path) == [1]


def test_names_that_look_like_sql_are_only_names(lake: SmallLake) -> None:
    names = [('we"ird', "t"), ("bronze", 'x"; drop view bronze.events; --'), ("bronze", "it's"), ("a.b", "c/d%2F?e#f")]
    for number, (namespace, name) in enumerate(names):
        lake.append(lake.make(namespace, name), [number])
    lake.with_events([99])
    with connect(lake.path) as explorer:
        assert explorer.execute("select id from bronze.events").fetchall() == [(99,)]
        for number, (namespace, name) in enumerate(names):
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (namespace, name))
            assert explorer.execute(f"select id from {quoted}").fetchall() == [(number,)]


def test_two_tables_that_duckdb_cannot_tell_apart_are_not_mixed_up(lake: SmallLake) -> None:
    lake.with_events([1])
    lake.append(lake.make("bronze", "EVENTS"), [2])
    with pytest.raises(Unreachable, match="differ in small and capital letters only"):
        ids(lake.path)


def test_one_broken_table_does_not_hide_the_others(lake: SmallLake) -> None:
    lake.with_events([1])
    gone, cut = lake.make("bronze", "gone"), lake.make("bronze", "cut")
    metadata_file(gone).unlink()
    metadata_file(cut).write_text(metadata_file(cut).read_text()[:300])
    with connect(lake.path) as explorer:
        assert list(map(str, explorer.tables)) == ["bronze.events"]
        with pytest.raises(Unreachable, match=r"bronze\.gone cannot be opened: its metadata cannot be read.*No such"):
            explorer.execute("from bronze.gone")
        with pytest.raises(Unreachable, match=r"bronze\.cut cannot be opened: its metadata is no JSON"):
            explorer.execute("from bronze.cut")


def test_a_table_that_breaks_while_one_asks_is_told(lake: SmallLake) -> None:
    events = lake.with_events([1])
    with connect(lake.path) as explorer:
        for data in (lake.path / "tables").rglob("*.parquet"):
            data.unlink()
        with pytest.raises(Unreachable, match=r"\.parquet"):
            explorer.execute("from bronze.events").fetchall()
        metadata_file(events).unlink()
        with pytest.raises(Unreachable, match=r"bronze\.events cannot be opened: its metadata cannot be read"):
            explorer.execute("from bronze.events")


def test_a_table_outside_the_lake_is_not_read(lake: SmallLake, tmp_path: Path) -> None:
    lake.catalog.create_namespace("bronze")
    table = lake.catalog.create_table("bronze.events", schema=NUMBERS, location=str(tmp_path / "elsewhere"))
    lake.append(table, [1])
    with pytest.raises(Unreachable, match=r"cannot be opened: Permission Error: Cannot access file .*elsewhere"):
        ids(lake.path)
    with connect(lake.path, unsafe=True) as explorer:
        assert explorer.execute("select id from bronze.events").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "content", [b"this is not a database at all, but a text" * 100, b"SQLite format 3\0" + b"x" * 200]
)
def test_a_catalog_that_is_no_catalog_is_unreachable(lake: SmallLake, content: bytes) -> None:
    lake.path.mkdir()
    lake.catalog_file.write_bytes(content)
    with pytest.raises(Unreachable, match="the lake's catalog cannot be read") as caught:
        connect(lake.path)
    assert caught.value.where == str(lake.catalog_file)
    assert caught.value.next_step


def test_a_catalog_that_breaks_while_one_asks_is_unreachable(lake: SmallLake) -> None:
    lake.with_events([1])
    with connect(lake.path) as explorer:
        lake.close()
        lake.catalog_file.write_bytes(b"not a database any more, alas" * 100)
        with pytest.raises(Unreachable, match="the lake's catalog cannot be read"):
            explorer.execute("from bronze.events")


def test_a_catalog_is_read_beside_a_writer_that_holds_it(lake: SmallLake) -> None:
    lake.with_events([1])
    lake.in_catalog("pragma journal_mode = wal")
    writer = sqlite3.connect(lake.catalog_file)
    writer.execute("begin immediate")
    writer.execute("delete from iceberg_tables")
    assert ids(lake.path) == [1]
    writer.rollback()
    writer.close()


def test_a_duckdb_that_does_not_reach_the_catalog_is_told(lake: SmallLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facade, "address", "http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="DuckDB cannot open the lake: IO Error: Could not connect") as caught:
        connect(lake.path)
    assert (caught.value.where, caught.value.next_step) == (str(lake.path), "smelt doctor")


def test_metadata_that_a_writer_removes_in_this_very_moment_is_looked_up_again(lake: SmallLake) -> None:
    """A writer keeps twenty old files; a busy one may have taken away what the catalog named a moment ago."""
    events = lake.with_events([1])

    class Late(SqliteFile):
        answers = iter(["file:///gone/00001.metadata.json"])

        def tables(self) -> list[tuple[TableName, str]]:
            return [(name, next(self.answers, place)) for name, place in super().tables()]

    found = Catalog(Late(lake.catalog_file)).metadata(TableName("bronze", "events"))
    assert found is not None
    assert found.location == events.metadata_location


def test_a_catalog_is_opened_to_read_only(lake: SmallLake) -> None:
    lake.with_events([1])
    with pytest.raises(Unreachable, match="readonly"), SqliteFile(lake.catalog_file)._open() as database:
        database.execute("create table x (a)")


def test_an_empty_catalog_file_has_no_tables(lake: SmallLake) -> None:
    lake.path.mkdir()
    lake.catalog_file.touch()
    with connect(lake.path) as explorer:
        assert explorer.tables == []
    assert lake.catalog_file.stat().st_size == 0
