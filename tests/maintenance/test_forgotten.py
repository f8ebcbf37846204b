"""A record that left for good has its place in ops.forgotten: it is neither missing nor doubled, and stays away."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from people import People, event, people  # noqa: F401

from dead_letters.boxes import lines
from smelter.bronze.rehearsal import rehearse
from smelter.lake.forgotten import Why, departure_of, forgotten, note_forgotten, runs_of
from smelter.lake.home import DEAD_LETTERS, FORGOTTEN, OPS, Lake
from smelter.lake.removal import REMOVAL, remove_identities
from smelter.lake.tables import load_table
from smelter.ledger.findings import Kind
from smelter.ledger.reconcile import reconcile

AT = datetime(2026, 11, 18, 9, tzinfo=UTC)


def note(lake: Lake, dataset: str, source: str, *positions: int, run: str = "forget:1", why: Why = Why.FORGET) -> None:
    note_forgotten(lake, dataset, {source: np.array(positions, np.int64)}, run, why, AT)


@pytest.mark.parametrize(
    ("positions", "runs"),
    [([], []), ([4], [(4, 4)]), ([3, 1, 2, 2], [(1, 3)]), ([0, 2, 3, 9, 8], [(0, 0), (2, 3), (8, 9)])],
)
def test_consecutive_positions_are_one_run(positions: list[int], runs: list[tuple[int, int]]) -> None:
    firsts, lasts = runs_of(np.array(positions, np.int64))
    assert list(zip(firsts.tolist(), lasts.tolist(), strict=True)) == runs


def test_identities_come_back_as_they_were_noted_and_twice_is_once(lake: Lake) -> None:
    assert forgotten(lake, "orders") == {}
    note(lake, "orders", "file:///a", 5, 0, 1, 2)
    note(lake, "orders", "file:///a", 2, 3, run="forget:2", why=Why.RETENTION)
    note(lake, "others", "file:///a", 77)
    note(lake, "orders", "file:///b", 7)
    told = {source: positions.tolist() for source, positions in forgotten(lake, "orders").items()}
    assert told == {"file:///a": [0, 1, 2, 3, 5], "file:///b": [7]}
    assert forgotten(lake, "orders", ["file:///b"]).keys() == {"file:///b"}
    assert forgotten(lake, "orders", [], why=Why.FORGET) == {}
    assert forgotten(lake, "orders", runs=["forget:2"])["file:///a"].tolist() == [2, 3]
    assert load_table(lake, OPS, FORGOTTEN).scan().to_arrow().num_rows == 5, "runs, not positions"


def test_a_record_says_when_it_left_and_why(lake: Lake) -> None:
    note(lake, "orders", "file:///a", 1, 2, 3, why=Why.RETENTION)
    left = departure_of(lake, "orders", "file:///a", 2)
    assert left is not None
    assert (left.at, left.run, left.why) == (AT, "forget:1", "retention")
    assert departure_of(lake, "orders", "file:///a", 4) is None
    assert departure_of(lake, "others", "file:///a", 2) is None


def test_a_record_that_is_noted_and_still_there_is_counted_once(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("ann", 1), event("bob", 2), event("cid", 3, surprise=1))
    source = people.source("a.json")
    for _ in range(2):
        note(people.lake, people.name, source, 1, 2)
    found = people.reconciled()
    assert (found.bronze, found.dead_letters, found.forgotten) == (2, 1, 0)
    letters = load_table(people.lake, DEAD_LETTERS, people.name)
    assert remove_identities(letters, {source: np.array([2])}, {REMOVAL: "forget:1"}) == 1
    found = people.reconciled()
    assert (found.bronze, found.dead_letters, found.forgotten) == (2, 0, 1)
    assert remove_identities(letters, {source: np.array([2])}, {REMOVAL: "forget:1"}) == 0


def test_a_record_that_left_without_being_noted_is_missing(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("ann", 1), event("bob", 2))
    remove_identities(
        load_table(people.lake, "bronze", people.name), {people.source("a.json"): np.array([1])}, {REMOVAL: "?"}
    )
    (problem,) = reconcile(people.lake, people.name).problems
    assert (problem.kind, problem.position) == (Kind.MISSING, 1)


def test_a_file_that_is_read_again_brings_no_forgotten_record_back(people: People) -> None:  # noqa: F811
    records = [event("ann", 1), event("zoe", 2), event("zoe", 3, surprise=1)]
    whole = b"[" + b",".join(line for line in lines(*records, event("bob", 4)).splitlines()) + b"]"
    people.arrive_bytes("a.json", whole[:-30])
    assert [one["reason"] for one in people.letters()][-1] == "truncated_batch"
    people.forget("user_id = 'zoe'")
    people.rewrite("a.json", whole)
    assert people.replay().recovered == 1
    assert people.users() == ["ann", "bob"]
    found = people.reconciled()
    assert (found.bronze, found.dead_letters, found.forgotten) == (2, 0, 2)


def test_a_source_of_which_everything_is_forgotten_stays_away(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("zoe", 2, surprise=1))
    people.arrive("b.json", event("ann", 3))
    people.forget("user_id = 'zoe'")
    found = rehearse(people.lake, people.name, people.limits)
    assert (found.files, found.rows, found.letters) == (2, 0, 0)
    people.drain_here()
    assert people.users() == ["ann"]
    assert people.reconciled().forgotten == 2
