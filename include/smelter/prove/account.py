"""The full check: where every record that was sent must be, and where it is, by identity and content.

Asks neither the judge nor a receipt of the stream; `reconcile` is asked too, and must agree.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from smelter.lake.batches import BatchRecords
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.tables import load_table
from smelter.ledger.reconcile import reconcile
from smelter.prove.ore import NEW_FIELD, Item, letter, row

Identity = tuple[str, int]
MOST_NAMED = 20


@dataclass(frozen=True)
class Expected:
    """What one source must be in the tables: its records, or one letter about the file itself."""

    items: tuple[Item, ...]
    one_letter: str = ""
    version: int = 0  # the contract that must have judged it; 0 is any

    def verdicts(self, version: int) -> list[str]:
        """What must become of its records under a version of the contract, in their order."""
        return [letter(self.one_letter)] if self.one_letter else [item.under(version) for item in self.items]


@dataclass(frozen=True)
class Found:
    """One row of either table."""

    identity: Identity
    verdict: str
    version: int


@dataclass(frozen=True)
class Account:
    """What the tables hold against what was sent; nothing is wrong if all lists are empty."""

    files: int
    records: int
    bronze: int
    dead_letters: int
    lost: tuple[Identity, ...]
    doubled: tuple[Identity, ...]
    unexplained: tuple[Identity, ...]
    wrong: tuple[str, ...]

    @property
    def is_balanced(self) -> bool:
        """Is every record in exactly one place, as it was sent, and does everything else agree?"""
        return not (self.lost or self.doubled or self.unexplained or self.wrong)


def account_of(lake: Lake, dataset: str, sent: Mapping[str, Expected]) -> Account:
    """Compare what was sent to a dataset with what its tables hold."""
    rows = {name: _rows_of(lake, name, dataset) for name in (BRONZE, DEAD_LETTERS)}
    found = [_accepted(one) for one in rows[BRONZE]] + [_letter(one) for one in rows[DEAD_LETTERS]]
    times = Counter(one.identity for one in found)
    expected = _expected(sent, found)
    wrong = [
        f"{one.identity[0]}:{one.identity[1]} is `{one.verdict[:200]}`, not `{expected[one.identity][:200]}`"
        for one in found
        if one.identity in expected and one.verdict != expected[one.identity]
    ]
    return Account(
        files=len(sent),
        records=len(expected),
        bronze=len(rows[BRONZE]),
        dead_letters=len(rows[DEAD_LETTERS]),
        lost=tuple(sorted(expected.keys() - times.keys())),
        doubled=tuple(sorted(identity for identity, count in times.items() if count > 1)),
        unexplained=tuple(sorted(times.keys() - expected.keys())),
        wrong=(*wrong[:MOST_NAMED], *_other_faults(lake, dataset, sent, found, rows)),
    )


def _expected(sent: Mapping[str, Expected], found: list[Found]) -> dict[Identity, str]:
    """Where each record must be; which contract judged a file is told by its rows."""
    judged_by = {one.identity[0]: one.version for one in found}
    return {
        (source, position): verdict
        for source, one in sent.items()
        for position, verdict in enumerate(one.verdicts(judged_by.get(source, one.version or 1)))
    }


def _other_faults(
    lake: Lake, dataset: str, sent: Mapping[str, Expected], found: list[Found], rows: Mapping[str, list[dict[str, Any]]]
) -> Iterator[str]:
    """Contracts that are mixed up, batches that are half done or share a moment, and what the ledger finds."""
    versions = defaultdict(set)
    for one in found:
        versions[one.identity[0]].add(one.version)
    for source, judged_by in sorted(versions.items()):
        must_be = sent[source].version if source in sent else 0
        if len(judged_by) > 1 or (must_be and judged_by != {must_be}):
            yield f"{source} was judged by contract {sorted(judged_by)}, not {must_be or 'one'}"
    for name, table in rows.items():
        stamps = {(one["_batch"], one["_ingested_at"]) for one in table}
        if not len(stamps) == len({batch for batch, _ in stamps}) == len({moment for _, moment in stamps}):
            yield f"{name}: a batch has two moments, or two batches have one"
    books = lake.batches(dataset)
    for state, batches in (("planned", books.planned()), ("prepared", books.prepared())):
        if batches:
            yield f"{len(batches)} batches are only {state}"
    yield from _told_otherwise(books, found)
    for problem in reconcile(lake, dataset).problems[:MOST_NAMED]:
        yield f"reconcile: {problem.kind} {problem.source}:{problem.position} {problem.note}"


def _told_otherwise(books: BatchRecords, found: list[Found]) -> Iterator[str]:
    """The stream's own receipts must tell of the same records as the tables."""
    told = {one.unit.source: (one.accepted, one.dead) for done in books.done() for one in done.receipts}
    accepted = Counter(one.identity[0] for one in found if one.verdict.startswith("row "))
    dead = Counter(one.identity[0] for one in found if not one.verdict.startswith("row "))
    for source in sorted(told.keys() | accepted.keys() | dead.keys()):
        if told.get(source, (0, 0)) != (accepted[source], dead[source]):
            yield f"the receipt of {source} tells of {told.get(source)}, the tables of {accepted[source], dead[source]}"


def _rows_of(lake: Lake, namespace: str, dataset: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = load_table(lake, namespace, dataset).scan().to_arrow().to_pylist()
    return rows


def _accepted(held: dict[str, Any]) -> Found:
    return _found(held, row(held["id"], held["note"], held.get(NEW_FIELD)))


def _letter(held: dict[str, Any]) -> Found:
    return _found(held, letter(held["reason"], held["raw"] or ""))


def _found(held: dict[str, Any], verdict: str) -> Found:
    return Found((held["_source"], held["_position"]), verdict, int(held["_contract"].rpartition("@")[2]))
