"""Every record that is not in exactly one place is named, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from lakes import BAD, BRONZE, DEAD_LETTERS, GOOD, Things

from smelter.lake.tables import load_table
from smelter.records import Limits


@pytest.fixture
def things(tmp_path: Path) -> Things:
    made = Things.at(tmp_path / "lake")
    made.write("a.json", GOOD + BAD + GOOD)
    made.write("b.json", GOOD)
    made.take("a.json", "b.json")
    return made


def test_records_that_are_all_in_one_place_are_balanced(things: Things) -> None:
    found = things.reconcile()
    assert (found.is_balanced, found.records, found.bronze, found.dead_letters) == (True, 4, 3, 1)
    assert (found.sources, found.recounted, found.by_receipt) == (2, 2, {})


def test_a_missing_record_is_named(things: Things) -> None:
    things.delete_rows(f"_source == '{things.source('a.json')}' and _position == 2")
    (problem,) = things.reconcile().problems
    assert (problem.kind, problem.source, problem.position) == ("missing", things.source("a.json"), 2)
    assert problem.batch.startswith("things:test:")


def test_a_missing_dead_letter_is_named(things: Things) -> None:
    things.delete_rows("_position == 1", DEAD_LETTERS)
    assert things.findings() == [("missing", "a.json", 1)]


def test_a_record_that_is_in_a_table_twice_is_named_with_its_places(things: Things) -> None:
    things.copy_rows(f"_source == '{things.source('a.json')}' and _position == 2")
    (problem,) = things.reconcile().problems
    assert (problem.kind, problem.position, problem.note.count("bronze ")) == ("doubled", 2, 2)


def test_a_record_that_is_in_both_tables_is_doubled(things: Things) -> None:
    letters = load_table(things.lake, DEAD_LETTERS, "things")
    row = letters.scan().to_arrow()
    row = row.set_column(row.schema.get_field_index("_position"), row.schema.field("_position"), pa.array([2]))
    letters.append(row)
    (problem,) = things.reconcile().problems
    assert (problem.kind, problem.position) == ("doubled", 2)
    assert "bronze" in problem.note
    assert "dead_letters" in problem.note


def test_one_missing_and_one_doubled_do_not_cancel_out(things: Things) -> None:
    things.copy_rows(f"_source == '{things.source('a.json')}' and _position == 2")
    things.delete_rows(f"_source == '{things.source('a.json')}' and _position == 0")
    assert sorted(things.findings()) == [("doubled", "a.json", 2), ("missing", "a.json", 0)]


def test_a_row_that_no_source_explains_is_named(things: Things) -> None:
    table = load_table(things.lake, BRONZE, "things")
    rows = table.scan().to_arrow().slice(0, 1)
    rows = rows.set_column(
        rows.schema.get_field_index("_source"), rows.schema.field("_source"), pa.array(["file:///elsewhere/x.json"])
    )
    table.append(rows)
    assert things.findings() == [("unexplained", "x.json", rows["_position"][0].as_py())]


def test_a_position_that_its_source_does_not_have_is_unexplained(things: Things) -> None:
    table = load_table(things.lake, BRONZE, "things")
    rows = table.scan(row_filter=f"_source == '{things.source('b.json')}'").to_arrow()
    table.append(
        rows.set_column(rows.schema.get_field_index("_position"), rows.schema.field("_position"), pa.array([7]))
    )
    assert things.findings() == [("unexplained", "b.json", 7)]


def test_a_data_file_that_is_gone_is_named_and_so_are_its_records(things: Things) -> None:
    (task,) = load_table(things.lake, BRONZE, "things").scan().plan_files()
    Path(task.file.file_path).unlink()
    found = things.reconcile().problems
    assert found[0].kind == "lost_file"
    assert (found[0].source, found[0].note) == (task.file.file_path, "bronze: 3 records")
    assert sorted(one.position for one in found[1:] if one.position is not None) == [0, 0, 2]


def test_a_source_that_is_gone_counts_by_its_receipt(things: Things) -> None:
    (things.landing / "a.json").unlink()
    found = things.reconcile()
    assert (found.is_balanced, found.records, found.recounted) == (True, 4, 1)
    assert found.by_receipt == {"the source is gone": 1}
    things.delete_rows(f"_source == '{things.source('a.json')}' and _position == 2")
    assert things.findings() == [("missing", "a.json", 2)]


def test_a_source_that_was_written_again_counts_by_its_receipt_and_is_named(things: Things) -> None:
    things.write("a.json", GOOD * 10)
    found = things.reconcile()
    assert (found.is_balanced, found.records, found.by_receipt) == (True, 4, {"the source has changed since": 1})
    assert found.rewritten == (things.source("a.json"),)


def test_other_bytes_under_the_same_size_and_time_are_found(things: Things) -> None:
    path = things.landing / "b.json"
    stat = path.stat()
    path.write_text('{"a": 2}\n')
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert things.findings() == [("other_content", "b.json", None)]


def test_files_that_wait_are_empty_or_unfinished_are_named_and_no_failure(things: Things) -> None:
    things.write("new.json", GOOD)
    things.write("zero.json", "")
    things.write("x.tmp", GOOD)
    things.write("_folder/y.json", GOOD)
    found = things.reconcile()
    assert found.is_balanced
    assert set(found.waiting) == {things.source("new.json"), things.source("zero.json")}
    assert found.empty == (things.source("zero.json"),)
    assert set(found.unfinished) == {things.source("x.tmp"), things.source("_folder/y.json")}


def test_a_receipt_that_says_too_little_does_not_hide_a_missing_record(things: Things) -> None:
    """The count is the ledger's own: the stream's receipt is not believed while the source is there."""
    (receipt,) = things.lake.receipts("things").glob("*.done.json")
    receipt.write_text(receipt.read_text().replace('"records":3', '"records":2'))
    things.delete_rows(f"_source == '{things.source('a.json')}' and _position == 2")
    assert things.findings() == [("missing", "a.json", 2)]


@pytest.mark.parametrize("point", ["prepared", "between_commits", "committed"])
def test_a_batch_that_is_under_way_is_neither_missing_nor_unexplained(things: Things, point: str) -> None:
    things.write("c.json", GOOD + BAD)
    with pytest.raises(InterruptedError):
        things.take("c.json", stop_at=point)
    found = things.reconcile()
    assert (found.is_balanced, found.records, found.prepared) == (True, 4, 1)
    things.finish()
    found = things.reconcile()
    assert (found.is_balanced, found.records, found.prepared) == (True, 6, 0)


def test_rows_whose_receipt_is_lost_are_unexplained(things: Things) -> None:
    (receipt,) = things.lake.receipts("things").glob("*.done.json")
    receipt.unlink()
    assert {kind for kind, _, _ in things.findings()} == {"unexplained"}
    assert len(things.findings()) == 4


def test_a_file_that_spark_holds_for_finished_and_nobody_took_is_named(things: Things) -> None:
    log = things.lake.checkpoint("things")
    for name, text in {
        "sources/0/0": f'v1\n{{"path":"{things.source("lost.json")}","timestamp":1,"batchId":0}}',
        "offsets/0": 'v1\n{}\n{"logOffset":0}',
        "commits/0": "v1\n{}",
    }.items():
        (log / name).parent.mkdir(parents=True, exist_ok=True)
        (log / name).write_text(text)
    assert things.findings() == [("unread", "lost.json", None)]


def test_sources_are_recounted_under_the_limits_that_they_were_judged_under(tmp_path: Path) -> None:
    things = Things.at(tmp_path / "lake")
    things.limits = Limits(max_depth=1, max_record_bytes=1024)
    things.write("deep.json", '[{"a": {"b": {}}}, {"a": 1}]')
    things.take("deep.json")
    found = things.reconcile()
    assert (found.is_balanced, found.records) == (True, 2)
