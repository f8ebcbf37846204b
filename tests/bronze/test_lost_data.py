"""Data files that somebody deletes behind the back of a table: named, not hidden."""

from __future__ import annotations

from pathlib import Path

import pytest
from accounts import check, places_sent
from streams import Stream

from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.tables import load_table
from smelter.ledger.findings import Kind
from smelter.ledger.reconcile import reconcile


@pytest.mark.parametrize("namespace", [BRONZE, DEAD_LETTERS])
def test_the_records_of_a_deleted_data_file_are_named_one_by_one(stream: Stream, namespace: str) -> None:
    stream.add("a.json")
    stream.drain_here()
    (task,) = load_table(stream.lake, namespace, stream.name).scan().plan_files()
    kept = Path(task.file.file_path).read_bytes()
    Path(task.file.file_path).unlink()
    stream.add("b.json")
    stream.drain_here(batch=1)
    found = reconcile(stream.lake, stream.name).problems
    assert [one.source for one in found if one.kind is Kind.LOST_FILE] == [task.file.file_path]
    named = {(one.source, one.position) for one in found if one.kind is Kind.MISSING}
    assert named == {
        (source, position)
        for source, position, verdict in places_sent(stream)
        if source.endswith("a.json") and verdict.startswith("id ") == (namespace == BRONZE)
    }
    Path(task.file.file_path).write_bytes(kept)
    check(stream)
