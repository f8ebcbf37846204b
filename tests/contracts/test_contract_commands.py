"""`smelt contract`: exit codes, one clear sentence, and the same facts for people and programs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from commands import Done, Smelt, write
from contract_texts import MINIMAL, SHIPPED, with_field, with_fields


def test_check_looks_at_all_contracts_of_the_folder(smelt: Smelt) -> None:
    write("contracts/things.yaml", MINIMAL)
    done = smelt("contract", "check")
    assert (done.code, done.out) == (0, f"ok      things@1, 1 fields  {Path('contracts').absolute()}/things.yaml\n")


def test_check_names_file_line_value_and_nearest_spelling(smelt: Smelt) -> None:
    write("things.yaml", with_field("type: strng, requird: true"))
    done = smelt("contract", "check", "things.yaml")
    assert done.code == 1
    first, second = done.out.splitlines()
    assert first.startswith("failed  things.yaml:5: fields.a.type: `strng` is not a type; did you mean `string`?")
    assert second.startswith("failed  things.yaml:5: there is no key `requird` in `fields.a`; did you mean `required`?")


def test_check_for_programs_has_the_same_facts(smelt: Smelt) -> None:
    write("things.yaml", with_fields("a: {type: int}", "b: {type: strng}"))
    done = smelt("contract", "check", "--json", str(SHIPPED / "events.yaml"), "things.yaml")
    good, bad = json.loads(done.out)
    assert done.code == 1
    assert good == {
        "file": str(SHIPPED / "events.yaml"),
        "ok": True,
        "contract": "events@1",
        "fields": 6,
        "faults": [],
    }
    assert (bad["file"], bad["ok"], bad["contract"]) == ("things.yaml", False, None)
    assert [fault["line"] for fault in bad["faults"]] == [6]
    assert bad["faults"][0]["message"] in smelt("contract", "check", "things.yaml").out


def test_check_looks_at_the_other_files_when_one_is_missing(smelt: Smelt) -> None:
    done = smelt("contract", "check", "nope.yaml", str(SHIPPED / "events.yaml"))
    assert done.code == 3
    assert "ok      events@1" in done.out
    assert "there is no contract nope.yaml" in done.err


@pytest.mark.parametrize("name", [b"\xff.yaml", b"\x1b[2J.yaml", b"a\nb.yaml"])
def test_check_prints_a_hostile_name_without_harm(smelt: Smelt, name: bytes) -> None:
    Path(os.fsdecode(b"contracts/" + name)).write_text(MINIMAL, "utf-8")
    for flags in ([], ["--json"]):
        done = smelt("contract", "check", *flags)
        assert done.code == 1
        assert all(line.isprintable() for line in done.out.splitlines())


def test_check_without_any_contract_says_how_to_make_one(smelt: Smelt) -> None:
    done = smelt("contract", "check")
    assert (done.code, done.out) == (3, "")
    assert "next: smelt contract new DATASET --from SAMPLE" in done.err


def test_diff_says_what_is_safe_and_exits_0(smelt: Smelt) -> None:
    write("old.yaml", MINIMAL)
    write("new.yaml", with_fields("a: {type: string}", "b: {type: int}", version=2))
    done = smelt("contract", "diff", "old.yaml", "new.yaml")
    assert done.code == 0
    assert "safe" in done.out
    assert "added, int" in done.out
    assert smelt("contract", "diff", "old.yaml", "old.yaml") == Done(0, "nothing changed\n", "")


def test_diff_refuses_with_reason_and_way_out_for_people_and_programs(smelt: Smelt) -> None:
    write("old.yaml", MINIMAL)
    write("new.yaml", with_fields("a: {type: int}", version=2))
    people = smelt("contract", "diff", "old.yaml", "new.yaml")
    programs = smelt("contract", "diff", "--json", "old.yaml", "new.yaml")
    assert (people.code, programs.code) == (1, 1)
    assert json.loads(programs.out) == [
        {
            "where": "fields.a",
            "what": "type string → int",
            "is_safe": False,
            "why": "stored values of string are not values of int",
            "way_out": "add a new optional field beside it and fill both until nobody needs the old one",
            "refuses_what_passed": False,
        }
    ]
    for word in ("refused", "fields.a", "stored values", "add a new"):
        assert word in people.out
    assert json.loads(smelt("contract", "diff", "--json", "old.yaml", "old.yaml").out) == []


def test_diff_of_something_that_is_no_contract_is_one_sentence(smelt: Smelt) -> None:
    write("old.yaml", MINIMAL)
    write("bad.yaml", "dataset: [\n")
    Path("latin.yaml").write_bytes(b"about: \xe9\n")
    assert smelt("contract", "diff", "old.yaml", "nope.yaml").code == 3
    assert smelt("contract", "diff", "old.yaml", "contracts").code == 3
    assert smelt("contract", "diff", "old.yaml", "bad.yaml").err.startswith("bad.yaml:2: ")
    assert smelt("contract", "diff", "old.yaml", "latin.yaml").err.startswith("latin.yaml:1: the file is not UTF-8")
    assert smelt("contract", "diff", "old.yaml").code == 2
