"""Values inside values as Arrow has them: the outer ones as offsets into one long column of the inner ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from smelter.records.account import Bools, Ints, Rows
from smelter.records.shape import ABSENT


def spread(values: list[Any], rows: Rows) -> tuple[list[Any], Ints, Ints, Bools | None]:
    """Containers that are there, the row of each value inside, the offsets, and which containers are null."""
    there = [value for value in values if value is not None and value is not ABSENT]
    nulls = None
    counts = np.fromiter(map(len, there), np.int64, len(there))
    if len(there) < len(values):
        nulls = np.array([value is None or value is ABSENT for value in values], np.bool_)
        counts_there, counts = counts, np.zeros(len(values), np.int64)
        counts[~nulls] = counts_there
    return there, inner_rows(counts, rows), offsets_of(counts), nulls


def inner_rows(counts: Ints, rows: Rows) -> Ints:
    """The row of each value inside."""
    return np.repeat(np.arange(len(counts)) if rows is None else rows, counts)


def offsets_of(counts: Ints) -> Ints:
    """Where the values of each container begin, and where the last ones end."""
    return np.concatenate(([0], np.cumsum(counts)))


def nested(arrow: pa.DataType, offsets: Ints, nulls: Bools | None, inside: pa.Array) -> pa.Array:
    """A column of lists or maps."""
    validity = None if nulls is None else pa.array(~nulls).buffers()[1]
    null_count = 0 if nulls is None else int(nulls.sum())
    starts = pa.py_buffer(offsets.astype(np.int32).tobytes())
    return pa.Array.from_buffers(arrow, len(offsets) - 1, [validity, starts], null_count, children=[inside])
