"""A DuckDB that is not ours: the shell, and scripts for one's own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from small_lakes import SmallLake, Smelt, metadata_file
from terminals import Terminal

from smelter import walled
from smelter.errors import Unreachable
from smelter.explore import shell
from smelter.explore.shell import _program

SMELT = [sys.executable, "-c", "from smelter.cli.main import main; main()"]


@pytest.fixture
def environ(lake: SmallLake, tmp_path: Path) -> dict[str, str]:
    """An environment in which the lake is the lake, and the history is nobody's."""
    return {**os.environ, "SMELTER_LAKE": str(lake.path), "DUCKDB_HISTORY": str(tmp_path / "history")}


@pytest.fixture
def served(lake: SmallLake, environ: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`smelt sql --serve` as a process of its own, and the script that it printed."""
    lake.with_events([1, 2])
    words = [*SMELT, "sql", "--serve"]
    process = subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline()]
    while not lines[-1].startswith("set search_path"):
        assert lines[-1], process.communicate()[1]
        lines.append(process.stdout.readline())
    yield process, "".join(lines)
    process.kill()
    process.communicate()


def count(connection: duckdb.DuckDBPyConnection, table: str = "bronze.events") -> int:
    return connection.execute(f"select count(*) from {table}").fetchall()[0][0]


def test_a_duckdb_of_ones_own_follows_the_lake_as_long_as_it_is_served(
    lake: SmallLake, served: tuple[subprocess.Popen[str], str]
) -> None:
    process, script = served
    with duckdb.connect() as mine:
        mine.execute(script)
        assert count(mine) == 2
        lake.append(lake.catalog.load_table("bronze.events"), [3])
        lake.append(lake.make("silver", "later"), [1])
        assert (count(mine), count(mine, "silver.later")) == (3, 1), "also a table that was made later"
        assert mine.execute("select rows from ops.tables where \"table\" = 'bronze.events'").fetchall() == [(3,)]
        with pytest.raises(duckdb.Error, match="read-only"):
            mine.execute("insert into lake.bronze.events values (9, 'x')")
        assert not re.search(r"token\s*=\s*'?\w{20}", str(mine.execute("from duckdb_secrets()").fetchall()))
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        with pytest.raises(duckdb.Error):
            count(mine)


def test_the_script_works_in_duckdbs_shell(served: tuple[subprocess.Popen[str], str], tmp_path: Path) -> None:
    (tmp_path / "lake.sql").write_text(served[1])
    words = [str(_program()), "-init", str(tmp_path / "lake.sql"), "-csv", "-c", "select count(*) n from bronze.events"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split()[-2:] == ["n", "2"]


def test_a_duckdb_of_another_version_is_told_which_one_is_needed(lake: SmallLake, smelt: Smelt) -> None:
    lake.with_events([1])
    script = smelt("sql", "--init").out.replace(f"v{duckdb.__version__}", "v1.5.4")
    with (
        duckdb.connect() as mine,
        pytest.raises(duckdb.Error, match=r"this script is for DuckDB .* smelt sql"),
    ):
        mine.execute(script)


def test_a_script_without_a_server_is_pinned_and_says_so(lake: SmallLake, smelt: Smelt) -> None:
    events = lake.with_events([1, 2])
    done = smelt("sql", "--init")
    assert "and none that come later" in done.out
    assert "1 table, pinned at the snapshots of " in done.err
    with duckdb.connect() as mine:
        mine.execute(done.out)
        lake.append(events, [3])
        assert count(mine) == 2
        assert count(mine, "ops.files") == 1
        assert count(mine, "ops.letters") == 0


@pytest.mark.parametrize(("ending", "is_told"), [(".gz.metadata.json", False), (".metadata.json.gz", True)])
def test_packed_metadata_is_read_by_a_pinned_script_or_told(
    lake: SmallLake, smelt: Smelt, ending: str, is_told: bool
) -> None:
    """By one of the two names that writers give it DuckDB does not find a file."""
    import gzip

    events = lake.with_events([1, 2])
    plain = metadata_file(events)
    packed = plain.with_name(plain.name.replace(".metadata.json", ending))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    lake.in_catalog("update iceberg_tables set metadata_location = ?", str(packed))
    plain.unlink()
    done = smelt("sql", "--init")
    assert ("bronze.events cannot be opened, and is not in the script" in done.err) == is_told
    with duckdb.connect() as mine:
        mine.execute(done.out)
        assert is_told or count(mine) == 2


def test_the_shell_asks_the_live_lake_and_writes_nothing(
    lake: SmallLake, environ: dict[str, str], tmp_path: Path
) -> None:
    events = lake.with_events([1, 2])
    terminal = Terminal([*SMELT, "sql"], environ)
    assert "1 table, to read only" in terminal.until("lake D")
    before = lake.files()
    assert "│            2 │" in terminal.ask("select count(*) from bronze.events;")
    lake.append(events, [3])
    assert "│            3 │" in terminal.ask("select count(*) from bronze.events;")
    assert "│            0 │" in terminal.ask("select count(*) from ops.letters;")
    assert "disabled by configuration" in terminal.ask("from read_text('/etc/passwd');")
    assert "disabled by configuration" in terminal.ask(f"copy (select 1) to '{tmp_path}/out.csv';")
    assert "cannot be used in -safe mode" in terminal.ask(".shell id")
    assert "locked" in terminal.ask("set threads = 1;")
    inside = terminal.ask(f"copy (select 1) to '{lake.path}/tables/out.csv';")
    assert walled.is_possible() is ("Permission denied" in inside)
    terminal.ask(".quit", ends=True)
    assert {place for place in lake.files() - before if place.suffix == ".csv"} == set()
    assert "select count(*) from bronze.events;" in (tmp_path / "history").read_text()
    assert oct((tmp_path / "history").stat().st_mode)[-3:] == "600"


def test_ctrl_c_ends_a_question_and_not_the_shell(lake: SmallLake, environ: dict[str, str]) -> None:
    lake.with_events([1])
    terminal = Terminal([*SMELT, "sql"], environ)
    terminal.until("lake D")
    terminal.send("select count(*) from range(1000000000000) t(i) where i % 3 = 7;\n")
    terminal.until("= 7;")
    terminal.wait(1.0)
    terminal.send("\x03")
    terminal.until("^C")
    terminal.until("lake D")
    assert "│            1 │" in terminal.ask("select count(*) from bronze.events;")
    terminal.ask(".quit", ends=True)


def test_a_shell_whose_terminal_goes_away_leaves_no_file(
    lake: SmallLake, environ: dict[str, str], tmp_path: Path
) -> None:
    lake.with_events([1])
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    terminal = Terminal([*SMELT, "sql"], {**environ, "TMPDIR": str(scratch)})
    terminal.until("lake D")
    assert len(list(scratch.iterdir())) == 1
    terminal.end(signal.SIGHUP)
    assert list(scratch.iterdir()) == []


def test_a_script_in_a_file_is_for_its_owner_and_names_what_is_not_in_it(
    lake: SmallLake, smelt: Smelt, tmp_path: Path
) -> None:
    lake.with_events([1, 2])
    metadata_file(lake.make("silver", "broken")).write_text("{ cut")
    done = smelt("sql", "--init", "--output", str(tmp_path / "lake.sql"))
    assert (done.code, done.out) == (0, "")
    assert "note: the table silver.broken cannot be opened, and is not in the script" in done.err
    assert "1 table, pinned" in done.err
    assert (tmp_path / "lake.sql").stat().st_mode & 0o777 == 0o600
    with duckdb.connect() as mine:
        mine.execute((tmp_path / "lake.sql").read_text())
        assert count(mine) == 2
        assert ("bronze", "events", "") in mine.execute("from tables").fetchall()


def test_a_table_that_is_broken_keeps_nobody_out_of_the_shell(lake: SmallLake, environ: dict[str, str]) -> None:
    lake.with_events([1])
    metadata_file(lake.make("silver", "broken")).write_text("{ cut")
    terminal = Terminal([*SMELT, "sql"], environ)
    terminal.until("lake D")
    assert "│            1 │" in terminal.ask("select count(*) from bronze.events;")
    assert "rror" in terminal.ask("select count(*) from silver.broken;")
    terminal.ask(".quit", ends=True)


def test_a_shell_of_another_version_or_none_is_said_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "version", lambda _: "1.5.6")
    with pytest.raises(Unreachable, match=r"DuckDB's shell is of version 1\.5\.6, and its library of") as told:
        _program()
    assert told.value.next_step == "make setup"
    monkeypatch.setattr(shell, "find_spec", lambda _: None)
    with pytest.raises(Unreachable, match="DuckDB's shell is not installed"):
        _program()
