"""`ops.balance` beside what is really done to letters: it agrees with the reconciliation after each step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dead_letters.boxes import BAD, COUPONED, GOOD, Box, lines
from smelter.bronze.recovery import reread
from smelter.explore import Explorer, connect
from smelter.explore.questions import question_named
from smelter.lake.home import Lake
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.forget import forget
from smelter.settings import Settings

QUESTIONS = Path(__file__).parents[2] / "duckdb" / "questions"
NAMES = ("records_read", "in_bronze", "of_these_were_letters", "open_letters", "discarded_letters", "left_for_good")


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(Lake.at(Settings(lake=tmp_path / "lake")))


@pytest.fixture
def explorer(box: Box) -> Iterator[Explorer]:
    with connect(box.lake.root) as explorer:
        yield explorer


def balance(box: Box, explorer: Explorer) -> tuple[int, ...]:
    """The counts, once it is sure that the reconciliation says the same."""
    question = question_named(QUESTIONS, "balance")
    answer = explorer.execute(question.sql, question.values({}))
    (row,) = answer.fetchall()
    told: dict[str, Any] = dict(zip(answer.columns, row, strict=True))
    truth = reconcile(box.lake, box.name)
    assert truth.is_balanced
    assert (told["difference"], told["unbalanced_sources"]) == (0, 0)
    assert (told["sources"], told["records_read"], told["in_bronze"]) == (truth.sources, truth.records, truth.bronze)
    return tuple(told[name] for name in NAMES)


def test_letters_that_go_home_and_come_back_are_counted_once(box: Box, explorer: Explorer) -> None:
    box.arrive("a.json", GOOD, COUPONED, BAD, BAD)
    box.arrive("b.json", GOOD, BAD)
    assert balance(box, explorer) == (6, 2, 0, 4, 0, 0)
    box.become(2)
    run = box.replayed()
    assert balance(box, explorer) == (6, 3, 1, 3, 0, 0)
    box.undo(run)
    assert balance(box, explorer) == (6, 2, 0, 4, 0, 0)
    box.replay()
    box.edit("a.json", 2, {"id": 7})
    assert balance(box, explorer) == (6, 4, 2, 2, 0, 0)


def test_what_was_removed_or_forgotten_has_its_place(box: Box, explorer: Explorer) -> None:
    box.become(2, rest="dead_letters: {keep: 1s}\n")
    box.arrive("a.json", GOOD, {"id": 5}, BAD, BAD)
    box.arrive("b.json", BAD, {"id": 5})
    box.discard(source="a.json")
    assert balance(box, explorer) == (6, 3, 0, 1, 2, 0)
    forget(box.lake, box.name, "id = 5")
    assert balance(box, explorer) == (6, 1, 0, 1, 2, 2)
    deadline = time.monotonic() + 10
    while not box.retire().letters and time.monotonic() < deadline:
        time.sleep(0.2)  # until their second is over
    assert balance(box, explorer) == (6, 1, 0, 1, 0, 4)


def test_a_file_that_was_read_again_counts_by_its_last_reading(box: Box, explorer: Explorer) -> None:
    box.arrive_bytes("a.json", b'{"id": 1}\n{"id": "x"}\n{"id": 3')
    assert balance(box, explorer) == (3, 1, 0, 2, 0, 0)
    box.rewrite("a.json", lines(GOOD, {"id": "x"}, {"id": 3}, {"id": 4}))
    run = box.replayed()
    assert balance(box, explorer) == (4, 3, 1, 1, 0, 0)
    box.undo(run)
    assert balance(box, explorer) == (3, 1, 0, 2, 0, 0)
    file = box.rewrite("a.json", lines({"id": 8}, BAD))
    reread(box.lake, box.contract, box.limits, file)
    assert balance(box, explorer) == (5, 2, 0, 3, 0, 0)
