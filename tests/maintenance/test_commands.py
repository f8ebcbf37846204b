"""`smelt maintain` as a person types it: what it prints, what programs get, and what bad words lead to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import NewShed
from sheds import Shed, later

from smelter.cli.main import run
from smelter.lake.catalog import local_path
from smelter.lake.home import SILVER, Lake
from smelter.maintenance.journal import MOST_FAILURES, Entry, record
from smelter.maintenance.trash import manifests

NO_JVM = """
import sys
from smelter.cli.main import run
code = run(sys.argv[1:])
assert "pyspark" not in sys.modules, "it loaded PySpark"
sys.exit(code)
"""


class Said:
    """What a command printed, and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def smelt(lake: Lake, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*words: str, at: Lake = lake) -> Said:
        code = run(["--lake", str(at.root), *words])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


def test_nothing_to_do_says_so_and_starts_no_jvm(shed: Shed) -> None:
    shed.commit(2)
    words = [sys.executable, "-c", NO_JVM, "--lake", str(shed.lake.root), "maintain"]
    for more in (["plan"], ["run"], ["run", "--dry-run"], ["tables"]):
        done = subprocess.run([*words, *more], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), more
        assert "3 tables: 3 need nothing" in done.stdout or more == ["tables"]


def test_a_plan_says_what_why_and_what_for(shed: Shed, smelt: Any) -> None:
    shed.commit(6)
    said = smelt("maintain", "plan")
    assert "bronze.orders\n  · compact    files 6 → 1  (6 small files of 6)" in said.out
    assert said.out.endswith("3 tables: 1 needs nothing\nnext: smelt maintain run\n")
    found = json.loads(smelt("maintain", "plan", "bronze.orders", "--json").out)
    (table,) = found["tables"]
    assert (found["run"], found["dry_run"], table["outcome"]) == (None, True, "planned")
    assert (table["steps"][0]["before"], table["steps"][0]["after"]) == ({"files": 6}, {"files": 1})
    assert table["numbers"]["snapshots"] == 6


def test_only_some_steps_are_taken(shed: Shed, smelt: Any) -> None:
    shed.commit(6)
    assert "compact" not in smelt("maintain", "plan", "--only", "expire,orphans").out
    assert json.loads(smelt("maintain", "run", "--only", "records", "--json").out)["tables"] == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["plan", "bronze.order"], 1, "there is no table bronze.order; did you mean `bronze.orders`?"),
        (["plan", "x'; drop table y; --"], 1, "there is no table x'; drop table y; --"),
        (["run", "--only", "compct"], 2, "is not a step of maintenance; did you mean `compact`?"),
        (["history", "nowhere.x"], 1, "smelt maintain tables lists them"),
        (["restore", "../../etc/passwd"], 1, "is not the name of a run"),
        (["restore", "maintain:20260101-120000-0a1b"], 1, "there is no trash of maintain:20260101-120000-0a1b"),
        (["rollback", "bronze.orders", "--to", "1"], 1, "--and-reingest"),
        (["rollback", "bronze.orders", "--to", "yesterday"], 2, "neither a snapshot's number nor a time"),
        (["rollback", "bronze.orders", "--to", "1", "--and-reingest"], 1, "bronze.orders has no snapshot 1"),
        (["rollback", "dead_letters.resolutions", "--to", "1", "--and-reingest"], 1, "smelt dlq undo RUN"),
    ],
)
def test_bad_words_are_refused_with_the_next_command(
    shed: Shed, smelt: Any, words: list[str], code: int, told: str
) -> None:
    shed.commit(2)
    said = smelt("maintain", *words)
    assert (said.code, said.out) == (code, "")
    assert told in said.err
    assert "next:" in said.err


def test_an_empty_lake_is_told_as_one(lake: Lake, smelt: Any) -> None:
    assert smelt("maintain", "plan").out == "nothing to do\n"
    assert (
        json.loads(smelt("maintain", "run", "--if-there", "--json").out)["nothing"] == "nothing has been ingested yet"
    )
    assert json.loads(smelt("maintain", "tables", "--if-there", "--json").out) == {"tables": [], "set_aside": {}}
    assert lake.root.exists()


def test_a_stray_is_marked_moved_named_in_history_and_restored(shed: Shed, smelt: Any) -> None:
    shed.commit(2)
    orphan = shed.plant()
    assert "1 file marked" in smelt("maintain", "run", "--only", "orphans").out
    said = smelt("maintain", "run", "--only", "orphans")
    assert "1 file moved to the trash" in said.out
    (found,) = manifests(shed.lake)
    assert said.out.endswith(f"run: {found.run}\n")
    told = json.loads(smelt("maintain", "history", "bronze.orders", "--json").out)
    assert told[-1]["run"] == found.run
    assert smelt("maintain", "restore", found.run).out == "1 file put back, 8 bytes\n"
    assert orphan.read_bytes() == b"nobody's"


