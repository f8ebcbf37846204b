"""`smelt sql`: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from small_lakes import SmallLake, Smelt

from smelter.cli import answer_table

WIDE = "select " + ", ".join(f"'{'x' * 20}' as column_{number}" for number in range(30))


def test_an_answer_is_a_table_with_its_count(lake: SmallLake, smelt: Smelt) -> None:
    lake.with_events([1, 2])
    done = smelt("sql", "select id, name, null as nothing from bronze.events order by id")
    lines = [line.split() for line in done.out.splitlines() if line.strip()]
    assert lines[0] == ["id", "name", "nothing"]
    assert lines[2:] == [["1", "name", "1", "NULL"], ["2", "name", "2", "NULL"], ["2", "rows"]]
    assert (done.code, done.err) == (0, "")


def test_rows_that_are_left_out_are_told(smelt: Smelt) -> None:
    done = smelt("sql", "from range(60)")
    assert [line.strip() for line in done.out.splitlines()] == [
        "range",
        "─────",
        *map(str, range(50)),
        "the first 50 rows of more: --limit N, or --format csv for all",
    ]
    assert "the first 1 row of more" in smelt("sql", "from range(2)", "--limit", "1").out
    assert "\n2 rows\n" in smelt("sql", "from range(2)", "--limit", "2").out


def test_a_table_of_a_huge_answer_does_not_wait_for_all_of_it(smelt: Smelt) -> None:
    assert "the first 50 rows of more" in smelt("sql", "from range(1000000000000)").out


def test_long_values_are_cut_and_signs_that_move_the_cursor_are_written_out(smelt: Smelt) -> None:
    odd = "'a' || chr(27) || '[2J' || chr(10) as odd, 1 as \"[red]\""
    done = smelt("sql", f"select repeat('x', 500) as long, 'file:///' || repeat('y', 200) || 'end' as at, {odd}")
    assert "x" * 79 + "…" in done.out
    assert "x" * 80 not in done.out
    assert "file:///" + "y" * 11 + "…" + "y" * 57 + "end" in done.out, "an address is told from others by its end"
    assert "\\x1b[2J\\n" in done.out
    assert "[red]" in done.out
    assert "--format json gives them whole" in done.out


def test_a_few_rows_that_are_wider_than_the_terminal_get_one_line_for_each_value(
    smelt: Smelt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_table, "_width", lambda _: 80)
    done = smelt("sql", WIDE)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "row 1\n  column_0   xxxxxxxxxxxxxxxxxxxx\n" in done.out
    assert "\n1 row\n" in done.out
    assert len(smelt("sql", "select 1 as a").out.splitlines()) == 4


def test_a_table_fits_the_terminal_and_says_what_it_leaves_out(smelt: Smelt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_table, "_width", lambda _: 80)
    done = smelt("sql", f"{WIDE} from range(5)")
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.startswith("column_0 ")
    assert "column_29" in done.out.splitlines()[0]
    assert "without column_3" in done.out
    assert "xxxxxxxxxxx…" in done.out
    assert "values with … are cut: --format json gives them whole" in done.out
    short = smelt("sql", "select i, repeat('z', 90) as text, now() as at from range(5) t(i)").out
    assert re.search(r"^0  z+…  \d{4}-\d\d-\d\dT[\d:.]+Z$", short, re.MULTILINE), "texts give way, times do not"


def test_signs_that_take_two_places_are_counted_as_two(smelt: Smelt) -> None:
    lines = smelt("sql", "from (values ('東京', 1), ('ab', 2)) t(a, n)").out.splitlines()
    assert lines == ["a     n", "────  ─", "東京  1", "ab    2", "2 rows"]


def test_a_month_is_a_month_and_a_nanosecond_is_not_lost(smelt: Smelt, tmp_path: Path) -> None:
    query = "select interval '14 months 3 days' as a, timestamp_ns '2026-01-01 00:00:00.123456789' as b, 7 as a -- end"
    assert smelt("sql", query, "--format", "csv").out.splitlines()[1] == (
        "1 year 2 months 3 days,2026-01-01 00:00:00.123456789,7"
    )
    assert smelt("sql", query, "--output", str(tmp_path / "a.parquet")).code == 0
    (row,) = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert row["a"] == "1 year 2 months 3 days"


def test_json_is_a_list_of_objects(lake: SmallLake, smelt: Smelt) -> None:
    lake.with_events([1, 2])
    done = smelt("sql", "select id, name as id, timestamptz '2026-01-01' as at from bronze.events order by 1", "--json")
    assert json.loads(done.out) == [
        {"id": 1, "id_1": "name 1", "at": "2026-01-01T00:00:00Z"},
        {"id": 2, "id_1": "name 2", "at": "2026-01-01T00:00:00Z"},
    ]
    assert smelt("sql", "select 1 where false", "--format", "json").out == "[]\n"


def test_csv_has_a_header_and_quotes_what_needs_it(smelt: Smelt) -> None:
    done = smelt("sql", "select 1 as a, 'x, \"y\"' as \"b,c\", null as d union all select 2, '', 3", "--format", "csv")
    assert done.out == 'a,"b,c",d\n1,"x, ""y""",\n2,"",3\n'
    assert smelt("sql", "select 1 as a where false", "--format", "csv").out == "a\n"
    many = smelt("sql", "from range(5000)", "--format", "csv").out
    assert len(list(csv.reader(io.StringIO(many, newline="")))) == 5001


