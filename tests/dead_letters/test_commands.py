"""`smelt dlq`, as people and programs see it: every message names the next command, and nothing strange is printed."""

from __future__ import annotations

import json
import re
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from boxes import BAD, COUPON, COUPONED, GOOD, Box, orders
from conftest import Done, Smelt

from smelter.cli import dlq_close
from smelter.contracts.write import contract_text
from smelter.lake.home import Lake

KEEP = "dead_letters: {keep: 1s}\n"


@pytest.fixture
def box(box: Box) -> Box:
    box.arrive("a.json", GOOD, COUPONED, BAD, {"id": 4, "coupon": "y", "gift": 1})
    return box


def next_of(done: Done) -> str:
    """The first command that the answer or the error names."""
    (line, *_) = (line for line in (done.out + done.err).splitlines() if line.strip().startswith("next:"))
    return line.strip().removeprefix("next: ")


def run_of(done: Done) -> str:
    found = re.search(r"^run: (\S+)$", done.out, re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_whole_way_from_look_to_undo_is_named_step_by_step(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "ls", "orders")
    assert done.code == 0
    assert "orders: 3 letters open" in done.out
    shown = smelt(*next_of(done).split()[1:])
    assert next_of(shown).startswith("smelt dlq plan orders --id ")
    done = smelt("dlq", "plan", "orders")
    assert "3 open letters under orders@1: 0 would pass, 3 would not" in done.out
    assert "2 letters: unknown field `coupon`, all strings → add optional `coupon: string`; recovers 1" in done.out
    assert "recovers letters together with others only" in done.out
    assert "+  coupon: {type: string}" in done.out.replace("'", "")
    done = smelt(*next_of(done).split()[1:])
    assert (done.code, next_of(done)) == (0, "smelt contract apply orders")
    assert smelt("contract", "apply", "orders").code == 0
    done = smelt("dlq", "plan", "orders")
    assert next_of(done) == "smelt dlq replay orders"
    done = smelt("dlq", "replay", "orders")
    assert "orders: 2 letters went to bronze under orders@2, 1 failed again and stay open" in done.out
    assert next_of(done) == f"smelt silver orders takes them up; smelt dlq undo {run_of(done)} takes this back"
    assert smelt("reconcile", "orders").code == 0
    done = smelt("dlq", "undo", run_of(done), "--because", "a test")
    assert "is undone by undo:" in done.out
    assert next_of(done) == "smelt dlq ls orders"
    assert box.ids() == [1]
    assert smelt("reconcile", "orders").code == 0


def test_groups_have_all_letters_between_them_and_an_example_each(box: Box, smelt: Smelt) -> None:
    box.arrive("many.json", *({"id": f"x{number}"} for number in range(9)), *({"note": 1} for _ in range(3)))
    found = json.loads(smelt("dlq", "ls", "orders", "--json").out)
    assert sum(one["letters"] for one in found["groups"]) == found["statuses"]["open"] == 15
    ids = {one["_id"] for one in box.letters()}
    assert {one["example"] for one in found["groups"]} <= ids
    together = next(one for one in found["groups"] if one["reason"] == "wrong_type" and one["field"] == "id")
    assert (together["letters"], together["found"], together["kinds"]) == (10, None, 10)
    said = smelt("dlq", "ls", "orders")
    assert "10  wrong_type  `id` 10 different, such as" in said.out
    assert "oldest" in said.out


def test_a_letter_is_shown_with_the_place_of_what_is_wrong_and_its_history(box: Box, smelt: Smelt) -> None:
    box.replay()
    name = box.id_of("a.json", 3)
    done = smelt("dlq", "show", name[:8])
    lines = done.out.splitlines()
    mark = next(line for line in lines if set(line.strip()) == {"^"})
    above = lines[lines.index(mark) - 1]
    assert above[mark.index("^") : mark.rindex("^") + 1] in ('"coupon": "y"', '"gift": 1')
    assert "a.json:3" in done.out
    assert f"{name}  orders  unknown_field  open, tried 1 time" in done.out
    assert re.search(r"failed by .* under orders@1, replay:", done.out)
    assert f"smelt dlq edit {name}" in done.out
    box.discard("of no use", reason="unknown_field")
    done = smelt("dlq", "show", name)
    assert "discarded by" in done.out
    assert ": of no use" in done.out
    assert next_of(done).startswith("smelt dlq undo discard:")
    found = json.loads(smelt("dlq", "show", name, "--json").out)
    assert [event["outcome"] for event in found["history"]] == ["failed", "discarded"]


def test_an_id_that_is_the_beginning_of_several_is_refused(lake: Lake, smelt: Smelt, box: Box) -> None:
    box.arrive("many.json", *({"id": f"x{number}"} for number in range(600)))
    ids = sorted(one["_id"] for one in box.letters())
    twin = next(one[:4] for one, other in pairwise(ids) if one[:4] == other[:4])
    done = smelt("dlq", "show", twin)
    assert done.code == 1
    assert f"begins with {twin}" in done.err
    assert next_of(done) == "smelt dlq ls DATASET shows an id for each group"


@pytest.mark.parametrize("word", ["xyz", "12", "ABCDEF12", "'; drop", "0123456789abcdef0", ""])
def test_what_is_no_id_is_wrong_usage(smelt: Smelt, word: str) -> None:
    for words in (("show", word), ("edit", word), ("ls", "orders", "--id", word)):
        done = smelt("dlq", *words)
        assert (done.code, next_of(done)) == (2, "smelt dlq ls DATASET shows an id for each group")


def test_a_letter_that_there_is_not_is_refused(smelt: Smelt) -> None:
    done = smelt("dlq", "show", "ffffffffffffffff")
    assert (done.code, next_of(done)) == (1, "smelt dlq ls DATASET shows an id for each group")


@pytest.mark.parametrize("command", ["ls", "plan", "replay", "retire", "discard"])
def test_a_dataset_without_tables_is_missing_with_exit_3(smelt: Smelt, command: str) -> None:
    more = ["--because", "x", "--all"] if command == "discard" else []
    done = smelt("dlq", command, "ordres", *more)
    assert done.code == 3
    assert "orders" in done.err
    assert next_of(done).startswith("smelt ingest")


@pytest.mark.parametrize("command", ["replay", "retire"])
def test_a_timetable_may_ask_before_anything_was_ingested(smelt: Smelt, command: str) -> None:
    Path("contracts", "later.yaml").write_text(contract_text(orders(dataset="later")))
    done = smelt("dlq", command, "later", "--if-there")
    assert (done.code, done.out) == (0, "nothing has been ingested for later\n")
    assert "nothing" in json.loads(smelt("dlq", command, "later", "--if-there", "--json").out)
    assert smelt("dlq", command, "later").code == 3


@pytest.mark.parametrize(
    "words",
    [
        ["ls", "orders", "--reason", "unknown_feld"],
        ["ls", "orders", "--status", "closed"],
        ["ls", "orders", "--since", "yesterdayish"],
        ["replay", "orders", "--since", "1h", "--until", "2h"],
        ["plan", "orders", "--take", "7"],
        ["plan", "orders", "--contract", "x.yaml", "--write", "y.yaml"],
        ["plan", "orders", "--contract", "x.yaml", "--take", "1"],
        ["discard", "orders", "--all"],
        ["discard", "orders", "--because", " "],
        ["discard", "orders", "--because", "why"],
        ["discard", "orders", "--because", "why", "--all", "--field", "id"],
    ],
)
def test_wrong_usage_changes_nothing_and_names_a_way_on(box: Box, smelt: Smelt, words: list[str]) -> None:
    before = box.state()
    done = smelt("dlq", *words)
    assert done.code == 2
    assert "next:" in done.err
    assert box.state() == before


def test_runs_are_listed_the_newest_first(box: Box, smelt: Smelt) -> None:
    assert "smelt dlq ls" in smelt("dlq", "runs").out
    box.replay()
    box.discard("enough", reason="wrong_type")
    done = smelt("dlq", "runs", "orders")
    assert done.out.index("discard:") < done.out.index("replay:")
    assert next_of(done) == "smelt dlq undo RUN takes one back"
    found = json.loads(smelt("dlq", "runs", "--json").out)
    assert [(one["action"], one["done"], one["failed"]) for one in found] == [("discard", 1, 0), ("replay", 0, 3)]
    assert len(json.loads(smelt("dlq", "runs", "-n", "1", "--json").out)) == 1


def test_a_dry_run_is_a_plan_and_changes_nothing(box: Box, smelt: Smelt) -> None:
    box.become()
    before = box.state()
    done = smelt("dlq", "replay", "orders", "--dry-run")
    assert done.out == smelt("dlq", "plan", "orders").out
    assert json.loads(smelt("dlq", "replay", "orders", "--dry-run", "--json").out)["would_pass"] == 1
    done = smelt("dlq", "discard", "orders", "--all", "--because", "x", "--dry-run")
    assert "3 letters would be discarded" in done.out
    assert next_of(done)
    assert box.state() == before


def test_a_replay_of_nothing_says_so(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "replay", "orders", "--source", "no such file")
    assert (done.code, next_of(done)) == (0, "smelt dlq ls orders --status all")
    assert "no open letter is meant; nothing was changed" in done.out


def test_a_replay_that_brought_nothing_names_the_plan(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "replay", "orders")
    assert next_of(done) == "smelt dlq plan orders"
    assert "✗ 2 unknown_field" in done.out


def test_a_nightly_replay_needs_the_word_of_the_contract(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "replay", "orders", "--auto")
    assert done.code == 0
    assert "does not say auto_replay: true" in done.out
    assert "smelt dlq replay orders" in done.out
    box.become(rest="dead_letters: {auto_replay: true}\n")
    found = json.loads(smelt("dlq", "replay", "orders", "--auto", "--json").out)
    assert (found["recovered"], found["still_open"]) == (1, 2)
    assert set(box.attempts().values()) == {0, 1}
    box.check()


def test_every_answer_is_json_for_programs(box: Box, smelt: Smelt) -> None:
    box.become()
    name = box.id_of("a.json", 2)
    Path("fixed.json").write_text('{"id": 3}\n')
    run = json.loads(smelt("dlq", "replay", "orders", "--json").out)["run"]
    answers: list[tuple[str, ...]] = [
        ("undo", run, "--dry-run"),
        ("undo", run),
        ("edit", name, "--raw", "fixed.json"),
        ("discard", "orders", "--all", "--because", "x", "--dry-run"),
        ("discard", "orders", "--all", "--because", "x"),
        ("retire", "orders", "--dry-run"),
        ("retire", "orders"),
        ("ls", "orders", "--status", "all"),
        ("show", name),
        ("runs",),
        ("plan", "orders"),
    ]
    for words in answers:
        done = smelt("dlq", *words, "--json")
        assert done.code == 0, (words, done.err)
        assert json.loads(done.out), words
    box.check()


def test_undo_may_leave_silver_and_gold_for_later(box: Box, smelt: Smelt) -> None:
    box.become()
    run = box.replayed()
    done = smelt("dlq", "undo", run, "--dry-run")
    assert next_of(done) == f"smelt dlq undo {run}"
    assert "1 letter would be open again" in done.out
    done = smelt("dlq", "undo", run, "--no-build")
    assert next_of(done) == "smelt silver orders, then smelt gold orders"
    done = smelt("dlq", "undo", run)
    assert (done.code, next_of(done)) == (1, "smelt dlq replay orders")
    done = smelt("dlq", "undo", "replay:none")
    assert (done.code, next_of(done)) == (1, "smelt dlq runs lists them")


def test_a_letter_is_edited_by_a_file(box: Box, smelt: Smelt) -> None:
    name = box.id_of("a.json", 2)
    raw = Path("fixed.json")
    raw.write_text('{"id": "no"}')
    done = smelt("dlq", "edit", name, "--raw", raw)
    assert done.code == 1
    assert "is not good either" in done.err
    assert next_of(done) == "correct it and run it again"
    raw.write_text('\n{"id": "not a number"}\n')
    done = smelt("dlq", "edit", name, "--raw", raw)
    assert (done.code, next_of(done)) == (1, f"correct it, then: smelt dlq edit {name}")
    done = smelt("dlq", "edit", name, "--raw", "nothing.json")
    assert (done.code, next_of(done)) == (3, f"smelt dlq edit {name} --raw FILE")
    raw.write_text('{"id": 3}\n')
    done = smelt("dlq", "edit", name[:8], "--raw", raw, "--because", "it was a text")
    assert done.code == 0
    assert f"smelt dlq undo {run_of(done)} takes this back" in next_of(done)
    done = smelt("dlq", "edit", name, "--raw", raw)
    assert done.code == 1
    assert "smelt dlq undo" in next_of(done)
    assert box.ids() == [1, 3]
    box.check()


def an_editor(folder: Path, script: str) -> str:
    path = folder / "editor.sh"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits at it."""

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(dlq_close.sys, "stdin", Terminal())
    monkeypatch.delenv("VISUAL", raising=False)


@pytest.mark.usefixtures("terminal")
def test_a_letter_is_edited_in_an_editor(box: Box, smelt: Smelt, tmp_path: Path, monkeypatch: Any) -> None:
    name = box.id_of("a.json", 2)
    monkeypatch.setenv("EDITOR", an_editor(tmp_path, 'sed -i "s/\\"not a number\\"/7/" "$1"'))
    done = smelt("dlq", "edit", name)
    assert done.code == 0, done.err
    assert box.ids() == [1, 7]
    box.check()


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("true", 1, "was not changed"),
        ("exit 3", 1, "ended with 3"),
        (None, 3, "cannot be started"),
        ("", 2, "no editor"),
    ],
)
def test_an_editor_that_changes_nothing_or_fails_changes_nothing(
    box: Box, smelt: Smelt, tmp_path: Path, monkeypatch: Any, script: str | None, code: int, said: str
) -> None:
    before, name = box.state(), box.id_of("a.json", 2)
    monkeypatch.setenv("EDITOR", "/no/such/editor" if script is None else an_editor(tmp_path, script) if script else "")
    done = smelt("dlq", "edit", name)
    assert done.code == code
    assert said in done.err
    assert "smelt dlq edit" in next_of(done)
    assert box.state() == before


def test_discard_says_how_to_open_letters_again(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "discard", "orders", "--field", "coupon", "--because", "a campaign that is over")
    assert "orders: 2 letters discarded" in done.out
    assert next_of(done) == f"smelt dlq undo {run_of(done)} opens them again"
    done = smelt("dlq", "discard", "orders", "--field", "coupon", "--because", "again")
    assert "0 letters discarded" in done.out
    assert next_of(done) == "smelt dlq ls orders --field coupon"
    box.check()


def test_retire_says_what_went(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "retire", "orders")
    assert "keeps closed letters for ever" in done.out
    assert next_of(done) == "smelt dlq ls orders --status all"
    box.become(rest=KEEP)
    box.replay()
    while (done := smelt("dlq", "retire", "orders", "--dry-run")).out.startswith("orders: 0 letters"):
        assert done.code == 0
    assert "1 letter that were closed more than 1s ago would go" in done.out
    assert next_of(done) == "smelt dlq retire orders"
    done = smelt("dlq", "retire", "orders")
    assert "1 letter that were closed more than 1s ago are gone" in done.out
    assert len(box.letters()) == 2


def test_the_words_of_a_listing_lead_to_a_plan_of_the_same_letters(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "ls", "orders", "--field", "coupon", "--contract", "orders@1")
    following = done.out.splitlines()[-1].strip()
    assert following == "smelt dlq plan orders --field coupon", "plan's --contract is a file"
    assert "2 open letters of those" in smelt(*following.split()[1:]).out
    done = smelt("dlq", "ls", "orders", "--status", "edited")
    assert (done.code, next_of(done)) == (0, "smelt dlq ls orders --status all")


def test_what_records_hold_moves_no_cursor(box: Box, smelt: Smelt) -> None:
    evil = "\x1b[31m\u202e\x9b\r\n"
    box.arrive("evil.json", {"id": 7, f"f{evil}": 1}, {"id": 8, "note": evil, "gift": evil}, {"id": evil})
    box.arrive("n\x1b[2Jx.json", {"id": evil})
    for words in (("ls", "orders"), ("plan", "orders"), ("replay", "orders"), ("runs",)):
        done = smelt("dlq", *words)
        assert all(line.isprintable() for line in done.out.splitlines()), words
    for letter in box.letters():
        assert all(line.isprintable() for line in smelt("dlq", "show", letter["_id"]).out.splitlines())


def test_a_value_that_would_move_the_cursor_is_proposed_in_printable_words(lake: Lake, smelt: Smelt, box: Box) -> None:
    box.become(fields=f"{COUPON}  kind: {{type: string, one_of: [a]}}\n")
    box.arrive("kinds.json", {"id": 1, "kind": "b\x1b[31m"})
    done = smelt("dlq", "plan", "orders")
    assert "allow `b\\x1b[31m` in `kind`" in done.out
    assert all(line.isprintable() for line in done.out.splitlines())
