"""Questions to a lake whose catalog is a PostgreSQL database: each sees the tables as they are now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_lakes import SmallLake, Smelt
from test_facade import ask

# The behaviour suite of the file, on the database: these functions are collected here with the fixtures below.
from test_newest import (  # noqa: F401
    count,
    explorer,
    test_a_second_question_sees_the_commit_in_between,
    test_asking_leaves_nothing_in_the_lake,
    test_columns_that_are_added_widened_renamed_or_dropped_are_seen,
    test_one_question_sees_one_snapshot,
    test_tables_that_come_and_go_are_seen_without_a_refresh,
)
from test_sessions import (  # noqa: F401
    scratch,
    test_a_forgotten_session_closes_itself,
    test_readers_see_whole_commits_that_never_go_back_while_a_writer_commits,
)

from postgres_server import PostgresServer
from smelter.catalog_address import parse_address
from smelter.errors import Refused, Unreachable, WrongUsage
from smelter.explore import Explorer, connect
from smelter.explore.catalog import Catalog
from smelter.explore.databases import PostgresDatabase
from smelter.explore.facade import Facade


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.database()


@pytest.fixture
def lake(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallLake]:
    """A lake that nobody has written to yet; the setting says where its catalog is."""
    monkeypatch.setenv("SMELTER_CATALOG", address)
    small = SmallLake(tmp_path / "lake", parse_address(address))
    yield small
    small.close()


def tables_of(postgres: PostgresServer, address: str) -> list[str]:
    """The tables that the database itself has."""
    words = "select tablename from pg_tables where schemaname = 'public' order by 1"
    return [name for (name,) in postgres.ask(words, database=parse_address(address).database)]


def test_a_database_without_tables_is_an_empty_catalog_and_stays_as_it_is(
    lake: SmallLake,
    explorer: Explorer,  # noqa: F811
    postgres: PostgresServer,
    address: str,
) -> None:
    assert {row[0] for row in explorer.execute("show tables").fetchall()} == {"ops"}
    with pytest.raises(Refused, match=r"there is no table bronze\.events: the lake has no tables yet"):
        count(explorer)
    assert tables_of(postgres, address) == []
    assert not lake.path.exists()


def test_a_session_outlives_a_restart_of_its_database(
    lake: SmallLake,
    explorer: Explorer,  # noqa: F811
    postgres: PostgresServer,
) -> None:
    events = lake.with_events([1])
    assert count(explorer) == 1
    postgres.stop()
    with pytest.raises(Unreachable, match="the catalog does not answer"):
        count(explorer)
    postgres.start()
    lake.append(events, [2])
    assert count(explorer) == 2
    assert postgres.cut_lines() > 0
    assert count(explorer) == 2


def test_the_tables_of_another_lake_are_not_shown(lake: SmallLake, address: str, tmp_path: Path) -> None:
    lake.with_events([1])
    with pytest.raises(Refused, match="the catalog of another lake"):
        connect(tmp_path / "other", catalog=address)
    other = Facade(Catalog(PostgresDatabase(parse_address(address), tmp_path / "other")))
    code, said = ask(other, "/v1/namespaces")
    other.close()
    assert (code, b"another lake" in said) == (503, True)


def test_the_address_can_be_given_by_hand(lake: SmallLake, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.with_events([1])
    monkeypatch.delenv("SMELTER_CATALOG")
    for given in (address, parse_address(address)):
        with connect(lake.path, catalog=given) as opened:
            assert count(opened) == 1
    with pytest.raises(WrongUsage, match="names no user") as refusal:
        connect(lake.path, catalog="postgresql://:sesame@h/d")
    assert "sesame" not in str(refusal.value)


def test_the_facade_tells_namespaces_without_tables(lake: SmallLake, address: str) -> None:
    lake.with_events([1])
    lake.catalog.create_namespace("empty")
    opened = Facade(Catalog(PostgresDatabase(parse_address(address), lake.path)))
    assert json.loads(ask(opened, "/v1/namespaces")[1]) == {"namespaces": [["bronze"], ["empty"]]}
    assert json.loads(ask(opened, "/v1/namespaces/empty/tables")[1]) == {"identifiers": []}
    assert ask(opened, "/v1/namespaces/bronze/tables/events")[0] == 200
    opened.close()


def test_the_command_asks_the_database(lake: SmallLake, smelt: Smelt, postgres: PostgresServer) -> None:
    lake.with_events([1, 2])
    done = smelt("sql", "select count(*) as n from bronze.events", "--json")
    assert (done.code, json.loads(done.out)) == (0, [{"n": 2}])
    postgres.stop()
    done = smelt("sql", "show tables")
    assert done.code == 3
    assert done.err.startswith("the catalog does not answer: ")


def test_a_catalog_that_somebody_holds_is_told_after_a_while(
    lake: SmallLake,
    address: str,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake.with_events([1])
    monkeypatch.setattr("smelter.postgres._LOCK_SECONDS", 0.2)
    with postgres.holding("iceberg_tables", parse_address(address).database), pytest.raises(Unreachable, match="lock"):
        connect(lake.path)
    connect(lake.path).close()


def test_a_lake_that_notes_a_database_is_not_taken_for_an_empty_one(
    lake: SmallLake, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.with_events([1])
    (lake.path / "catalog.address").write_text("postgresql://smelter@db.example:5432/lakes\n")
    connect(lake.path).close()
    monkeypatch.delenv("SMELTER_CATALOG")
    with pytest.raises(Refused, match=r"in postgresql://smelter@db\.example:5432/lakes, and no setting names it"):
        connect(lake.path)
