"""The full check: where every record that was ever sent must be, and where it is. Asks no receipt of the stream."""

from __future__ import annotations

import importlib.util
import io
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bronze.streams import LIMITS, NS, Sent, Stream
from smelter.contracts import Contract
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.tables import load_table
from smelter.records import Judge, Source

Place = tuple[str, int, str]  # source, position, and the verdict: the record's own number, or the reason of its letter


@dataclass(frozen=True)
class Account:
    """What is wrong with the tables of a stream; nothing, if all is well."""

    missing: list[Place]
    doubled: list[Place]
    unexplained: list[Place]

    @property
    def is_balanced(self) -> bool:
        return not (self.missing or self.doubled or self.unexplained)


def account_of(stream: Stream) -> Account:
    """Compare what was sent with what both tables hold."""
    expected, found = Counter(places_sent(stream)), Counter(places_found(stream))
    assert max(expected.values(), default=1) == 1
    return Account(
        missing=sorted(expected - found),
        doubled=sorted(place for place, count in found.items() if count > 1),
        unexplained=sorted(Counter(set(found)) - expected),
    )


def check(stream: Stream, *, reconciled: bool = True) -> None:
    """Each record exactly once, in the right table; batches in order; nothing half done; and the ledger agrees."""
    assert account_of(stream) == Account([], [], [])
    _check_batches(stream)
    _check_receipts(stream)
    if reconciled and importlib.util.find_spec("smelter.ledger.reconcile") is not None:
        from smelter.ledger.reconcile import reconcile

        assert [str(problem) for problem in reconcile(stream.lake, stream.name).problems] == []


def places_sent(stream: Stream) -> list[Place]:
    """Where the records must be: the judge's own verdict on the bytes that were sent."""
    places: list[Place] = [(source, 0, reason) for source, reason in stream.one_letter.items()]
    for source, sent in stream.sent.items():
        if source not in stream.one_letter:
            places += verdicts(stream.contract, source, sent)
    return places


def verdicts(contract: Contract, source: str, sent: Sent) -> list[Place]:
    """What the judge says about the bytes of one source."""
    arrived = datetime.fromtimestamp(sent.modified_ns // NS, UTC)
    judgement = Judge(contract, LIMITS).judge(Source(source, len(sent.data), arrived, lambda: io.BytesIO(sent.data)))
    places: list[Place] = []
    for part in judgement:
        places += [(source, row["_position"], f"id {row['id']}") for row in part.rows.to_pylist()]
        places += [(source, letter.position, letter.reason.value) for letter in part.letters]
    return places


def places_found(stream: Stream) -> list[Place]:
    """Where the records are."""
    accepted = [(row["_source"], row["_position"], f"id {row['id']}") for row in rows_of(stream, BRONZE)]
    return accepted + [(row["_source"], row["_position"], row["reason"]) for row in rows_of(stream, DEAD_LETTERS)]


def rows_of(stream: Stream, namespace: str, *fields: str) -> list[dict[str, Any]]:
    """The rows of one of the stream's tables, read by PyIceberg."""
    scan = load_table(stream.lake, namespace, stream.name).scan(selected_fields=fields or ("*",))
    rows: list[dict[str, Any]] = scan.to_arrow().to_pylist()
    return rows


def _check_batches(stream: Stream) -> None:
    """One moment per batch, and no two batches with the same."""
    for namespace in (BRONZE, DEAD_LETTERS):
        stamps = {(row["_batch"], row["_ingested_at"]) for row in rows_of(stream, namespace, "_batch", "_ingested_at")}
        assert len(stamps) == len({batch for batch, _ in stamps}) == len({moment for _, moment in stamps})
    letters = rows_of(stream, DEAD_LETTERS, "_id")
    assert len({row["_id"] for row in letters}) == len(letters)


def _check_receipts(stream: Stream) -> None:
    """The stream's own books tell of the same records as the tables, and no batch is half done."""
    books = stream.lake.batches(stream.name)
    assert (books.planned(), books.prepared()) == ([], [])
    told = {one.unit.source: (one.accepted, one.dead) for done in books.done() for one in done.receipts}
    places = places_found(stream)
    accepted = Counter(source for source, _, verdict in places if verdict.startswith("id "))
    dead = Counter(source for source, _, verdict in places if not verdict.startswith("id "))
    assert {source: both for source, both in told.items() if both != (0, 0)} == {
        source: (accepted[source], dead[source]) for source in accepted | dead
    }
