"""The letters of a dataset, as they are now: asked for through DuckDB, all of them or a share."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from smelter.dead_letters.filters import IS_ABOUT_A_FILE, Filters
from smelter.explore import Explorer, connect
from smelter.lake.home import DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.letter_status import status_sql
from smelter.postgres import CATALOG_NAME

if TYPE_CHECKING:
    import pyarrow as pa

    from smelter.explore import Answer

BATCH_ROWS = 20_000
PIECE_ROWS = 100_000  # of a data file; a larger one is cut, so that several processes can read it
JUDGED = ("_id", "_source", "_position", "_arrived_at", "reason", "raw", "raw_bytes")
_SAMPLE = """
select list_slice(list(_id), 1, 200) from ({letters}) group by kind order by count(*) desc limit 200
"""
_WHOLE = f"not {IS_ABOUT_A_FILE}"


@dataclass(frozen=True)
class Piece:
    """Some rows of a data file of letters."""

    file: str
    first: int
    rows: int


Share = tuple[Piece, ...]


class Letters:
    """One dataset's letters with their status, open for questions."""

    def __init__(self, lake: Lake, dataset: str) -> None:
        self._dataset = dataset
        self._explorer = connect(lake.root, catalog=lake.address)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._explorer.close()

    def ask(
        self, select: str, filters: Filters, more: str = "true", rest: str = "", wrap: str = "{letters}", **values: Any
    ) -> Answer:
        """`select … from the letters where … rest`, or a question that is wrapped around it.

        `more` is another condition, whose marks have these values.
        """
        where, bound = filters.where()
        letters = f'{select} from {DEAD_LETTERS}."{self._dataset}" where ({where}) and ({more}) {rest}'
        return self._explorer.execute(wrap.replace("{letters}", letters), {**bound, **values})

    def count(self, filters: Filters) -> tuple[int, int]:
        """How many there are that hold their record, and how many that do not."""
        select = f"select count(*) filter ({_WHOLE}), count(*) filter ({IS_ABOUT_A_FILE})"
        row = self.ask(select, filters).fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def whole(self, filters: Filters, share: Share | None = None) -> Iterator[pa.RecordBatch]:
        """Those that hold their record, some thousands at a time; of all of them, or of a share."""
        if share is None:
            return self.ask(f"select {', '.join(JUDGED)}", filters, _WHOLE).batches(BATCH_ROWS)
        where, bound = filters.where()
        chosen, pieces = _chosen(share)
        table = f'(from {CATALOG_NAME}.{DEAD_LETTERS}."{self._dataset}" where {chosen})'
        letters = status_sql(table, f"{DEAD_LETTERS}.{RESOLUTIONS}", self._dataset)
        question = f"select {', '.join(JUDGED)} from ({letters}) where ({where}) and {_WHOLE}"  # noqa: S608
        return self._explorer.execute(question, {**bound, **pieces}).batches(BATCH_ROWS)

    def from_files(self, filters: Filters) -> list[dict[str, Any]]:
        """Those whose record must be read from its file again."""
        select, order = f"select {', '.join(JUDGED)}", "order by _source, _position"
        rows: list[dict[str, Any]] = self.ask(select, filters, IS_ABOUT_A_FILE, order).arrow().to_pylist()
        return rows

    def sample(self, filters: Filters) -> pa.RecordBatch | None:
        """A few that hold their record, of each kind that the stream or the last run told apart."""
        kind = "list_transform(errors, lambda e: e.rule || chr(31) || e.field)"
        rows = self.ask(f"select {kind} as kind, _id", filters, _WHOLE, wrap=_SAMPLE).fetchall()
        ids = [name for (names,) in rows for name in names]
        chosen = f"{_WHOLE} and _id in (select unnest($ids))"
        found = self.ask(f"select {', '.join(JUDGED)}", filters, chosen, ids=ids).arrow()
        return found.combine_chunks().to_batches()[0] if found.num_rows else None

    def shares(self, most: int) -> list[Share]:
        """All letters in so many shares of about the same size, or in fewer."""
        table = f'{CATALOG_NAME}.{DEAD_LETTERS}."{self._dataset}"'
        files = self._explorer.execute(f"select filename, max(file_row_number) + 1 from {table} group by filename")  # noqa: S608
        return _dealt([piece for file, rows in files for piece in _pieces(file, rows)], most)


def has_resolutions(explorer: Explorer) -> bool:
    """Is there a table of what became of letters? A lake that nobody has ingested into has none."""
    return any((table.namespace, table.name) == (DEAD_LETTERS, RESOLUTIONS) for table in explorer.tables)


def _pieces(file: str, rows: int) -> Iterator[Piece]:
    for first in range(0, rows, PIECE_ROWS):
        yield Piece(file, first, min(PIECE_ROWS, rows - first))


def _dealt(pieces: list[Piece], most: int) -> list[Share]:
    """Deal them out, always to the one with the least."""
    heap: list[tuple[int, int]] = [(0, number) for number in range(most)]
    dealt: list[list[Piece]] = [[] for _ in range(most)]
    for piece in sorted(pieces, key=lambda one: (-one.rows, one.file, one.first)):
        rows, number = heapq.heappop(heap)
        dealt[number].append(piece)
        heapq.heappush(heap, (rows + piece.rows, number))
    return [tuple(share) for share in dealt if share]


def _chosen(share: Share) -> tuple[str, dict[str, Any]]:
    """Rows of these pieces, as a condition on where DuckDB reads them from."""
    conditions, values = [], {}
    for number, piece in enumerate(share):
        last = piece.first + piece.rows
        conditions.append(f"(filename = $file{number} and file_row_number between {piece.first} and {last - 1})")
        values[f"file{number}"] = piece.file
    return f"({' or '.join(conditions)})", values
