"""An answer as a file, and in the forms that programs and pages take."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_lakes import SmallLake, Smelt, metadata_file

ROWS = "select i as n, 'row | ' || i as name, null as nothing from range(1, 4) t(i)"


def test_markdown_escapes_what_would_end_a_cell(smelt: Smelt) -> None:
    assert smelt("sql", "select 1 as a, 'x|y <b>' as b, null as c", "--format", "markdown").out == (
        "| a | b | c |\n| ---: | --- | ---: |\n| 1 | x\\|y &lt;b> |  |\n"
    )


@pytest.mark.parametrize("form", ["csv", "json", "markdown"])
def test_a_limit_holds_in_every_form(smelt: Smelt, form: str) -> None:
    done = smelt("sql", "from range(1000000000000)", "--limit", "3", "--format", form)
    assert re.findall(r"\d+", done.out) == ["0", "1", "2"]


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.md", "a.txt", "a.parquet", "A.CSV"])
def test_the_name_of_a_file_tells_its_form(smelt: Smelt, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    done = smelt("sql", ROWS, "--output", str(file))
    assert (done.code, done.out, done.err) == (0, "", f"3 rows written to {file}\n")
    head = {
        "csv": b"n,name,nothing\n1,",
        "json": b'[\n  {"n": 1',
        "md": b"| n | name",
        "txt": b"n  name",
        "parquet": b"PAR1",
    }[name.lower().partition(".")[2]]
    assert file.read_bytes().startswith(head)
    assert [place.name for place in tmp_path.iterdir() if place.is_file()] == [name]


def test_parquet_keeps_types_and_tells_columns_of_one_name_apart(smelt: Smelt, tmp_path: Path) -> None:
    query = "select 1::int as a, 2.50::decimal(10,2) as a, timestamptz '2026-01-01' as at, [1, 2] as list, 'x' as s"
    assert smelt("sql", query, "--output", str(tmp_path / "a.parquet")).code == 0
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["a", "a_1", "at", "list", "s"]
    assert [str(kind) for kind in table.schema.types[:3]] == ["int32", "decimal128(10, 2)", "timestamp[us, tz=UTC]"]
    assert table.num_rows == 1
    smelt("sql", "select 1 as a where false", "--output", str(tmp_path / "b.parquet"))
    assert pq.read_table(tmp_path / "b.parquet").column_names == ["a"]
    smelt("sql", "from range(200000)", "--limit", "70000", "--output", str(tmp_path / "c.parquet"))
    assert pq.read_table(tmp_path / "c.parquet").num_rows == 70_000


def test_an_answer_that_fails_leaves_the_file_as_it_was(smelt: Smelt, tmp_path: Path) -> None:
    file = tmp_path / "answer.csv"
    file.write_text("before")
    late = "select case when i < 100000 then i else error('broken') end as n from range(200000) t(i)"
    done = smelt("sql", late, "--output", str(file))
    assert (done.code, file.read_text()) == (1, "before")
    assert list(tmp_path.glob(".*")) == []


def test_a_file_with_a_table_has_every_row_and_whole_values(smelt: Smelt, tmp_path: Path) -> None:
    query = "select i, repeat('x', 300) as text from range(70) t(i)"
    assert smelt("sql", query, "--output", str(tmp_path / "a.txt")).err.startswith("70 rows written")
    lines = (tmp_path / "a.txt").read_text().splitlines()
    assert lines[-2:] == [f"69  {'x' * 300}", "70 rows"]


def test_what_is_no_plain_file_is_written_into_and_a_files_rights_stay(smelt: Smelt, tmp_path: Path) -> None:
    """A pipe or a device that was replaced by a file would be lost to everybody else."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert smelt("sql", "select 5 as n", "--format", "csv", "--output", str(pipe)).code == 0
    assert os.read(reader, 100) == b"n\n5\n"
    os.close(reader)
    assert pipe.is_fifo()
    file, link = tmp_path / "a.csv", tmp_path / "link.csv"
    file.touch(mode=0o600)
    link.symlink_to(file)
    assert smelt("sql", "select 5 as n", "--output", str(link)).code == 0
    assert (file.read_text(), file.stat().st_mode & 0o777, link.is_symlink()) == ("n\n5\n", 0o600, True)


