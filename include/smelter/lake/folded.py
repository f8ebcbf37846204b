"""Records of batches that were folded into `ops.ledger`: one row for each receipt, written and read back.

Rows are only ever added, a batch's in one commit. A batch that is there twice is one; one of which rows are missing is
lost, and is not told of: whoever counts the numbers of batches finds that out.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import msgspec
import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThanOrEqual, LessThanOrEqual
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import Table

from smelter.errors import Unreachable
from smelter.lake.batches import BatchRecords, Done, Receipt, Unit
from smelter.lake.catalog import catalog_errors
from smelter.lake.home import LEDGER, OPS, Lake
from smelter.lake.tables import ensure_ledger_table

STREAM, LETTERS = "stream", "dead_letters"  # places: which of a dataset's two folders
_BATCH = ("sequence", "token", "receipts", "batch")
_RECEIPT = ("source", "length", "modified_ns", "digest", "records", "accepted", "dead", "is_whole")
_decode = msgspec.json.Decoder(Done).decode


@dataclass(frozen=True)
class Shelf:
    """Where the folded records of one folder are: those of a dataset's stream, or of runs over its dead letters."""

    lake: Lake
    dataset: str
    place: str

    def read(self, book: str, first: int | None = None, last: int | None = None) -> list[Done]:
        """The whole batches of a book, or those between two numbers. Opens the catalog once."""
        rows = self._rows(self._wanted(book, first, last))
        return _batches_in(rows) if rows is not None and rows.num_rows else []

    def append(self, book: str, batches: Sequence[Done]) -> None:
        """Add the rows of these batches in one commit; whoever repeats it adds them again, and they count once."""
        table = ensure_ledger_table(self.lake)
        rows = [row for done in batches for row in self._rows_of(book, done)]
        with catalog_errors(str(self.lake.root)), warnings.catch_warnings(action="ignore"):
            try:
                table.append(pa.Table.from_pylist(rows, schema=table.schema().as_arrow()))
            except CommitFailedException as problem:
                raise Unreachable(
                    f"{OPS}.{LEDGER} is changed by others faster than rows could be added: {problem}",
                    data="no record of a batch was removed",
                    next_step="run it again",
                ) from problem

    def _rows_of(self, book: str, done: Done) -> Iterator[dict[str, Any]]:
        batch = {
            "dataset": self.dataset,
            "place": self.place,
            "book": book,
            "sequence": done.sequence,
            "token": done.token,
            "contract": done.contract,
            "ingested_at": done.ingested_at,
            "receipts": len(done.receipts),
            "batch": msgspec.json.encode(_with(done, [])).decode(),
        }
        if not done.receipts:
            yield batch
        for one in done.receipts:
            unit = one.unit
            told = (unit.source, unit.length, unit.modified_ns, one.digest, one.records, one.accepted, one.dead)
            yield {**batch, **dict(zip(_RECEIPT, (*told, one.is_whole), strict=True))}

    def _wanted(self, book: str, first: int | None, last: int | None) -> BooleanExpression:
        named = {"dataset": self.dataset, "place": self.place, "book": book}
        wanted: list[BooleanExpression] = [EqualTo(term=name, value=value) for name, value in named.items()]
        wanted += [GreaterThanOrEqual(term="sequence", value=first)] if first is not None else []
        wanted += [LessThanOrEqual(term="sequence", value=last)] if last is not None else []
        return reduce(And, wanted)

    def _rows(self, wanted: BooleanExpression) -> pa.Table | None:
        """What there is. A file that is gone was written anew while we read, or is lost: a second look tells which."""
        with catalog_errors(str(self.lake.root)):
            try:
                return _scan(self.lake, wanted)
            except FileNotFoundError:
                return _scan(self.lake, wanted, what_is_left=True)


def records_of(lake: Lake, dataset: str, place: str) -> BatchRecords:
    """The records of one folder with those that were folded; no table is opened as long as none was."""
    folder = lake.receipts(dataset) if place == STREAM else lake.letter_runs(dataset)
    return BatchRecords(folder, Shelf(lake, dataset, place).read)


def _scan(lake: Lake, wanted: BooleanExpression, *, what_is_left: bool = False) -> pa.Table | None:
    if not lake.has_catalog:
        return None
    try:
        table = lake.catalog.load_table((OPS, LEDGER))
        scan = table.scan(row_filter=wanted, selected_fields=(*_BATCH, *_RECEIPT))
        files = [file for file in scan.plan_files() if not what_is_left or _is_there(table, file.file.file_path)]
    except NoSuchTableError:
        return None
    except FileNotFoundError:
        if not what_is_left:
            raise
        return None
    return ArrowScan(table.metadata, table.io, scan.projection(), wanted).to_table(files)


def _is_there(table: Table, path: str) -> bool:
    return table.io.new_input(path).exists()


def _batches_in(rows: pa.Table) -> list[Done]:
    """Whole batches only; the text of each is read once, however many receipts it has."""
    batches: dict[tuple[int, str], Done] = {}
    receipts: dict[tuple[int, str], list[Receipt]] = {}
    expected: dict[tuple[int, str], int] = {}
    texts = rows.column("batch").combine_chunks()
    columns = (rows.column(name).to_pylist() for name in ("sequence", "token", "receipts", *_RECEIPT))
    for number, (sequence, token, count, *unit) in enumerate(zip(*columns, strict=True)):
        key = (sequence, token)
        if key not in batches:
            batches[key], receipts[key], expected[key] = _decode(texts[number].as_py()), [], count
        if count:
            receipts[key].append(Receipt(Unit(*unit[:3]), *unit[3:]))
    told = ((batches[key], _each_once(found, expected[key])) for key, found in receipts.items())
    return [_with(done, found) for done, found in told if found is not None]


def _each_once(found: list[Receipt], expected: int) -> list[Receipt] | None:
    """The receipts of one batch; nothing if some are missing."""
    if len(found) != expected:
        found = list({receipt.unit.source: receipt for receipt in found}.values())
    return found if len(found) == expected else None


def _with(done: Done, receipts: list[Receipt]) -> Done:
    return msgspec.structs.replace(done, receipts=receipts)
