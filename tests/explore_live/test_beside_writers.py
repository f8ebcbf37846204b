"""The short form of reading beside writers: a driver, maintenance, four threads that ask. The long: `make soak`."""

from __future__ import annotations

from pathlib import Path

import pytest
from beside_writers import read_beside_writers

pytestmark = pytest.mark.jvm


def test_readers_beside_a_stream_and_maintenance_see_whole_snapshots_and_never_an_older_one(tmp_path: Path) -> None:
    """What is due in fifty seconds is due at once, so that files are packed and deleted while they are read."""
    found = read_beside_writers(tmp_path, seconds=12)
    print(found.summary())
    assert found.wrong == []
    assert found.reads.total() > 0
