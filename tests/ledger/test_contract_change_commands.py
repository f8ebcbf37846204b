"""`smelt contract plan`, `apply`, `show` and `history`, as people and programs see them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lakes import BAD, CONTRACT, GOOD, Things

from smelter.cli.main import run
from smelter.contracts import load_contract, parse_contract
from smelter.lake.home import BRONZE
from smelter.lake.tables import load_table

WITH_B = CONTRACT.replace("version: 1", "version: 2").replace("source:", "  b: {type: string}\nsource:")
STRICTER = CONTRACT.replace("version: 1", "version: 2").replace("required: true", "required: true, min: 2")
WITHOUT_A = WITH_B.replace("version: 2", "version: 3").replace("  a: {type: int, required: true}\n", "")


@pytest.fixture
def things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Things:
    monkeypatch.setenv("SMELTER_CONTRACTS", str(tmp_path))
    made = Things.at(tmp_path / "lake")
    write(made, CONTRACT)
    made.write("a.json", GOOD + BAD + GOOD + '{"a": 5, "b": "early"}\n')
    made.take("a.json")
    return made


def write(things: Things, text: str) -> Path:
    file = things.lake.root.parent / "things.yaml"
    file.write_text(text)
    return file


def smelt(things: Things, *words: str) -> int:
    return run(["--lake", str(things.lake.root), *words])


def location(things: Things) -> str:
    return load_table(things.lake, BRONZE, "things").metadata_location


def test_plan_says_what_apply_would_do_and_changes_nothing(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, WITH_B)
    before = location(things)
    assert smelt(things, "contract", "plan", "things") == 0
    said = capsys.readouterr().out
    assert "things@1 is active; the file says things@2" in said
    assert "bronze.things: column b string: added, id 8; rows before have null" in said
    assert "dead letters: 2 open, 1 of them would pass (unknown_field 1)" in said
    assert said.endswith("next: smelt contract apply things\n")
    assert location(things) == before


def test_plan_counts_stored_rows_that_break_a_stricter_rule(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, STRICTER)
    assert smelt(things, "contract", "plan", "things", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rows_that_break_a_stricter_rule"] == [{"field": "a", "rule": "min", "rows": 2}]
    assert (found["table"], found["open_letters"], found["letters_that_would_pass"]) == ([], 2, {})


def test_apply_makes_the_file_active_and_is_safe_to_repeat(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, WITH_B)
    assert smelt(things, "contract", "apply", "things") == 0
    assert capsys.readouterr().out == "things@2 is active; fields.b: added, string\n"
    before = location(things)
    assert smelt(things, "contract", "apply", "things") == 0
    assert capsys.readouterr().out == "things@2 is active already; nothing was changed\n"
    assert smelt(things, "contract", "plan", "things") == 0
    assert capsys.readouterr().out == "things@2 is active, and the file says the same\n"
    assert location(things) == before


def test_show_prints_a_contract_that_could_be_the_file(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, WITH_B)
    smelt(things, "contract", "apply", "things")
    capsys.readouterr()
    assert smelt(things, "contract", "show", "things") == 0
    assert parse_contract(capsys.readouterr().out, "things.yaml") == parse_contract(WITH_B, "things.yaml")
    assert smelt(things, "contract", "show", "things", "--json") == 0
    assert json.loads(capsys.readouterr().out)["version"] == 2


def test_history_tells_what_each_contract_changed(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, WITH_B)
    smelt(things, "contract", "apply", "things")
    write(things, WITHOUT_A)
    assert smelt(things, "contract", "apply", "things", "--drop", "a") == 0
    capsys.readouterr()
    assert smelt(things, "contract", "history", "things", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["contract"], one["changes"]) for one in found] == [
        ("things@1", ["the first that is known"]),
        ("things@2", ["fields.b: added, string"]),
        ("things@3", ["fields.a: dropped"]),
    ]
    assert sorted(found, key=lambda one: one["applied_at"]) == found
    assert smelt(things, "contract", "history", "things") == 0
    assert "things@3 is active; 3 contracts in all" in capsys.readouterr().out


def test_a_field_goes_only_if_it_is_named(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, WITHOUT_A.replace("version: 3", "version: 2"))
    before = location(things)
    for words in (["plan", "things"], ["apply", "things"]):
        assert smelt(things, "contract", *words) == 1
        said = capsys.readouterr()
        assert "--drop a" in said.out + said.err
    assert location(things) == before
    assert smelt(things, "contract", "plan", "things", "--drop", "a") == 0
    assert "next: smelt contract apply things --drop a" in capsys.readouterr().out


def test_a_refused_change_tells_the_reason_and_the_way_out(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, WITH_B.replace("type: int", "type: string"))
    assert smelt(things, "contract", "apply", "things") == 1
    said = capsys.readouterr().err
    assert "fields.a: type int → string is refused: stored values of int are not values of string" in said
    assert "data: nothing was changed" in said
    assert "next: add a new optional field beside it" in said


def test_before_the_first_ingest_there_is_nothing_to_show_and_everything_to_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMELTER_CONTRACTS", str(tmp_path))
    empty = Things.at(tmp_path / "lake")
    contract = load_contract(write(empty, CONTRACT))
    assert smelt(empty, "contract", "show", "things") == 3
    assert smelt(empty, "contract", "plan", "things") == 0
    assert "nothing is active yet" in capsys.readouterr().out
    assert not empty.lake.has_catalog
    assert smelt(empty, "contract", "apply", "things") == 0
    assert capsys.readouterr().out == f"{contract.label} is the first contract of things, and active\n"


def test_status_says_how_to_look_at_a_file_that_differs(things: Things, capsys: pytest.CaptureFixture[str]) -> None:
    write(things, WITH_B)
    assert smelt(things, "status") == 0
    assert "is not the active contract, things@1; smelt contract plan things" in capsys.readouterr().out
