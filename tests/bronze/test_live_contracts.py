"""Contracts that change under a stream: at its next batch, in one commit, once; and nothing is lost on the way."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from accounts import check, rows_of
from conftest import NewStream
from crashes import POINTS, Crash, crash_at
from drivers import wait_until
from pyiceberg.exceptions import CommitFailedException
from streams import LIMITS, Stream, contract_of

from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.errors import Refused
from smelter.lake import evolution
from smelter.lake.evolution import apply_contract, plan_contract
from smelter.lake.home import BRONZE, CONTRACTS, OPS
from smelter.lake.past_contracts import contract_history
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUPON = "  coupon: {type: string}\n"


def change(stream: Stream, version: int, more_fields: str = COUPON, **words: Any) -> None:
    contract = contract_of(stream.name, version=version, more_fields=more_fields, **words)
    apply_contract(stream.lake, contract)
    stream.contract = contract


@pytest.mark.jvm
def test_a_field_added_while_the_stream_follows_is_there_at_the_next_batch_of_the_same_query(
    shared: NewStream, spark: SparkSession
) -> None:
    stream: Stream = shared()
    over = threading.Event()
    pace = Pace(follow=True, trigger_seconds=0.1)
    words = (stream.lake, stream.contract, LIMITS, pace, Hooks(should_stop=over.is_set), spark)
    driver = threading.Thread(target=ingest, args=words)
    driver.start()
    try:
        stream.add("before.json", b'{"id": 1}\n{"id": 2, "coupon": "too early"}\n')
        wait_until(lambda: stream.has_read("before.json"), "the first file was read")
        (first,) = [(query.id, query.runId) for query in spark.streams.active if query.name.endswith(stream.name)]
        change(stream, 2)
        stream.add("after.json", b'{"id": 3, "coupon": "X1"}\n{"id": 4}\n')
        wait_until(lambda: stream.has_read("after.json"), "the second file was read")
        (last,) = [(query.id, query.runId) for query in spark.streams.active if query.name.endswith(stream.name)]
    finally:
        over.set()
        driver.join()
    assert first == last
    rows = {row["id"]: (row["coupon"], row["_contract"]) for row in rows_of(stream, BRONZE)}
    one, two = f"{stream.name}@1", f"{stream.name}@2"
    assert rows == {1: (None, one), 3: ("X1", two), 4: (None, two)}
    assert reconcile(stream.lake, stream.name).is_balanced


@pytest.mark.parametrize("point", POINTS)
def test_a_contract_that_changes_between_crash_and_restart_loses_and_doubles_nothing(
    stream: Stream, point: str
) -> None:
    stream.add("first.json")
    stream.drain_here()
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at(point), batch=1)
    change(stream, 2)
    stream.add("b.json")
    stream.drain_here(batch=2)
    check(stream)
    labels = {row["_contract"] for row in rows_of(stream, BRONZE) if row["_source"].endswith("/a.json")}
    is_finished_as_it_was = point in ("prepared", "between_commits", "committed", "done")
    assert labels == {f"{stream.name}@1" if is_finished_as_it_was else f"{stream.name}@2"}


def test_contracts_change_again_and_again_beside_a_busy_stream(stream: Stream) -> None:
    stream.add("first.json")
    stream.drain_here()
    over = threading.Event()

    def work() -> int:
        number = 0
        while not over.is_set():
            number += 1
            stream.add(f"{number}.json")
            stream.drain_here(batch=number)
        return number

    with ThreadPoolExecutor(1) as pool:
        batches = pool.submit(work)
        try:
            for version in range(2, 22):
                fields = "".join(f"  extra_{number}: {{type: int}}\n" for number in range(2, version + 1))
                apply_contract(stream.lake, contract_of(stream.name, version=version, more_fields=fields))
        finally:
            over.set()
        assert batches.result() > 1
    check(stream)
    assert [past.contract.version for past in contract_history(stream.lake, stream.name)] == list(range(1, 22))


def test_of_two_that_apply_at_once_one_wins_and_the_other_is_told(stream: Stream) -> None:
    stream.add("first.json")
    stream.drain_here()
    for version in range(2, 7):
        start = threading.Barrier(2)
        kept = "".join(f"  kept_{number}: {{type: int}}\n" for number in range(2, version))
        wishes = [
            contract_of(stream.name, version=version, more_fields=f"{kept}  kept_{version}: {{type: int{rule}}}\n")
            for rule in ("", ", min: 5")
        ]

        def apply(wish: Any, start: threading.Barrier = start) -> str:
            start.wait()
            try:
                apply_contract(stream.lake, wish)
            except Refused as problem:
                return problem.what
            return "won"

        with ThreadPoolExecutor(2) as pool:
            outcomes = list(pool.map(apply, wishes))
        assert outcomes.count("won") == 1
        assert any("a change has the next version" in outcome for outcome in outcomes)
        won = wishes[outcomes.index("won")]
        assert contract_history(stream.lake, stream.name)[-1].contract == won


def test_a_change_that_was_made_from_a_contract_that_is_no_longer_active_is_not_committed(stream: Stream) -> None:
    """Also without the lock, which another host would not see; and also if only rules change."""
    stream.add("first.json")
    stream.drain_here()
    table = load_table(stream.lake, BRONZE, stream.name)
    about = contract_of(stream.name, version=2).model_copy(update={"about": "Another wish."})
    planned = plan_contract(table, about)
    apply_contract(stream.lake, contract_of(stream.name, version=2).model_copy(update={"about": "The first wish."}))
    with pytest.raises(CommitFailedException):
        evolution._commit(table, planned)
    assert contract_history(stream.lake, stream.name)[-1].contract.about == "The first wish."


def test_a_contract_that_was_active_is_remembered_also_if_its_change_was_killed(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream.add("first.json")
    stream.drain_here()
    with monkeypatch.context() as patched:
        patched.setattr(evolution, "_commit", lambda *_: (_ for _ in ()).throw(Crash("before the commit")))
        with pytest.raises(Crash):
            change(stream, 2)
    assert [past.contract.version for past in contract_history(stream.lake, stream.name)] == [1]
    with monkeypatch.context() as patched:
        remember, calls = evolution.remember_active, []

        def once(*words: Any) -> None:
            calls.append(words)
            if len(calls) == 2:
                raise Crash("after the commit")
            remember(*words)

        patched.setattr(evolution, "remember_active", once)
        with pytest.raises(Crash):
            change(stream, 2)
    assert [past.contract.version for past in contract_history(stream.lake, stream.name)] == [1, 2]
    change(stream, 2)
    change(stream, 3, COUPON + "  more: {type: int}\n")
    rows = load_table(stream.lake, OPS, CONTRACTS).scan().to_arrow().to_pylist()
    assert sorted(row["version"] for row in rows) == [1, 2, 3]
    assert [past.contract.version for past in contract_history(stream.lake, stream.name)] == [1, 2, 3]


def test_applying_before_the_first_ingest_makes_the_tables(stream: Stream) -> None:
    assert apply_contract(stream.lake, stream.contract) is None
    stream.add("a.json")
    stream.drain_here()
    check(stream)


@pytest.mark.parametrize("name", ["id", "nothing"])
def test_only_fields_that_are_gone_from_the_contract_can_be_dropped(stream: Stream, name: str) -> None:
    stream.add("a.json")
    stream.drain_here()
    with pytest.raises(Refused, match=f"`{name}` cannot be dropped"):
        apply_contract(stream.lake, contract_of(stream.name, version=2, more_fields=COUPON), drop=[name])


@pytest.mark.jvm
def test_what_becomes_of_files_changes_with_the_contract(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    stream.add("kept.json")
    stream.drain(spark)
    change(stream, 2, after_commit="archive")
    stream.add("moved.json")
    stream.drain(spark)
    archived = {path.name for path in stream.lake.archive(stream.name).rglob("*.json")}
    assert archived == {"kept.json", "moved.json"}
    check(stream)
