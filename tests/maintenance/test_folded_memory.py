"""What was folded is the stream's memory still: nothing is taken twice, and where it is lost the stream is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext

import msgspec
import pytest
from many_batches import (
    NAME,
    a_lake_with_five_batches,  # noqa: F401
    check,
    files_of,
    five_batches,  # noqa: F401
    folded,
    recover_here,
    sequences,
    told,
)

from bronze.crashes import do_at
from bronze.streams import Stream
from smelter.errors import Refused, Unreachable
from smelter.lake.batches import Intent
from smelter.lake.fold_marks import MARK
from smelter.lake.home import LEDGER, OPS
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile


def test_a_driver_whose_spark_has_lost_its_memory_takes_nothing_a_second_time(stream: Stream) -> None:
    folded(stream)
    shutil.rmtree(stream.checkpoint, ignore_errors=True)
    assert stream.drain_here() == []
    stream.add("new.json")
    (report,) = stream.drain_here()
    assert (report.files, sequences(stream.lake.batches(NAME))) == (1, [1, 2, 3, 4, 5, 6])
    check(stream)


def test_what_was_overtaken_goes_before_the_record_that_overtook_it(stream: Stream) -> None:
    """Else a plan whose batch was folded would look as if it had never come further."""
    records, first = stream.lake.batches(NAME), told(stream)[0]
    plan = records.folder / f"{first.token.partition(':')[2].replace(':', '-')}.planned.json"
    plan.write_bytes(msgspec.json.encode({"token": first.token, "units": [one.unit for one in first.receipts]}))
    folded(stream)
    assert (plan.exists(), records.planned()) == (False, [])


def test_a_driver_that_slept_until_its_number_was_folded_is_refused(stream: Stream) -> None:
    stream.add("a.json")

    def another() -> None:
        stream.lock_is_lost()
        for number, name in enumerate(("b.json", "c.json")):
            stream.add(name)
            stream.drain_here(batch=10 + number)
        folded(stream)

    with pytest.raises(Refused, match="another driver has batch 6 already"):
        stream.drain_here(do_at("judged", another), batch=10)
    assert 6 not in files_of(stream)
    check(stream)
    assert stream.drain_here() == []


def test_what_a_killed_sleeper_had_prepared_under_a_folded_number_is_never_committed(stream: Stream) -> None:
    folded(stream)
    records = stream.lake.batches(NAME)
    first = told(stream)[0]
    stale = Intent(first.token + "x", 1, "orders@1", first.ingested_at, first.receipts, [], [], {}, first.tables)
    (records.folder / "000000001.prepared.json").write_bytes(msgspec.json.encode(stale))
    assert records.prepared() == []
    assert stream.drain_here() == []
    assert not list(records.folder.glob("*.prepared.json"))
    check(stream)


def lose_table(stream: Stream) -> None:
    stream.lake.catalog.drop_table((OPS, LEDGER))


def lose_rows(stream: Stream) -> None:
    load_table(stream.lake, OPS, LEDGER).delete("sequence = 2")


def lose_data_file(stream: Stream) -> None:
    for path in (stream.lake.root / "tables" / OPS / LEDGER).rglob("*.parquet"):
        path.unlink()


def lose_metadata(stream: Stream) -> None:
    shutil.rmtree(stream.lake.root / "tables" / OPS / LEDGER)


def lose_mark(stream: Stream) -> None:
    (stream.receipts / MARK).unlink()


def lose_files_and_table(stream: Stream) -> None:
    lose_table(stream)
    for path in stream.lake.batches(NAME).done_files():
        path.unlink()


def lose_folder(stream: Stream) -> None:
    shutil.rmtree(stream.receipts)


LOSSES = (lose_table, lose_rows, lose_data_file, lose_metadata, lose_mark, lose_files_and_table, lose_folder)


@pytest.mark.parametrize("lose", LOSSES)
def test_when_folded_records_are_lost_the_stream_is_refused_and_a_recovery_writes_nothing_twice(
    stream: Stream, lose: Callable[[Stream], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    folded(stream)
    lose(stream)
    stream.add("new.json")
    with pytest.raises(Refused) as refusal:
        stream.drain_here()
    assert refusal.value.next_step.startswith(f"smelt ingest {NAME} --recover")
    assert not reconcile(stream.lake, NAME).is_balanced
    recover_here(stream, monkeypatch)
    check(stream)
    stream.add("later.json")
    stream.drain_here()
    before = told(stream)
    with pytest.raises(Unreachable, match="metadata") if lose is lose_metadata else nullcontext():
        folded(stream)
    assert told(stream) == before
    assert stream.drain_here() == []
    check(stream)


def test_a_mark_that_cannot_be_read_is_named(stream: Stream) -> None:
    folded(stream)
    (stream.receipts / MARK).write_bytes(b'{"book":')
    with pytest.raises(Unreachable, match="how far records of batches were folded") as refusal:
        stream.drain_here()
    assert refusal.value.where == str(stream.receipts / MARK)
