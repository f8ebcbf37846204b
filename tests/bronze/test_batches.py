"""One batch becomes at most two commits, once, wherever its driver ends. No JVM: the batch itself is under test."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from accounts import check, rows_of
from crashes import POINTS, Crash, crash_at
from pyiceberg.types import StringType
from streams import Stream, contract_of, records

from smelter.bronze import batch
from smelter.lake.batches import BatchRecords
from smelter.lake.commits import TOKEN, ancestors, told
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.tables import ACTIVE, load_table


def tokens(stream: Stream, namespace: str) -> list[str | None]:
    """The tokens of all commits of a table, oldest first."""
    table = load_table(stream.lake, namespace, stream.name)
    return [told(snapshot, TOKEN) for snapshot in ancestors(table.metadata)][::-1]


@pytest.mark.parametrize("point", POINTS)
def test_a_batch_that_was_killed_anywhere_is_in_the_tables_once(stream: Stream, point: str) -> None:
    stream.add("before.json")
    stream.drain_here()
    stream.add("a.json")
    stream.add("b.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at(point))
    stream.add("arrived after the crash.json")
    stream.drain_here()
    check(stream)
    stream.add("arrived later.json")
    stream.drain_here()
    check(stream)


@pytest.mark.parametrize("first", ["judged", "between_commits"])
@pytest.mark.parametrize("second", ["planned", "judged", "prepared", "between_commits", "done"])
def test_a_driver_that_is_killed_again_while_it_puts_things_in_order_loses_nothing(
    stream: Stream, first: str, second: str
) -> None:
    for number, point in enumerate((first, second, second)):
        stream.add(f"{number}.json")
        with pytest.raises(Crash):
            stream.drain_here(crash_at(point), batch=number)
    stream.add("last.json")
    stream.drain_here(batch=3)
    check(stream)


def test_a_batch_with_both_kinds_of_records_makes_one_commit_per_table_under_one_token(stream: Stream) -> None:
    stream.add("a.json", records(good=3, bad=2))
    (report,) = stream.drain_here()
    assert tokens(stream, BRONZE) == tokens(stream, DEAD_LETTERS) == [report.token]
    assert (report.files, report.records, report.accepted, report.dead) == (1, 5, 3, 2)
    check(stream)


def test_a_batch_without_dead_letters_makes_one_commit(stream: Stream) -> None:
    stream.add("a.json", records(good=3, bad=0))
    (report,) = stream.drain_here()
    assert (tokens(stream, BRONZE), tokens(stream, DEAD_LETTERS)) == ([report.token], [])
    check(stream)


def test_a_batch_of_dead_letters_only_makes_one_commit(stream: Stream) -> None:
    stream.add("a.json", records(good=0, bad=3))
    (report,) = stream.drain_here()
    assert (tokens(stream, BRONZE), tokens(stream, DEAD_LETTERS)) == ([], [report.token])
    check(stream)


def test_a_batch_without_records_makes_no_commit_and_keeps_its_receipts(stream: Stream) -> None:
    stream.add("a.json", b"\n \n")
    (report,) = stream.drain_here()
    assert (tokens(stream, BRONZE), tokens(stream, DEAD_LETTERS)) == ([], [])
    assert [done.receipts for done in BatchRecords(stream.receipts).done()] == [list(report.receipts)]
    check(stream)
    assert stream.drain_here() == []


def test_nothing_new_is_no_batch(stream: Stream) -> None:
    stream.add("a.json")
    stream.drain_here()
    before = sorted(stream.receipts.iterdir())
    assert stream.drain_here() == []
    assert sorted(stream.receipts.iterdir()) == before
    check(stream)


def test_when_every_record_is_bad_every_record_is_a_dead_letter(stream: Stream) -> None:
    stream.add("garbage.json", b"\x00\xff{[" * 50)
    stream.add("prose.json", b"not json\n" * 40)
    stream.add("picture.json.gz", bytes(range(256)) * 4)
    stream.add("wrong.json", records(good=0, bad=30))
    (report,) = stream.drain_here()
    assert (report.accepted, report.dead) == (0, report.records)
    assert report.dead >= 70
    check(stream)


def test_moments_of_batches_increase_also_when_the_clock_is_set_back(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Clock(datetime):
        years = iter((2030, 2020, 2020, 1999))

        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime(next(cls.years), 1, 1, tzinfo=UTC)

    monkeypatch.setattr(batch, "datetime", Clock)
    for number in range(4):
        stream.add(f"{number}.json")
        stream.drain_here(batch=number)
    for namespace in (BRONZE, DEAD_LETTERS):
        rows = rows_of(stream, namespace, "_batch", "_ingested_at")
        moment = {row["_batch"]: row["_ingested_at"] for row in rows}
        in_order = [moment[token] for token in tokens(stream, namespace) if token]
        assert len(in_order) == 4
        assert all(earlier < later for earlier, later in pairwise(in_order))
    check(stream)


def test_a_contract_file_that_changes_between_the_two_commits_does_not_change_the_batch(stream: Stream) -> None:
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("between_commits"))
    old = stream.contract
    stream.contract = contract_of("orders", version=2, more_fields="  city: {type: string, required: true}\n")
    stream.add("b.json")
    stream.drain_here()
    stream.contract = old
    check(stream)
    rows = rows_of(stream, BRONZE) + rows_of(stream, DEAD_LETTERS)
    assert {row["_contract"] for row in rows} == {"orders@1"}


def test_a_contract_that_is_applied_between_the_two_commits_holds_from_the_next_batch_on(stream: Stream) -> None:
    stream.add("a.json")
    with pytest.raises(Crash):
        stream.drain_here(crash_at("between_commits"))
    newer = contract_of("orders", version=2, more_fields="  city: {type: string}\n")
    with load_table(stream.lake, BRONZE, "orders").transaction() as change:
        with change.update_schema() as schema:
            schema.add_column("city", StringType())
        change.set_properties({ACTIVE: newer.model_dump_json(by_alias=True, exclude_unset=True)})
    stream.add("b.json", b'{"id": 5, "city": "Ur"}\n')
    sent = dict(stream.sent)
    stream.drain_here()
    rows = rows_of(stream, BRONZE, "_contract", "city", "id")
    assert {(row["_contract"], row["city"]) for row in rows} == {("orders@1", None), ("orders@2", "Ur")}
    stream.contract = newer
    assert stream.sent == sent
    check(stream)
