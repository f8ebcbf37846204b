"""A data file that was written and is not yet part of a table: everything that its commit needs, as plain values.

It is kept in the intent of a batch, so that the batch can be finished by a later process without reading a file again.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

PartitionValue = None | bool | int | float | str | dict[str, str]


class WrittenFile(msgspec.Struct, frozen=True):
    """One Parquet file of one table, with its partition and statistics."""

    path: str
    spec_id: int
    partition: list[PartitionValue]
    records: int
    size: int
    column_sizes: dict[int, int]
    value_counts: dict[int, int]
    null_value_counts: dict[int, int]
    nan_value_counts: dict[int, int]
    lower_bounds: dict[int, bytes]
    upper_bounds: dict[int, bytes]
    split_offsets: list[int]

    @classmethod
    def of(cls, path: str, spec_id: int, partition: Record, size: int, statistics: dict[str, Any]) -> WrittenFile:
        """The file as its writer knows it."""
        return cls(
            path=path,
            spec_id=spec_id,
            partition=[_plain(partition[index]) for index in range(len(partition))],
            records=statistics["record_count"],
            size=size,
            **{
                name: statistics[name] or {}
                for name in ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
            },
            lower_bounds=statistics["lower_bounds"] or {},
            upper_bounds=statistics["upper_bounds"] or {},
            split_offsets=statistics["split_offsets"] or [],
        )

    def as_data_file(self) -> DataFile:
        """The file as a commit names it."""
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=self.path,
            file_format=FileFormat.PARQUET,
            partition=Record(*(_revived(value) for value in self.partition)),
            record_count=self.records,
            file_size_in_bytes=self.size,
            column_sizes=self.column_sizes,
            value_counts=self.value_counts,
            null_value_counts=self.null_value_counts,
            nan_value_counts=self.nan_value_counts,
            lower_bounds=self.lower_bounds,
            upper_bounds=self.upper_bounds,
            split_offsets=self.split_offsets,
            sort_order_id=None,
            equality_ids=None,
            key_metadata=None,
        )
        file.spec_id = self.spec_id
        return file


def _plain(value: Any) -> PartitionValue:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    assert value is None or isinstance(value, bool | int | float | str)
    return value


def _revived(value: PartitionValue) -> Any:
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"]) if "hex" in value else Decimal(value["decimal"])
    return value
