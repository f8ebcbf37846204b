"""Do the records of batches and the tables belong together? If not, going on would double or lose records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from pyiceberg.table import Table

from smelter.bronze.batch import Bronze
from smelter.bronze.books import Books
from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.lake.batches import BatchRecords, Intent
from smelter.lake.commits import newest_batch
from smelter.lake.home import BRONZE, DEAD_LETTERS, Lake
from smelter.lake.identities import newest_moment


class Kept(Protocol):
    """What is kept of a stream: its books beside its tables."""

    @property
    def lake(self) -> Lake: ...

    @property
    def contract(self) -> Contract: ...

    @property
    def dataset(self) -> str: ...

    @property
    def records(self) -> BatchRecords: ...

    @property
    def books(self) -> Books: ...

    def table(self, namespace: str) -> Table:
        """The dataset's table."""


def refuse_strangers(bronze: Kept) -> None:
    """Refuse to go on over lost records or other tables; `--recover` is the way out."""
    problem = next(_problems(bronze), None)
    if problem is not None:
        raise Refused(
            problem,
            where=str(bronze.records.folder),
            data="nothing was changed; going on could write records twice",
            next_step=f"smelt ingest {bronze.dataset} --recover reads the landing files again and writes only what is "
            "missing",
        )


def refuse_a_part(bronze: Kept) -> None:
    """Refuse to recover some of the files where only all of them tell what the tables should hold."""
    problem = next(_problems(bronze), None)
    if problem is not None:
        raise Refused(
            f"{problem}, and reading a part of the files again does not mend that",
            where=str(bronze.records.folder),
            data="no file was read again",
            next_step=f"read all of them: smelt ingest {bronze.dataset} --recover, without --since and --until",
        )


def newest_tokens(bronze: Kept) -> list[str]:
    """The newest batch of this stream in each table, as far as its snapshots tell."""
    return [token for name in (BRONZE, DEAD_LETTERS) if (token := _newest_token(bronze, name)) is not None]


def drop_strangers(bronze: Bronze) -> list[Intent]:
    """Forget intents that cannot be finished, and return the others; a recovery reads their files again.

    Their tables are no more, or somebody removed their data files.
    """
    kept = []
    for intent in bronze.books.waiting:
        is_ours = all(_uuid(bronze, name) == intent.tables[name] for name in (BRONZE, DEAD_LETTERS))
        if is_ours and not any(bronze.lost_files(intent).values()):
            kept.append(intent)
        else:
            bronze.records.forget_intent(intent)
            bronze.books.leave(intent)
    return kept


def _problems(bronze: Kept) -> Iterator[str]:
    if bronze.books.is_recovering:
        yield "a recovery was begun and not finished"
    gaps = bronze.books.missing_sequences()
    if gaps:
        yield f"the record of {len(gaps)} of {bronze.books.next_sequence() - 1} batches is lost"
    for name in (BRONZE, DEAD_LETTERS):
        if bronze.books.tables.get(name, _uuid(bronze, name)) != _uuid(bronze, name):
            yield f"{name}.{bronze.dataset} is not the table that the records of batches tell of"
        if not bronze.books.tokens and bronze.table(name).current_snapshot() is not None:
            yield f"{name}.{bronze.dataset} has rows, and the records of all batches are lost"
        newest = newest_moment(bronze.table(name))
        if newest is not None and not bronze.books.has_record_of(newest):
            yield f"{name}.{bronze.dataset} has rows of a later batch than any that there is a record of: it is lost"
    for token in newest_tokens(bronze):
        if token not in bronze.books.tokens:
            yield f"the record of batch {token} is lost"


def _newest_token(bronze: Kept, name: str) -> str | None:
    found = newest_batch(bronze.table(name).metadata, bronze.dataset)
    return found[0] if found is not None else None


def _uuid(bronze: Kept, name: str) -> str:
    return str(bronze.table(name).metadata.table_uuid)
