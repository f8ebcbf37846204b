"""What is seen while columns are built: rows that need a closer look, and how many quotes the values stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Rows = Ints | None  # the row of each value; None if value i belongs to row i
Arrival = int | Ints  # when records arrived, in microseconds: all of them together, or each by itself


@dataclass
class Account:
    """Suspect rows, and the quotes that the decoded values explain.

    A key that appears twice leaves one value but two keys in the text, so the text then has more quotes than this.
    """

    rows: int
    arrived_at: Arrival
    suspects: list[Ints] = field(default_factory=list)
    zeros: list[Ints] = field(default_factory=list)  # rows with a 0 that is kept as its text: it may have been -0
    quotes: int = 0
    _per_value: list[tuple[Rows, Callable[[], Ints]]] = field(default_factory=list)

    def arrived(self, rows: Rows, places: Ints) -> Arrival:
        """When the records of the values at `places` arrived."""
        if isinstance(self.arrived_at, int):
            return self.arrived_at
        return self.arrived_at[places if rows is None else rows[places]]

    def suspect(self, rows: Rows, indices: Ints) -> None:
        """Mark the rows of the values at `indices`."""
        if len(indices):
            self.suspects.append(indices if rows is None else rows[indices])

    def zero(self, rows: Rows, indices: Ints) -> None:
        """Mark the rows of the zeros at `indices`."""
        self.zeros.append(indices if rows is None else rows[indices])

    def saw(self, rows: Rows, total: int, per_value: Callable[[], Ints]) -> None:
        """`total` quotes are explained; `per_value` tells how many for each value, if anybody asks."""
        self.quotes += total
        self._per_value.append((rows, per_value))

    def saw_strings(self, rows: Rows, array: pa.Array) -> None:
        """Each value that is there is a JSON string with two quotes."""
        self.saw(rows, 2 * (len(array) - array.null_count), lambda: 2 * (~is_null(array)).astype(np.int64))

    def quotes_per_row(self) -> Ints:
        """How many quotes the values of each row explain."""
        counts = np.zeros(self.rows, np.int64)
        for rows, per_value in self._per_value:
            np.add.at(counts, np.arange(self.rows) if rows is None else rows, per_value())
        return counts


def arrival_at(arrived_at: Arrival, place: int) -> int:
    """When one record arrived."""
    return arrived_at if isinstance(arrived_at, int) else int(arrived_at[place])


def is_null(array: pa.Array) -> Bools:
    """Which values are null."""
    nulls: Bools = array.is_null().to_numpy(zero_copy_only=False)
    return nulls
