"""`smelt ask`: what it lists, what it asks, what it refuses, and what it says beside an answer."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from small_lakes import SmallLake, Smelt

from smelter.cli import answer_table, ask, main

QUESTION = """\
-- question: Which numbers?
-- about: A row is a number, and this line is longer than a narrow terminal is wide, so that it goes on below.
-- param: least bigint = 1: From here on.
-- param: name varchar = it's: Whatever.
-- param: since timestamptz = 2h: A time.
-- param: dataset dataset: One of them.
-- param: most bigint = 2: How many at most.
select i as n, $name as name from range(9) t(i)
where i >= $least and now() > $since and ($dataset::varchar is null or $dataset <> '$least') limit $most
"""


@pytest.fixture
def folder(lake: SmallLake, tmp_path: Path, smelt: Smelt, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with one question."""
    if "ask" not in {command.name for command in main.app.registered_commands}:
        ask.register(main.app)
    lake.with_events([1])
    questions = tmp_path / "own" / "questions"
    questions.mkdir(parents=True)
    (questions / "numbers.sql").write_text(QUESTION)
    monkeypatch.setenv("SMELTER_DUCKDB", str(tmp_path / "own"))
    return tmp_path / "own"


def test_a_question_says_what_it_takes_and_that_there_may_be_more(folder: Path, smelt: Smelt) -> None:
    done = smelt("ask", "numbers", "-p", "least=3")
    assert done.code == 0
    assert "  --param least=3  From here on.\n" in done.out
    assert done.out.splitlines()[-4:] == ["─  ────", "3  it's", "4  it's", "2 rows"]
    assert done.err == "there may be more: --param most=4 shows as many\n"
    assert smelt("ask", "numbers", "-p", "least=8").err == ""


def test_bars_are_as_long_as_there_is_room_and_columns_go_before_them(
    folder: Path, smelt: Smelt, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "questions" / "shares.sql").write_text(
        "-- question: Which?\n-- about: A row.\n-- chart: name, share\n"
        "select * from (values ('a', 10.0, 'x'), ('b', 5.0, 'y'), ('c', 'nan'::double, 'z')) t(name, share, more)"
    )
    for width, longest in ((80, 32), (29, 10), (20, 0)):
        monkeypatch.setattr(answer_table, "_width", lambda _, width=width: width)
        done = smelt("ask", "shares")
        assert [line.count("█") for line in done.out.splitlines() if line[:2] in ("a ", "b ", "c ")] == [
            longest,
            longest // 2,
            0,
        ]
        assert "more" in done.out


def test_a_dataset_that_is_not_there_has_no_empty_answer(folder: Path, smelt: Smelt) -> None:
    done = smelt("ask", "numbers", "-p", "dataset=evnts")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("--param dataset: there is no dataset `evnts`; did you mean `events`?")
    assert smelt("ask", "numbers", "-p", "dataset=events").code == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("least=many", "`many` is not a whole number of 0 or more"),
        ("least=-1", "`-1` is not a whole number of 0 or more"),
        ("least=99999999999999999999", "is not a whole number of 0 or more"),
        ("since=banana", "--param since=2026-11-18T09:00:00Z (UTC), or so long ago: --param since=2h"),
        ("leats=1", "numbers has no parameter `leats`; did you mean `least`?"),
        ("least", "--param least has no value"),
    ],
)
def test_a_value_that_cannot_be_is_wrong_usage(folder: Path, smelt: Smelt, given: str, says: str) -> None:
    done = smelt("ask", "numbers", "-p", given)
    assert (done.code, says in done.err) == (2, True), done.err


def test_the_sql_of_a_question_can_be_asked_elsewhere_as_it_is_printed(folder: Path, smelt: Smelt) -> None:
    text = smelt("ask", "numbers", "-p", "least=3", "-p", "dataset=events", "--sql").out
    assert duckdb.sql(text).fetchall() == [(3, "it's"), (4, "it's")]


def test_a_file_with_a_mistake_takes_nothing_else_away(folder: Path, smelt: Smelt) -> None:
    (folder / "questions" / "bad.sql").write_text("-- qestion: What?\nselect 1")
    (folder / "views").mkdir()
    (folder / "views" / "bad.sql").write_text("select 1")
    (folder / "views" / "good.sql").write_text("-- about: One.\n-- column: n bigint: One.\nselect 1 as n")
    done = smelt("ask")
    assert (done.code, "  numbers  Which numbers?" in done.out) == (0, True)
    assert "note: bad.sql: line 1: `qestion` has no meaning here; did you mean `question`?" in done.err
    assert smelt("ask", "bad").code == 1
    assert smelt("ask", "numbers").code == 0
    done = smelt("sql", "select count(*) as n from bronze.events, ops.good", "--format", "csv")
    assert (done.code, done.out) == (0, "n\n1\n")
    done = smelt("sql", "from ops.bad")
    assert (done.code, "the table ops.bad cannot be opened: bad.sql: the header has no" in done.err) == (3, True)


def test_a_folder_of_questions_that_is_not_there_is_said(
    folder: Path, smelt: Smelt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMELTER_DUCKDB", str(folder / "none"))
    for words in (["ask"], ["ask", "numbers"]):
        done = smelt(*words)
        assert (done.code, done.err.splitlines()[0]) == (3, "the folder of the questions is not there")
