"""Streams of a few small batches, restored as they were for each test; and records of many batches, made up."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bronze.streams import LIMITS, Stream, contract_of
from smelter.bronze import recovery
from smelter.bronze.spread import Here
from smelter.lake.batches import BatchRecords, Done, Receipt, Unit
from smelter.lake.home import BRONZE, DEAD_LETTERS, LEDGER, OPS, Lake
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile
from smelter.maintenance import receipts
from smelter.maintenance.receipts import Folded, fold
from smelter.settings import Settings

NAME = "orders"
BATCHES = 5
LATER = timedelta(days=2)


@pytest.fixture(scope="module", name="grown")
def a_lake_with_five_batches(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """A lake with a stream of five batches, and a copy to restore it from: tables know the path where they lie."""
    place = tmp_path_factory.mktemp("grown")
    stream = Stream(Lake.at(Settings(lake=place / "lake")), contract_of(NAME))
    for number in range(BATCHES):
        stream.add(f"{number}.json")
        stream.drain_here(batch=number)
    shutil.copytree(place / "lake", place / "kept")
    return place / "lake", place / "kept", stream.sent


@pytest.fixture(name="stream")
def five_batches(grown: tuple[Path, Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Stream:
    """The stream of five batches, of which all but the newest may be folded."""
    folder, kept, sent = grown
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)
    monkeypatch.setattr(receipts, "NEWEST_KEPT", 1)
    return Stream(Lake.at(Settings(lake=folder)), contract_of(NAME), dict(sent))


def folded(stream: Stream, reach: Callable[[str], None] = lambda _point: None) -> Folded:
    """Fold two days from now."""
    return fold(stream.lake, stream.name, datetime.now(UTC) + LATER, reach)


def told(stream: Stream) -> list[Done]:
    """What a reader finds who comes now."""
    return Stream(Lake.at(Settings(lake=stream.lake.root)), stream.contract).lake.batches(stream.name).done()


def files_of(stream: Stream) -> list[int]:
    """The numbers of batches whose record is a file."""
    return [int(path.name.partition(".")[0]) for path in stream.lake.batches(stream.name).done_files()]


def sequences(records: BatchRecords) -> list[int]:
    """The numbers of finished batches."""
    return [done.sequence for done in records.done()]


def ledger_rows(lake: Lake) -> list[dict[str, Any]]:
    """Every row of `ops.ledger`."""
    rows: list[dict[str, Any]] = load_table(lake, OPS, LEDGER).scan().to_arrow().to_pylist()
    return rows


def check(stream: Stream) -> None:
    """Each record that was sent is in exactly one place, and the ledger agrees."""
    places: list[tuple[str, int]] = []
    for name in (BRONZE, DEAD_LETTERS):
        rows = load_table(stream.lake, name, stream.name).scan(selected_fields=("_source", "_position")).to_arrow()
        places += [(row["_source"], row["_position"]) for row in rows.to_pylist()]
    sent = [(source, number) for source, one in stream.sent.items() for number in range(one.data.count(b"\n"))]
    assert sorted(places) == sorted(sent)
    assert [str(problem) for problem in reconcile(stream.lake, stream.name).problems] == []


def recover_here(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recovery whose tasks run in this process; nothing else of it is another."""
    monkeypatch.setattr(recovery, "OnSpark", lambda _session: Here())
    recovery.recover(stream.lake, stream.contract, LIMITS, spark=object())  # type: ignore[arg-type]


def made_up(number: int, begun: datetime, receipts: int = 1) -> Done:
    """A batch that is in no table."""
    units = (Unit(f"file:///landing/orders/{number:06}-{one}.json", 33_400, 10**18 + number) for one in range(receipts))
    return Done(
        token=f"{NAME}:ab12cd34ef56:{number}:{number:016x}",
        sequence=number,
        contract=f"{NAME}@1",
        ingested_at=begun + timedelta(seconds=2 * number),
        receipts=[Receipt(unit, f"{number:064x}", 100, 98, 2) for unit in units],
        limits={"most_bytes": 2**30, "most_record_bytes": 2**24},
        tables={BRONZE: "0b9e6c4e-3a6c-4f7e-9d35-7d6e4ab1c0f3", DEAD_LETTERS: "1b9e6c4e-3a6c-4f7e-9d35-7d6e4ab1c0f3"},
        snapshots={BRONZE: number * 7919, DEAD_LETTERS: number * 104_729},
    )


def leave_records(folder: Path, batches: list[Done]) -> None:
    """As a stream leaves them; not made durable one by one, which would take a minute."""
    folder.mkdir(parents=True, exist_ok=True)
    for done in batches:
        (folder / f"{done.sequence:09}.done.json").write_bytes(msgspec.json.encode(done))