def test_a_plan_is_printed_as_it_is(lake: SmallLake, smelt: Smelt) -> None:
    lake.with_events([1])
    done = smelt("sql", "explain select id from bronze.events")
    assert "ICEBERG_SCAN" in done.out
    assert "\\n" not in done.out


def test_a_query_may_come_from_standard_input(smelt: Smelt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("select 42\n  as answer"))
    assert json.loads(smelt("sql", "-", "--json").out) == [{"answer": 42}]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "a query is needed, and this text has none"),
        ([" -- nothing"], "a query is needed, and this text has none"),
        (["select 1", "--serve"], "a QUERY and --serve are different things to do"),
        (["--serve", "--export", "x"], "--serve and --export are different things to do"),
        (["--serve", "--json"], "--json means nothing here"),
        (["--init", "--at", "2h"], "--at means nothing here"),
        (["select 1", "--table", "bronze.events"], "--table means nothing here"),
        (["--export", "x", "--unsafe"], "--unsafe means nothing here"),
        (["select 1", "--at", "yesterday"], "--at `yesterday` is not a time"),
        (["select 1", "--at", "2999-01-01"], "2999-01-01T00:00:00+00:00 is in the future"),
        (["select 1", "--output", "x.xls"], "the name x.xls does not tell its form"),
        (["select 1", "--json", "--format", "csv"], "--json and --format csv are different forms"),
        (["select 1", "--output", ""], "--output names a folder"),
        (["select 1", "--output", "/"], "--output names a folder"),
        (["select 1", "--limit", "0"], "Invalid value for '--limit'"),
        (["select 1", "--format", "xml"], "Invalid value for '--format'"),
    ],
)
def test_a_command_without_meaning_is_wrong_usage(smelt: Smelt, words: list[str], says: str) -> None:
    done = smelt("sql", *words)
    assert done.code == 2
    assert says in done.err


def test_a_mistake_in_the_query_keeps_duckdbs_words_and_its_caret(lake: SmallLake, smelt: Smelt) -> None:
    lake.with_events([1])
    done = smelt("sql", "select nmae from bronze.events")
    assert done.code == 1
    assert 'Referenced column "nmae" not found' in done.err
    assert "\nLINE 1: select nmae from bronze.events\n               ^" in done.err
    assert done.out == ""


def test_a_table_that_is_not_there_is_told_with_the_nearest_and_with_what_is(lake: SmallLake, smelt: Smelt) -> None:
    lake.with_events([1])
    lake.make("silver", "events")
    done = smelt("sql", "select * from bronze.evnts")
    assert done.code == 1
    assert done.err == (
        "there is no table bronze.evnts; did you mean bronze.events?\n"
        "LINE 1: select * from bronze.evnts\n"
        "                      ^\n"
        '  next: smelt sql "show tables" lists them\n'
    )
    assert "did you mean bronze.events or silver.events?" in smelt("sql", "from events").err
    assert "there is no table bronze.evnts; did you mean bronze.events?" in smelt("sql", "from lake.bronze.evnts").err
    assert "did you mean" not in smelt("sql", "from zzz").err
    assert "did you mean ops.letters?" in smelt("sql", "from ops.leters").err
    assert "it comes with the first smelt forget" in smelt("sql", "from ops.forgotten").err


def test_what_is_refused_leaves_with_1_and_the_way_to_allow_it(lake: SmallLake, smelt: Smelt, tmp_path: Path) -> None:
    done = smelt("sql", f"copy (select 1) to '{tmp_path}/out.csv'")
    assert done.code == 1
    assert done.err == (
        "COPY is not allowed: a query may read the lake's tables, and do nothing else\n"
        "  data: nothing was run\n"
        "  next: ask the lake's tables with `select`, or allow everything with --unsafe (in Python unsafe=True)\n"
    )
    assert not (tmp_path / "out.csv").exists()
    assert smelt("sql", "--unsafe", f"copy (select 1 as a) to '{tmp_path}/out.csv'").code == 0
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"


def test_a_broken_catalog_leaves_with_3(lake: SmallLake, smelt: Smelt) -> None:
    lake.path.mkdir()
    lake.catalog_file.write_bytes(b"not a database at all, but a text" * 100)
    done = smelt("sql", "select 1")
    assert done.code == 3
    assert done.err.startswith("the lake's catalog cannot be read: file is not a database\n  where: ")


def test_a_folder_that_is_no_lake_is_refused(smelt: Smelt, lake: SmallLake) -> None:
    lake.path.mkdir()
    (lake.path / "thesis.doc").touch()
    done = smelt("sql", "select 1")
    assert (done.code, "is not a lake: it holds thesis.doc" in done.err) == (1, True)
    (lake.path / "thesis.doc").unlink()
    (lake.path / "layout").write_text("99\n")
    done = smelt("sql", "select 1")
    assert (done.code, "has layout 99" in done.err) == (1, True)


def test_a_folder_that_is_not_there_is_no_empty_lake(smelt: Smelt, tmp_path: Path) -> None:
    for words in (["sql", "select 1"], ["sql", "--serve"]):
        done = smelt("--lake", str(tmp_path / "none"), *words)
        assert (done.code, done.err.splitlines()[0]) == (3, "there is no such folder, and so no lake")


def test_help_says_what_can_be_asked_and_imports_no_duckdb() -> None:
    probe = (
        "import sys; from smelter.cli import main, sql; sql.register(main.app); main.run(['sql', '--help']);"
        "assert not {'duckdb', 'pyiceberg', 'pyarrow', 'pandas'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("QUERY", "--format", "--limit", "--unsafe", "--at", "--export", "own shell"):
        assert word in done.stdout
