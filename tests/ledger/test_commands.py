"""`smelt reconcile`, `smelt trace` and `smelt status`, as people and programs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lakes import BAD, GOOD, Things

from smelter.cli.main import run


@pytest.fixture
def things(tmp_path: Path) -> Things:
    made = Things.at(tmp_path / "lake")
    made.write("a.json", GOOD + BAD + GOOD)
    made.take("a.json")
    return made


def smelt(things: Things, *words: str) -> int:
    return run(["--lake", str(things.lake.root), *words])


def test_a_balanced_lake_is_one_line_and_exit_code_0(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    assert smelt(things, "reconcile") == 0
    said = capsys.readouterr().out
    assert said == "✓ things: 3 records in 1 source = 2 in bronze + 1 in dead letters: each in exactly one place\n"


def test_what_is_amiss_is_named_with_exit_code_1(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    things.delete_rows("_position == 2")
    assert smelt(things, "reconcile", "things") == 1
    assert f"missing  {things.source('a.json')}:2  batch things:test:1:" in capsys.readouterr().out
    assert smelt(things, "reconcile", "--json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["is_balanced"], found["problems"][0]["position"]) == (False, 2)


def test_a_dataset_that_was_never_ingested_is_told_with_the_nearest_name(
    things: Things, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("reconcile", "status"):
        assert smelt(things, command, "thing") == 3
        assert "nothing has been ingested for thing; did you mean `things`?" in capsys.readouterr().err


@pytest.mark.parametrize("name", ['things"; drop table x; --', "../../things", "things' or '1'='1"])
def test_a_hostile_name_reaches_no_sql_and_no_file(things: Things, name: str) -> None:
    for words in (["reconcile", name], ["status", name], ["trace", "--where", "true", "--dataset", name]):
        assert smelt(things, *words) == 3
    assert smelt(things, "ingest", name, "--drain") != 0
    assert smelt(things, "reconcile") == 0


def test_an_accepted_record_is_traced_from_its_file_to_its_snapshot(
    things: Things, capsys: pytest.CaptureFixture[str]
) -> None:
    assert smelt(things, "trace", f"{things.landing / 'a.json'}:2") == 0
    said = capsys.readouterr().out
    for words in (
        "a.json:2  accepted",
        "batch       things:test:1:",
        "in          bronze.things",
        "things@1",
        '{"a": 1}',
    ):
        assert words in said


def test_a_dead_letter_is_traced_with_its_reasons(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    assert smelt(things, "trace", f"{things.source('a.json')}:1", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["found"] == "a dead letter: wrong_type"
    assert found["places"][0]["row"]["errors"][0]["field"] == "a"
    assert found["text"] == '{"a": "x"}'


def test_a_record_can_be_found_by_a_condition(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    assert smelt(things, "trace", "--where", "a = 1 and _position = 2") == 0
    assert "a.json:2  accepted" in capsys.readouterr().out
    assert smelt(things, "trace", "--where", "reason = 'wrong_type'") == 0
    assert "a.json:1  a dead letter" in capsys.readouterr().out
    assert smelt(things, "trace", "--where", "a = 99") == 1
    assert smelt(things, "trace", "--where", "no_such = 1") == 1
    assert "no_such" in capsys.readouterr().err


def test_a_position_beyond_the_end_is_nowhere(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    assert smelt(things, "trace", f"{things.landing / 'a.json'}:3") == 1
    assert "nowhere: the source holds 3 records" in capsys.readouterr().out


def test_a_record_of_a_file_that_waits_is_not_read_yet(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    things.write("b.json", GOOD)
    assert smelt(things, "trace", f"{things.landing / 'b.json'}:0") == 1
    assert "not read yet" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["a.json:0", "--where", "true"], ["a.json"], ["a.json:x"]])
def test_trace_wants_one_record(things: Things, words: list[str]) -> None:
    assert smelt(things, "trace", *words) == 2


def test_status_tells_how_a_dataset_stands(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    things.write("b.json", GOOD)
    things.write("zero.json", "")
    things.write("a.json", GOOD)
    assert smelt(things, "status", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["rows"] == {"bronze.things": 2, "dead_letters.things": 1}
    assert found["dead_letters"] == {"wrong_type": 1}
    assert (found["waiting_files"], len(found["empty"]), len(found["rewritten"])) == (2, 1, 1)
    assert found["stream"]["alive"] is False
    assert found["last_batch"]["records"] == 3
    assert smelt(things, "status") == 0
    said = capsys.readouterr().out
    assert "things (things@1): 2 in bronze.things, 1 in dead_letters.things" in said
    assert "--reread FILE" in said


def test_status_of_an_empty_lake_says_how_to_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--lake", str(tmp_path / "lake"), "status"]) == 0
    assert "smelt ingest DATASET --drain" in capsys.readouterr().out
    assert run(["--lake", str(tmp_path / "lake"), "reconcile"]) == 3


@pytest.mark.parametrize("words", [[], ["--drain", "--follow"], ["--recover", "--reread", "x"]])
def test_ingest_wants_one_word_of_what_to_do(things: Things, words: list[str]) -> None:
    assert smelt(things, "ingest", "things", *words) == 2
