"""A database that is gone, cut off, locked, full or to read only: one sentence, and the stream stays exact."""

from __future__ import annotations

import traceback
from contextlib import closing
from pathlib import Path

import pytest
from accounts import check, places_found
from crashes import do_at
from cut_lines import Cut, CuttingProxy
from streams import Stream, contract_of
from test_batches import tokens

from postgres_server import PASSWORD, SECRET, USER, PostgresServer, address
from smelter.catalog_address import CatalogAddress, parse_address
from smelter.errors import Unreachable
from smelter.lake import catalog
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.tables import load_table
from smelter.settings import Settings

IN_NO_SPACE = """
    create function fill() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
    create trigger full_disk before update on iceberg_tables execute function fill();
"""


@pytest.fixture
def lake(tmp_path: Path, postgres: PostgresServer) -> Lake:
    """A lake of its own, with a database of its own."""
    return Lake.at(Settings(lake=tmp_path / "lake", catalog=postgres.database()))


@pytest.fixture
def database(lake: Lake) -> str:
    assert lake.address is not None
    return lake.address.database


def restarted(stream: Stream) -> Stream:
    """The same stream in a new process: nothing is open yet."""
    lake = Lake.at(Settings(lake=stream.lake.root, catalog=stream.lake.address))
    return Stream(lake, stream.contract, stream.sent, stream.one_letter)


def fails(stream: Stream, point: str = "", act: object = None) -> Unreachable:
    """A drain that ends with one sentence and exit code 3."""
    with pytest.raises(Unreachable) as told:
        stream.drain_here(do_at(point, act) if point else None)  # type: ignore[arg-type]
    assert told.value.exit_code == 3
    assert "\n" not in told.value.what
    assert SECRET not in "".join(traceback.format_exception(told.value))
    return told.value


@pytest.mark.parametrize("point", ["planned", "prepared", "between_commits", "committed"])
def test_a_database_that_stops_during_a_batch_leaves_it_to_the_next_start(
    stream: Stream, postgres: PostgresServer, point: str
) -> None:
    stream.add("before.json")
    stream.drain_here()
    stream.add("a.json")
    if point == "committed":  # nothing is asked of the catalog any more
        stream.drain_here(do_at(point, postgres.stop))
    else:
        told = fails(stream, point, postgres.stop)
        assert "a batch that was prepared is finished at the next start" in told.data
        assert "refused" in told.what or "closed" in told.what or "terminat" in told.what
    again = restarted(stream)
    if point != "committed":
        assert "the catalog does not answer" in fails(again).what
    postgres.start()
    again.add("b.json")
    again.drain_here()
    check(again)


@pytest.mark.parametrize("point", ["planned", "prepared", "between_commits"])
def test_a_restart_of_the_database_between_two_questions_is_not_even_noticed(
    stream: Stream, postgres: PostgresServer, point: str
) -> None:
    def restart() -> None:
        postgres.stop()
        postgres.start()

    for number in range(2):
        stream.add(f"{number}.json")
        stream.drain_here(do_at(point, restart), batch=number)
    check(stream)


@pytest.mark.parametrize("nth", [1, 2], ids=["dead letters", "bronze"])
@pytest.mark.parametrize("when", Cut)
def test_a_commit_whose_answer_was_lost_is_made_once(
    tmp_path: Path, postgres: PostgresServer, when: Cut, nth: int
) -> None:
    proxy = CuttingProxy(postgres.port, when, nth)
    with closing(proxy):
        name = parse_address(postgres.database()).database
        through_proxy = address(USER, PASSWORD, proxy.port, name)
        stream = Stream(Lake.at(Settings(lake=tmp_path / "lake", catalog=through_proxy)), contract_of("orders"))
        stream.add("a.json")
        told = fails(stream)
        assert proxy.has_cut
        assert told.where in {"dead_letters.orders", "bronze.orders"}
        committed = len(tokens(stream, (DEAD_LETTERS, BRONZE)[nth - 1]))
        assert committed == (1 if when is Cut.AFTER else 0)
        again = restarted(stream)
        again.add("b.json")
        again.drain_here(batch=1)
        check(again)
        assert [len(tokens(again, namespace)) for namespace in (DEAD_LETTERS, BRONZE)] == [2, 2]


@pytest.mark.parametrize("trouble", ["read-only", "No space left"])
def test_a_database_that_cannot_be_written_keeps_the_batch_for_later_and_can_be_read(
    stream: Stream, postgres: PostgresServer, database: str, trouble: str
) -> None:
    stream.add("a.json")
    stream.drain_here()
    before = sorted(places_found(stream))
    if trouble == "read-only":
        postgres.do(f'alter database "{database}" set default_transaction_read_only = on')
        postgres.cut_lines()
    else:
        postgres.do(IN_NO_SPACE, database=database)
    again = restarted(stream)
    again.add("b.json")
    assert trouble in fails(again).what
    assert sorted(places_found(restarted(again))) == before
    if trouble == "read-only":
        postgres.do(f'alter database "{database}" reset default_transaction_read_only')
    else:
        postgres.do("drop trigger full_disk on iceberg_tables", database=database)
    once_more = restarted(again)
    once_more.drain_here()
    check(once_more)


def test_a_catalog_that_stays_locked_is_told_and_the_batch_is_finished_later(
    stream: Stream, postgres: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "BUSY_SECONDS", 0.2)
    stream.add("a.json")
    holds = postgres.holding("iceberg_tables", database)
    told = fails(stream, "prepared", holds.__enter__)
    assert told.what == "the catalog was locked for 0.2 s"
    assert "pg_stat_activity" in told.next_step
    holds.__exit__(None, None, None)
    stream.add("b.json")
    stream.drain_here(batch=1)
    check(stream)


@pytest.fixture
def strangers(lake: Lake) -> dict[str, CatalogAddress]:
    """Addresses that do not open."""
    right = lake.address
    assert right is not None
    parts = {"host": right.host, "port": right.port, "database": right.database, "user": right.user}
    return {
        'password authentication failed for user "smelter"': CatalogAddress(**parts, password=SECRET),
        'password authentication failed for user "nobody"': CatalogAddress(
            **{**parts, "user": "nobody"}, password=SECRET
        ),
        'database "nowhere" does not exist': CatalogAddress(
            **{**parts, "database": "nowhere"}, password=right.password
        ),
        "Connection refused": CatalogAddress(**{**parts, "port": 1}, password=SECRET),
        "does not support SSL": CatalogAddress(**parts, password=SECRET, sslmode="require"),
    }


def test_an_address_that_does_not_open_is_told_without_the_password(
    stream: Stream, strangers: dict[str, CatalogAddress]
) -> None:
    for said, wrong in strangers.items():
        lake = Lake.at(Settings(lake=stream.lake.root, catalog=wrong))
        with pytest.raises(Unreachable) as told:
            Stream(lake, stream.contract).bronze()
        assert said in told.value.what
        assert told.value.where == str(wrong)
        shown = "".join(traceback.format_exception(told.value)) + str(told.value) + repr(lake)
        assert SECRET not in shown


def test_nothing_that_the_stream_writes_holds_the_password(stream: Stream) -> None:
    stream.add("a.json")
    stream.drain_here()
    table = load_table(stream.lake, BRONZE, stream.name)
    assert SECRET not in f"{table!r} {table.properties} {table.io.properties} {table.catalog.properties}"
    assert "uri" not in {**table.io.properties, **table.catalog.properties}
    assert SECRET in str(stream.lake.address.libpq())  # so that the search below is for something
    files = [path for path in stream.lake.root.rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