def test_a_table_that_was_set_aside_is_told_by_status_and_comes_back_by_retry(shed: Shed, smelt: Any) -> None:
    shed.commit(6)
    snapshot = shed.table().current_snapshot()
    assert snapshot is not None
    needed = local_path(snapshot.manifest_list)
    lost = needed.rename(needed.with_suffix(".lost"))
    said = [smelt("maintain", "run", "--only", "orphans") for _ in range(MOST_FAILURES)]
    assert [one.code for one in said] == [3] * MOST_FAILURES
    assert f"bronze.orders cannot be looked after: a file that it needs is gone\n  where: {needed}" in said[
        0
    ].err.replace("\n    where", "\n  where")
    assert "3 tables: 2 need nothing" in said[0].out, "the others had their turn"
    lost.rename(needed)
    assert "set aside" in smelt("maintain", "run", "--only", "orphans").out
    assert "bronze.orders is set aside: bronze.orders cannot be looked after" in smelt("status").out
    assert list(json.loads(smelt("status", "--json").out)[0]["set_aside"]) == ["bronze.orders"]
    assert "smelt maintain retry bronze.orders" in smelt("maintain", "tables").out
    assert "bronze.orders is looked after again" in smelt("maintain", "retry").out
    assert "is not set aside" in smelt("maintain", "retry", "bronze.orders").out
    assert "no table is set aside" in smelt("maintain", "retry").out
    assert "set aside" not in smelt("maintain", "plan").out


def test_a_table_of_no_dataset_that_was_set_aside_is_told_by_status_too(shed: Shed, smelt: Any) -> None:
    shed.commit()
    for _ in range(MOST_FAILURES):
        record(shed.lake, Entry("maintain:20260101-120000-0a1b", "dead_letters.resolutions", later(), "failed", 0, "x"))
    assert "dead_letters.resolutions is set aside: x" in smelt("status").out


def test_what_fails_for_the_lake_as_a_whole_sets_nothing_aside(shed: Shed, smelt: Any) -> None:
    shed.commit()
    folder = shed.lake.root / "trash" / "maintain-20260101-120000-0a1b"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{")
    said = [smelt("maintain", "run", "--only", "orphans,records") for _ in range(MOST_FAILURES + 1)]
    assert {one.code for one in said} == {3}
    assert "the list of what is in the trash cannot be read" in said[-1].err
    assert "tables: " in said[-1].out
    assert json.loads(smelt("maintain", "tables", "--json").out)["set_aside"] == {}


def test_a_plan_for_programs_has_partitions_ages_the_newest_batch_and_consumers(shed: Shed, smelt: Any) -> None:
    shed.commit(6)
    (table,) = json.loads(smelt("maintain", "plan", "bronze.orders", "--json").out)["tables"]
    about = table["survey"]
    assert [(one["files"], one["small"]) for one in about["partitions"]] == [(6, 6)]
    assert about["newest_batch"].startswith("orders:")
    assert about["oldest_snapshot_at"] <= about["newest_snapshot_at"]
    assert about["consumers"] == []


@pytest.mark.jvm
def test_a_rollback_is_rehearsed_done_and_told(make: NewShed, smelt: Any) -> None:
    shed = make()
    shed.commit(2)
    shed.build_silver()
    first = shed.table(SILVER).metadata.current_snapshot_id
    shed.commit(1)
    shed.build_silver()
    table = f"silver.{shed.name}"
    assert str(first) in smelt("maintain", "snapshots", table, at=shed.lake).out
    words = ("maintain", "rollback", table, "--to", str(first))
    said = smelt(*words, "--dry-run", at=shed.lake)
    assert f"{table} would be as it was" in said.out
    assert "4 rows instead of 6" in said.out
    assert len(shed.rows(SILVER)) == 6
    found = json.loads(smelt(*words, "--json", at=shed.lake).out)
    assert (found["rows_before"], found["rows_after"], found["to_snapshot"]) == (6, 4, first)
    assert len(shed.rows(SILVER)) == 4


def test_the_job_is_the_command(shed: Shed) -> None:
    shed.commit(2)
    job = Path(__file__).parents[2] / "jobs" / "maintain.py"
    environ = {**os.environ, "SMELTER_LAKE": str(shed.lake.root)}
    done = subprocess.run([sys.executable, str(job)], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3 tables: 3 need nothing\n"), done.stderr
