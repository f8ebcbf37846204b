"""A plan says what a replay would do and what change would help, and saves the next contract if it is asked to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from boxes import BAD, COUPON, COUPONED, GOOD, Box, orders
from conftest import Smelt

from smelter.contracts import load_contract
from smelter.dead_letters import plan as plan_module
from smelter.lake.home import Lake

OWN = """\
# The shop's orders.
dataset: orders
version: 1
fields:
  id: {type: long, required: true}   # the till's number
  note: {type: string}

# where they come from
source: {files: landing/orders}
"""


@pytest.fixture
def own(smelt: Smelt) -> Path:
    """The dataset's own contract file, with comments."""
    path = Path("contracts/orders.yaml")
    path.write_text(OWN)
    return path


@pytest.fixture
def box(box: Box) -> Box:
    box.arrive("a.json", GOOD, COUPONED, BAD, {"id": 4, "coupon": "y", "gift": 1}, {"note": "x"})
    return box


def test_a_plan_judges_under_the_active_contract_and_says_why_others_fail(box: Box) -> None:
    before = box.state()
    found = box.plan()
    assert (found.contract, found.letters, found.passing) == ("orders@1", 4, 0)
    assert found.would_fail == {"unknown_field": 2, "wrong_type": 1, "missing_field": 1}
    assert {key[:2]: one.letters for key, one in found.failing} == {
        ("unknown_field", "coupon"): 2,
        ("unknown_field", "gift"): 1,
        ("wrong_type", "id"): 1,
        ("missing_field", "id"): 1,
    }
    assert all(one.example in {letter["_id"] for letter in box.letters()} for _, one in found.failing)
    assert box.state() == before


def test_proposals_are_numbered_the_safest_and_most_helpful_first(box: Box) -> None:
    found = box.plan()
    assert [(one.number, one.what, one.recovers, one.loosens) for one in found.proposals] == [
        (1, "add optional `coupon: string`", 1, False),
        (2, "add optional `gift: long`", 0, False),
        (3, "make `id` optional", 1, True),
    ]
    assert [found.recovers(numbers) for numbers in ([1], [2], [1, 2], [1, 2, 3], [])] == [1, 0, 2, 3, 0]


@pytest.mark.parametrize(("fields", "passing"), [("", 0), (COUPON, 1), ("  coupon: {type: int}\n", 0)])
def test_a_plan_under_another_contract_is_what_a_replay_under_it_does(box: Box, fields: str, passing: int) -> None:
    planned = box.plan(orders(2, fields))
    assert (planned.contract, planned.passing, planned.proposals) == ("orders@2", passing, ())
    box.become(fields=fields or "  other: {type: int}\n")
    done = box.replay()
    assert (planned.would_pass, planned.would_fail) == (done.passed, done.failed)


def test_what_each_proposal_recovers_is_what_a_replay_brings_home(box: Box, smelt: Smelt, own: Path) -> None:
    promised = box.plan().recovers([1, 2, 3])
    done = smelt("dlq", "plan", "orders", "--take", "1,2,3", "--write", own, "--json")
    assert json.loads(done.out)["next_contract_recovers"] == promised == 3
    assert smelt("contract", "apply", "orders").code == 0
    assert box.replay().recovered == promised
    box.check()


def test_letters_that_would_pass_are_counted_by_reason(lake: Lake) -> None:
    other = Box(lake, orders(dataset="other"))
    texts = ('{"id": "\\ud800"}', {"id": "x"}, {"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": "?"}, '{"id"')
    other.arrive("a.json", *texts)
    found = other.plan(orders(2, "  n: {type: int}\n", dataset="other"))
    assert (found.letters, found.would_pass) == (6, {"unknown_field": 2})
    assert other.plan(orders(2, dataset="other")).would_pass == {}


def test_a_closed_letter_is_not_planned(box: Box) -> None:
    box.discard(reason="wrong_type")
    assert box.plan().letters == 3
    assert box.plan(reason="wrong_type").letters == 0


