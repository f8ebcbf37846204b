"""Commands on a lake whose catalog is a database: asking makes nothing, a drop takes its own, the doctor asks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from catalog_rows import Smelt, made_in, rows_of
from datasets import Dataset

from postgres_server import PostgresServer
from smelter.catalog_address import CatalogAddress
from smelter.lake import drop as dropping
from smelter.lake.home import Lake
from smelter.settings import Settings


def test_reading_commands_make_nothing_in_an_empty_database(
    smelt: Smelt, postgres: PostgresServer, address: CatalogAddress, root: Path
) -> None:
    code, out, _ = smelt("status")
    assert (code, "nothing has been ingested into" in out) == (0, True)
    code, _, err = smelt("reconcile")
    assert (code, "nothing has been ingested yet" in err) == (3, True)
    assert smelt("sql", "show tables")[0] == 0
    assert smelt("lake", "drop", "--yes")[1].startswith("there is nothing to drop")
    assert smelt("doctor")[0] == 0
    assert made_in(postgres, address) == []
    assert {path.name for path in root.iterdir()} == {"layout"}


def test_commands_read_what_the_database_names(data: Dataset, smelt: Smelt) -> None:
    assert smelt("reconcile")[0] == 0
    code, out, _ = smelt("status", "--json")
    assert (code, json.loads(out)[0]["rows"]) == (0, {"bronze.things": 1, "dead_letters.things": 1})
    assert json.loads(smelt("sql", "select a from bronze.things", "--json")[1]) == [{"a": 1}]
    assert smelt("trace", "--where", "a = 1")[0] == 0


def test_a_drop_takes_the_lake_out_of_the_database_and_leaves_the_rest(
    data: Dataset, smelt: Smelt, postgres: PostgresServer, address: CatalogAddress, root: Path
) -> None:
    words = "insert into iceberg_tables (catalog_name, table_namespace, table_name) values ('another', 'a', 'b')"
    postgres.do(words, database=address.database)
    code, out, _ = smelt("lake", "drop", "--yes")
    assert (code, "the names of 3 tables in postgresql://" in out) == (0, True)
    assert rows_of(postgres, address) == [("another", "a", "b", None)]
    assert {path.name for path in root.iterdir()} == {"layout", "landing"}
    assert smelt("lake", "drop", "--yes")[1].startswith("there is nothing to drop")
    again = Dataset(Lake.at(Settings(lake=root, catalog=address)), data.contract)
    assert again.take([{"a": 1}]).accepted == 1


def test_a_drop_that_was_killed_anywhere_is_finished_by_the_next(
    data: Dataset, postgres: PostgresServer, address: CatalogAddress, root: Path
) -> None:
    done = 0
    while parts := dropping.plan_drop(root, address):
        dropping.drop(parts[:1])
        done += 1
    assert done == 5  # receipts, run, the database, the note of where it is, tables
    assert rows_of(postgres, address) == []
    assert {path.name for path in root.iterdir()} == {"layout", "landing"}


def test_a_drop_without_its_database_removes_nothing(
    data: Dataset, smelt: Smelt, postgres: PostgresServer, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = sorted(root.rglob("*"))
    postgres.stop()
    assert smelt("lake", "drop", "--yes")[0] == 3
    monkeypatch.delenv("SMELTER_CATALOG")
    code, _, err = smelt("lake", "drop", "--yes")
    assert (code, "and no setting names it" in err) == (1, True)
    assert sorted(root.rglob("*")) == before


def test_the_doctor_says_whether_the_catalog_answers(
    data: Dataset, smelt: Smelt, postgres: PostgresServer, address: CatalogAddress
) -> None:
    def said() -> tuple[bool, str]:
        checks = json.loads(smelt("doctor", "--json")[1])["checks"]
        return next((check["ok"], check["found"]) for check in checks if check["name"] == "catalog")

    is_well, found = said()
    assert is_well
    assert found.startswith(f"{address}, PostgreSQL ")
    assert found.endswith(", 3 tables")
    postgres.stop()
    is_well, found = said()
    assert not is_well
    assert "Connection refused" in found
