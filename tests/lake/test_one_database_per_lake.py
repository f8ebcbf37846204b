"""A database is the catalog of one lake, and a lake has one catalog: anything else is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from catalog_rows import Smelt, made_in, rows_of
from datasets import Dataset, contract_of
from test_beside_others import test_two_writers_of_the_same_batch_add_it_once as two_writers_add_once

from postgres_server import PostgresServer
from smelter.catalog_address import CatalogAddress
from smelter.errors import Refused, SmelterError
from smelter.lake.catalog import open_database
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import datasets, load_table
from smelter.settings import Settings


def test_another_lake_is_refused_and_changes_nothing(
    data: Dataset, smelt: Smelt, postgres: PostgresServer, address: CatalogAddress, tmp_path: Path
) -> None:
    before = rows_of(postgres, address)
    other = tmp_path / "other"
    with pytest.raises(Refused, match="the catalog of another lake") as refusal:
        Dataset(Lake.at(Settings(lake=other, catalog=address)), data.contract).take([{"a": 1}])
    assert str(data.lake.root / "tables") in refusal.value.where
    for words in (["status"], ["reconcile"], ["sql", "show tables"], ["lake", "drop", "--yes"]):
        code, _, err = smelt("--lake", str(other), *words)
        assert (code, "the catalog of another lake" in err) == (1, True), words
    assert rows_of(postgres, address) == before
    assert not (other / "tables").exists()
    assert datasets(data.lake) == ["things"]


def test_a_catalog_of_tables_that_somebody_else_made_is_refused(
    data: Dataset, postgres: PostgresServer, address: CatalogAddress, tmp_path: Path
) -> None:
    postgres.do("delete from iceberg_namespace_properties where catalog_name = 'smelter'", database=address.database)
    other = Lake.at(Settings(lake=tmp_path / "other", catalog=address))
    assert not other.has_catalog
    with pytest.raises(Refused, match="the catalog of another lake"):
        _ = other.catalog
    assert datasets(Lake.at(Settings(lake=data.lake.root, catalog=address))) == []  # nobody's, until it is written to
    data.take([{"a": 2}])
    _ = Lake.at(Settings(lake=data.lake.root, catalog=address)).catalog
    assert datasets(Lake.at(Settings(lake=data.lake.root, catalog=address))) == ["things"]


def at_once(acts: list[Callable[[], object]]) -> list[SmelterError]:
    """Start all of them in one moment; the errors that they were refused with."""
    gate, refused = threading.Barrier(len(acts)), []

    def run_it(act: Callable[[], object]) -> None:
        gate.wait()
        try:
            act()
        except SmelterError as problem:
            refused.append(problem)

    threads = [threading.Thread(target=run_it, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


def test_many_who_use_a_new_database_at_once_find_one_catalog(address: CatalogAddress, tmp_path: Path) -> None:
    assert at_once([lambda: open_database(address, tmp_path / "tables")] * 8) == []


def test_of_many_lakes_that_begin_at_once_one_gets_the_database(address: CatalogAddress, tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(6)]
    refused = at_once([lambda folder=folder: open_database(address, folder) for folder in folders])  # type: ignore[misc]
    assert len(refused) == 5
    assert {type(problem) for problem in refused} == {Refused}


def test_two_writers_are_kept_apart_whatever_isolation_the_database_prefers(
    root: Path, postgres: PostgresServer, address: CatalogAddress
) -> None:
    postgres.do(f'alter database "{address.database}" set default_transaction_isolation = serializable')
    postgres.do(f'alter database "{address.database}" set synchronous_commit = off')
    lake = Lake.at(Settings(lake=root, catalog=address))
    two_writers_add_once(lake)
    _takes_beside_an_open_transaction(lake, postgres, address)
    with lake.catalog.engine.connect() as line:
        assert line.exec_driver_sql("show synchronous_commit").scalar() == "on"


def _takes_beside_an_open_transaction(lake: Lake, postgres: PostgresServer, address: CatalogAddress) -> None:
    """A commit that waits for somebody's transaction to end, and is then made."""
    data = Dataset(lake, contract_of("a: {type: int}"))
    data.take([{"a": 1}])
    theirs = postgres.changing_rows(address.database)
    end = threading.Timer(0.5, theirs.__exit__, (None, None, None))

    def begin(point: str) -> None:
        if point == "prepared":
            theirs.__enter__()
            end.start()

    data.take([{"a": 2}], begin)
    end.join()
    assert load_table(lake, BRONZE, data.name).scan().to_arrow().num_rows == 2


@pytest.mark.parametrize("words", [["status"], ["reconcile"], ["sql", "show tables"], ["contract", "check"]])
def test_a_lake_whose_catalog_is_a_database_is_not_taken_for_an_empty_one(
    data: Dataset, smelt: Smelt, monkeypatch: pytest.MonkeyPatch, words: list[str], root: Path
) -> None:
    monkeypatch.delenv("SMELTER_CATALOG")
    code, _, err = smelt(*words)
    if words[0] == "contract":  # has nothing to do with tables
        assert code == 0
        return
    assert code == 1
    assert err.startswith("this lake has its catalog in postgresql://")
    assert not (root / "catalog.db").exists()


def test_a_lake_with_a_catalog_file_is_not_moved_by_a_setting(
    root: Path, smelt: Smelt, postgres: PostgresServer, address: CatalogAddress
) -> None:
    Dataset(Lake.at(Settings(lake=root)), contract_of("a: {type: int}", name="things")).take([{"a": 1}])
    for words in (["status"], ["sql", "show tables"], ["ingest", "events", "--drain"]):
        code, _, err = smelt(*words)
        assert (code, "in its own file catalog.db" in err) == (1, True), words
    assert smelt("doctor")[0] == 3
    assert made_in(postgres, address) == []
    assert smelt("lake", "drop", "--yes")[0] == 0
    assert smelt("status")[0] == 0