def test_many_letters_are_judged_in_several_processes_with_the_same_result(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.arrive("b.json", COUPONED, BAD)
    here = box.plan()
    monkeypatch.setattr(plan_module, "_WORTH_PROCESSES", 0)
    there = box.plan()
    assert (there.would_pass, there.would_fail, there.proposals) == (here.would_pass, here.would_fail, here.proposals)


def test_the_diff_is_short_and_the_file_keeps_its_comments(box: Box, smelt: Smelt, own: Path) -> None:
    done = smelt("dlq", "plan", "orders", "--take", "1")
    assert [line.strip() for line in done.out.splitlines() if line.strip().startswith(("+", "-", "@"))] == [
        "--- version 1",
        "+++ version 2",
        "@@ -2,3 +2,3 @@",
        "-version: 1",
        "+version: 2",
        "@@ -6,2 +6,3 @@",
        "+  coupon: {type: string}",
    ]
    assert own.read_text() == OWN, "without --write nothing is written"
    done = smelt("dlq", "plan", "orders", "--take", "1", "--write", own)
    assert done.code == 0
    assert own.read_text() == OWN.replace("version: 1", "version: 2").replace(
        "  note: {type: string}\n", "  note: {type: string}\n  coupon: {type: string}\n"
    )
    assert f"{own} says orders@2" in done.out


def test_line_ends_of_the_file_stay(box: Box, smelt: Smelt, own: Path) -> None:
    own.write_bytes(OWN.replace("\n", "\r\n").encode())
    assert smelt("dlq", "plan", "orders", "--write", own).code == 0
    assert own.read_bytes().count(b"\r\n") == own.read_bytes().count(b"\n") == OWN.count("\n") + 2
    assert load_contract(own).version == 2


def test_proposals_that_make_it_less_strict_are_written_only_if_they_are_taken(
    box: Box, smelt: Smelt, own: Path
) -> None:
    assert smelt("dlq", "plan", "orders", "--write", own).code == 0
    assert load_contract(own).fields["id"].required
    own.write_text(OWN)
    assert smelt("dlq", "plan", "orders", "--take", " 3 , 1", "--write", own).code == 0
    contract = load_contract(own)
    assert (contract.fields["id"].required, list(contract.fields)) == (False, ["id", "note", "coupon"])


def test_no_other_file_is_written_over(box: Box, smelt: Smelt, own: Path) -> None:
    other = Path("other.yaml")
    other.write_text("mine")
    done = smelt("dlq", "plan", "orders", "--write", other)
    assert (done.code, other.read_text()) == (1, "mine")
    assert "smelt dlq plan orders --write FILE" in done.err
    new = Path("new.yaml")
    done = smelt("dlq", "plan", "orders", "--write", new)
    assert done.code == 0
    assert f"next: smelt dlq plan orders --contract {new}" in done.out
    done = smelt("dlq", "plan", "orders", "--contract", new)
    assert "4 open letters under orders@2: 2 would pass, 2 would not" in done.out
    assert "smelt contract apply orders" in done.out


@pytest.mark.parametrize(
    "text",
    [
        OWN.replace("version: 1", "version: 7"),
        OWN.replace("{type: string}", "{type: string, max_length: 5}"),
        OWN.replace("fields:", "fields: {}\nother:"),
        "\x00",
    ],
)
def test_a_file_that_does_not_say_what_is_active_is_not_written_over(
    box: Box, smelt: Smelt, own: Path, text: str
) -> None:
    own.write_text(text)
    done = smelt("dlq", "plan", "orders", "--write", own)
    assert (done.code, own.read_text()) == (1, text)
    assert "smelt dlq plan orders --write FILE" in done.err
    done = smelt("dlq", "plan", "orders", "--write", "new.yaml")
    assert done.code == 0, "another file is written anew"
    assert "2 would pass" in smelt("dlq", "plan", "orders", "--contract", "new.yaml").out


def test_a_file_that_cannot_be_changed_in_place_is_not_written_over(box: Box, smelt: Smelt, own: Path) -> None:
    text = OWN.replace(
        "fields:\n  id: {type: long, required: true}   # the till's number\n  note: {type: string}\n",
        "fields: {id: {type: long, required: true}, note: {type: string}}\n",
    )
    own.write_text(text)
    done = smelt("dlq", "plan", "orders", "--write", own)
    assert (done.code, own.read_text()) == (1, text)
    assert "without losing its comments" in done.err


def test_there_may_be_nothing_to_propose(box: Box, smelt: Smelt, own: Path) -> None:
    box.discard(field="coupon")
    box.discard(reason="missing_field")
    done = smelt("dlq", "plan", "orders", "--write", own)
    assert (done.code, own.read_text()) == (1, OWN)
    assert "there is no change to propose" in done.err
    assert "smelt dlq ls orders" in done.err
    done = smelt("dlq", "plan", "orders")
    assert done.out.splitlines()[-1].startswith("next: smelt dlq show ")
    box.discard()
    done = smelt("dlq", "plan", "orders")
    assert "nothing to do" in done.out
    assert "next: smelt dlq ls orders --status all" in done.out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("id: {type: long, required: true}", "id: {type: string}"), "is refused"),
        (("dataset: orders", "dataset: others"), "is the contract of others"),
        (("version: 1", "version: [1]"), "version"),
    ],
)
def test_a_contract_that_could_not_be_applied_is_not_planned(
    box: Box, smelt: Smelt, own: Path, change: tuple[str, str], said: str
) -> None:
    Path("next.yaml").write_text(OWN.replace(*change).replace("version: 1", "version: 2"))
    done = smelt("dlq", "plan", "orders", "--contract", "next.yaml")
    assert done.code in (1, 2)
    assert said in done.err
    assert "next:" in done.err


def test_a_contract_file_that_is_not_there_is_missing(box: Box, smelt: Smelt) -> None:
    done = smelt("dlq", "plan", "orders", "--contract", "nowhere.yaml")
    assert done.code == 3
    assert "next:" in done.err


def test_programs_get_the_next_contract_and_what_it_recovers(box: Box, smelt: Smelt, own: Path) -> None:
    found = json.loads(smelt("dlq", "plan", "orders", "--json").out)
    assert (found["next_contract_recovers"], found["would_pass"]) == (2, 0)
    assert found["next_contract"].startswith("# The shop's orders.")
    assert [one["less_strict"] for one in found["proposals"]] == [False, False, True]
    found = json.loads(smelt("dlq", "plan", "orders", "--take", "3", "--json").out)
    assert found["next_contract_recovers"] == 1


def test_a_plan_of_nothing_is_nothing(lake: Lake) -> None:
    empty = Box(lake, orders(dataset="empty"))
    empty.arrive("a.json", GOOD)
    found = empty.plan()
    assert (found.letters, found.would_pass, found.would_fail, found.proposals, found.files) == (0, {}, {}, (), ())
