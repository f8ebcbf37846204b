"""`smelt silver` and what `smelt status` says of it; none of these needs a JVM of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Make
from things import FIRST, Things, contract_of, moment

from smelter.cli.main import run
from smelter.errors import Refused
from smelter.lake.home import SILVER, Lake
from smelter.lake.lease import lease


def some(*ids: str) -> list[dict[str, Any]]:
    return [{"id": one, "region": 1, "at": moment(3), "seq": 1} for one in ids]


@pytest.fixture(scope="module")
def built(make: Make) -> Things:
    things = make(FIRST)
    things.arrive(some("a", "b", "a"))
    things.build()
    return things


class Said:
    """What a command said, and its exit code."""

    def __init__(self, capsys: pytest.CaptureFixture[str], lake: Lake, *words: str) -> None:
        self.code = run(["--lake", str(lake.root), *words])
        told = capsys.readouterr()
        self.out, self.err = told.out, told.err


def test_nothing_new_is_said_and_starts_no_spark(
    built: Things, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smelter.silver.build.start_spark", lambda *_words, **_more: pytest.fail("Spark was started"))
    said = Said(capsys, built.lake, "silver", built.name)
    assert (said.code, said.out) == (0, f"silver.{built.name}: nothing new in bronze; 2 rows\n")


def test_json_is_one_document(built: Things, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(Said(capsys, built.lake, "silver", built.name, "--json").out)
    assert (found["rows"], found["read"], found["slices"], found["rebuilt"]) == (2, 0, [], False)


def test_status_says_what_waits_and_when_a_rebuild_is_due(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    things = make(FIRST)
    things.arrive(some("a"))
    said = Said(capsys, things.lake, "status", things.name)
    assert f"silver        not built yet; 1 row of bronze to read: smelt silver {things.name}" in said.out
    things.build()
    things.arrive(some("b", "c"))
    assert "1 row, changed" in Said(capsys, things.lake, "status", things.name).out
    assert "2 rows of bronze to read" in Said(capsys, things.lake, "status", things.name).out
    things.become(contract_of(FIRST.replace("[id, region]", "[id]"), name=things.name, version=2))
    said = Said(capsys, things.lake, "status", things.name)
    assert f"(its key changed); smelt silver {things.name} --rebuild" in said.out
    said = Said(capsys, things.lake, "silver", things.name)
    assert (said.code, "--rebuild" in said.err) == (1, True)


def test_status_names_the_checks_that_hold_rows_back_until_they_are_published(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    def status() -> str:
        return Said(capsys, things.lake, "status", things.name).out

    checks = "\n".join(f"  - {{name: {name}, check: not_null, column: {name}}}" for name in ("region", "seq"))
    things = make(FIRST, quality=checks)
    for stands in ("not built yet", "1 row, changed"):
        things.arrive([one | {"seq": None} for one in some(stands)])
        with pytest.raises(Refused):
            things.build()
        assert f"silver        {stands}" in status()
        assert f"; 1 row of bronze held back by checks (seq); smelt quality history {things.name}" in status()
        things.build(publish_anyway="seen")
        assert "held back" not in status()
    things.arrive([one | {"seq": 1} for one in some("good")])
    assert "1 row of bronze to read" in status()


def test_whoever_changes_it_is_named(built: Things, capsys: pytest.CaptureFixture[str]) -> None:
    with lease(built.lake, SILVER, built.name, "somebody's undo"):
        assert "being changed by somebody's undo (pid" in Said(capsys, built.lake, "status", built.name).out
        said = Said(capsys, built.lake, "silver", built.name, "--wait", "0")
    assert said.code == 1
    assert "somebody's undo (pid" in said.err


def test_a_dataset_that_is_not_there_is_refused(built: Things, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, built.lake, "silver", "thinks")
    assert said.code == 3
    assert "nothing has been ingested for thinks" in said.err


def test_an_override_without_a_reason_is_no_override(built: Things, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, built.lake, "silver", built.name, "--publish-anyway", " ")
    assert (said.code, "wants a reason" in said.err) == (2, True)