def test_a_folder_that_is_not_there_is_said(smelt: Smelt, tmp_path: Path) -> None:
    done = smelt("sql", "select 1 as a", "--output", str(tmp_path / "none" / "a.csv"))
    assert (done.code, done.err.splitlines()[0]) == (3, "the file cannot be made: no such file or directory")


@pytest.mark.parametrize(
    "place",
    ["tables/x.parquet", "receipts/x.json", "checkpoints/x.csv", "landing/x.json", "catalog.db", "layout", "x.csv"],
)
def test_a_file_among_the_lakes_own_is_refused(lake: SmallLake, smelt: Smelt, place: str) -> None:
    lake.with_events([1])
    (lake.path / place).parent.mkdir(parents=True, exist_ok=True)
    before = lake.files()
    for words in (["select 1 as a", "--format", "csv", "--output"], ["--serve", "--output"], ["--export"]):
        done = smelt("sql", *words, str(lake.path / place))
        assert (done.code, "an answer is not written into the lake's own folder" in done.err) == (1, True)
    assert lake.files() == before


def test_an_export_has_every_table_of_one_moment_and_a_manifest(lake: SmallLake, smelt: Smelt, tmp_path: Path) -> None:
    events = lake.with_events([1, 2])
    lake.make("silver", "odd. name")
    first = events.refresh().current_snapshot()
    assert first is not None
    done = smelt("sql", "--export", str(tmp_path / "copy"))
    assert (done.code, done.out.split(";")[0]) == (0, f"2 tables, 2 rows in {tmp_path / 'copy'}")
    manifest = json.loads((tmp_path / "copy" / "manifest.json").read_text())
    rows = {one["table"]: (one["snapshot"], one["rows"]) for one in manifest["tables"]}
    assert rows == {"bronze.events": (first.snapshot_id, 2), "silver.odd. name": (None, 0)}
    for one in manifest["tables"]:
        table = pq.read_table(tmp_path / "copy" / one["file"])
        assert (table.num_rows, table.column_names) == (one["rows"], list(one["columns"]))
    lake.append(events, [3])
    words = ("sql", "--export", str(tmp_path / "old"), "--table", "bronze.events", "--at", str(first.snapshot_id))
    assert smelt(*words).out.startswith("1 table, 2 rows")


def test_an_export_makes_a_new_folder_or_nothing(lake: SmallLake, smelt: Smelt, tmp_path: Path) -> None:
    assert "the lake has no tables yet" in smelt("sql", "--export", str(tmp_path / "copy")).err
    lake.with_events([1])
    done = smelt("sql", "--export", str(tmp_path))
    assert (done.code, "this folder is there already" in done.err) == (1, True)
    done = smelt("sql", "--export", str(tmp_path / "copy"), "--table", "bronze.event")
    assert (done.code, "did you mean `bronze.events`?" in done.err) == (1, True)
    next((lake.path / "tables").rglob("*.parquet")).unlink()
    assert smelt("sql", "--export", str(tmp_path / "copy")).code == 3
    assert [place.name for place in tmp_path.iterdir()] == ["lake"]


def test_an_export_leaves_no_table_out_in_silence(lake: SmallLake, smelt: Smelt, tmp_path: Path) -> None:
    lake.with_events([1])
    metadata_file(lake.make("silver", "broken")).write_text("{ cut")
    done = smelt("sql", "--export", str(tmp_path / "copy"))
    assert (done.code, "the table silver.broken cannot be opened" in done.err) == (3, True)
    assert not (tmp_path / "copy").exists()
    assert smelt("sql", "--export", str(tmp_path / "copy"), "--table", "bronze.events").code == 0


def test_an_export_has_the_commit_of_a_writer_whose_clock_is_ahead(
    lake: SmallLake, smelt: Smelt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = lake.with_events([1])
    with monkeypatch.context() as clock:
        clock.setattr(time, "time", lambda now=time.time: now() + 3_600)
        lake.append(events, [2])
    assert smelt("sql", "--export", str(tmp_path / "copy")).out.startswith("1 table, 2 rows")


def test_an_export_stays_in_its_folder_whatever_a_table_is_called(
    lake: SmallLake, smelt: Smelt, tmp_path: Path
) -> None:
    lake.make("silver", "../a")
    assert smelt("sql", "--export", str(tmp_path / "copy")).code == 0
    assert [place.name for place in (tmp_path / "copy" / "silver").iterdir()] == ["..%2Fa.parquet"]
