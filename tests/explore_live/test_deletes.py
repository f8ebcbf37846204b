"""Rows that are deleted beside their files, in position deletes or in deletion vectors, are gone in DuckDB too."""

from __future__ import annotations

import pytest
from readings import Readers
from stories import IN_MERGES, IN_VECTORS, MERGED, ONLY_ROWS, VECTORS, lived

pytestmark = pytest.mark.jvm


def test_deletes_beside_their_files_are_the_same_after_every_step(readers: Readers) -> None:
    """Merge-on-read: DELETE, UPDATE and MERGE write position deletes, over files of several partitionings."""
    life = lived(readers, "merged", MERGED, IN_MERGES, compared=ONLY_ROWS)
    assert life.differences == []
    assert life.delete_files == {"PARQUET"}


def test_deletion_vectors_are_the_same_after_every_step(readers: Readers) -> None:
    """Format version 3, where somebody asks for it: the platform's own tables are of version 2."""
    life = lived(readers, "vectors", VECTORS, IN_VECTORS, compared=ONLY_ROWS)
    assert life.differences == []
    assert life.delete_files == {"PUFFIN"}
