"""What a question is answered with: rows that are computed as they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import duckdb

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = tuple[Any, ...]
Telling = Callable[[duckdb.DuckDBPyConnection], AbstractContextManager[None]]  # DuckDB's errors as ours


class Answer:
    """The rows of one question. They are computed as they are read, so an error may come late."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, told: Telling) -> None:
        self._cursor = cursor
        self._told = told  # of the explorer, which an answer keeps open by it
        self.description: list[tuple[Any, ...]] = list(cursor.description or [])

    @property
    def columns(self) -> list[str]:
        """The names of the columns; a query may give two of them the same name."""
        return [str(column[0]) for column in self.description]

    @property
    def types(self) -> list[str]:
        """DuckDB's names of the types of the columns."""
        return [str(column[1]) for column in self.description]

    def fetchone(self) -> Row | None:
        """The next row, or nothing after the last."""
        with self._told(self._cursor):
            return self._cursor.fetchone()

    def fetchmany(self, size: int = 1000) -> list[Row]:
        """The next rows, at most this many; none after the last."""
        with self._told(self._cursor):
            return self._cursor.fetchmany(size)

    def fetchall(self) -> list[Row]:
        """All the rows that are left."""
        with self._told(self._cursor):
            return self._cursor.fetchall()

    def df(self) -> pandas.DataFrame:
        """The whole answer as a data frame of pandas."""
        with self._told(self._cursor):
            return self._cursor.df()

    def arrow(self) -> pyarrow.Table:
        """The whole answer as an Arrow table."""
        with self._told(self._cursor):
            return self._cursor.to_arrow_table()

    def batches(self, size: int) -> Iterator[pyarrow.RecordBatch]:
        """The answer as Arrow batches of about so many rows, computed as they are taken."""
        yield from self.typed_batches(size)[1]

    def typed_batches(self, size: int) -> tuple[pyarrow.Schema, Iterator[pyarrow.RecordBatch]]:
        """The same with their schema, which is there also where no batch is."""
        with self._told(self._cursor):
            reader = self._cursor.to_arrow_reader(size)
        return reader.schema, self._taken(reader)

    def _taken(self, reader: pyarrow.RecordBatchReader) -> Iterator[pyarrow.RecordBatch]:
        with self._told(self._cursor):
            yield from reader

    def __iter__(self) -> Iterator[Row]:
        while rows := self.fetchmany():
            yield from rows
