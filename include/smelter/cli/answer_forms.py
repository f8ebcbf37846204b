"""An answer for programs and pages: CSV, JSON, Markdown and Parquet, written as rows come."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

from smelter.cli.answer_table import is_number
from smelter.contracts.faults import printable
from smelter.explore.values import as_json, as_text, csv_line, csv_lines, distinct_names

if TYPE_CHECKING:
    from smelter.explore import Answer

_ROWS_AT_ONCE = 10_000
_PARQUET_ROWS_AT_ONCE = 50_000  # about one row group


def write_json(answer: Answer, limit: int | None, file: IO[str]) -> int:
    """A list of objects."""
    names, count = distinct_names(answer.columns), 0
    for rows in _first(answer, limit):
        objects = (dict(zip(names, map(as_json, row), strict=True)) for row in rows)
        file.write(",\n  " if count else "[\n  ")
        file.write(",\n  ".join(json.dumps(one, ensure_ascii=False) for one in objects))
        count += len(rows)
    file.write("\n]\n" if count else "[]\n")
    return count


def write_csv(answer: Answer, limit: int | None, file: IO[str]) -> int:
    """A header, and a line for each row."""
    batches, count = _first(answer, limit), 0
    file.write(csv_line(answer.columns))
    for rows in batches:
        file.write(csv_lines(rows, answer.types))
        count += len(rows)
    return count


def write_markdown(answer: Answer, limit: int | None, file: IO[str]) -> int:
    """A table of GitHub's Markdown; signs that would end a cell are escaped."""
    batches, count = _first(answer, limit), 0
    sides = ["---:" if is_number(kind) else "---" for kind in answer.types]
    for line in ([_escaped(name) for name in answer.columns], sides):
        file.write(f"| {' | '.join(line)} |\n")
    for rows in batches:
        for row in rows:
            cells = ("" if value is None else _escaped(as_text(value)) for value in row)
            file.write(f"| {' | '.join(cells)} |\n")
        count += len(rows)
    return count


def write_parquet(answer: Answer, limit: int | None, file: IO[str]) -> int:
    """With DuckDB's own types, batch by batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count, names = 0, distinct_names(answer.columns)
    schema, batches = answer.typed_batches(_PARQUET_ROWS_AT_ONCE)
    file.flush()
    with pq.ParquetWriter(pa.PythonFile(file.buffer, mode="w"), _renamed(schema, names)) as writer:  # type: ignore[attr-defined]
        for batch in batches:
            kept = batch if limit is None else batch.slice(0, limit - count)
            writer.write_batch(kept.rename_columns(names))
            count += kept.num_rows
            if count == limit:
                break
    return count


def _first(answer: Answer, limit: int | None) -> Iterator[Sequence[Sequence[Any]]]:
    """The rows, or so many of them; the first are there before anything is written, so that an error has no header."""
    batches = _batches(answer, limit)
    return itertools.chain(list(itertools.islice(batches, 1)), batches)


def _batches(answer: Answer, limit: int | None) -> Iterator[Sequence[Sequence[Any]]]:
    left = limit
    while rows := answer.fetchmany(_ROWS_AT_ONCE if left is None else min(_ROWS_AT_ONCE, left)):
        yield rows
        if left is not None:
            left -= len(rows)
            if left == 0:
                return


def _escaped(text: str) -> str:
    return printable(text).replace("|", "\\|").replace("<", "&lt;")


def _renamed(schema: Any, names: Iterable[str]) -> Any:
    import pyarrow as pa

    return pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
