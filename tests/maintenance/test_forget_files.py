"""A person in a file that came in by a part: their rows leave, and the rest of the file can still come."""

from __future__ import annotations

import pytest
from people import People, event, found_in_tables, people  # noqa: F401

from dead_letters.boxes import lines
from smelter.ledger.reconcile import reconcile
from smelter.maintenance.forget import would_forget

ZOE = "user_id = 'zoe'"
WHOLE = lines(
    event("ann", 1), event("zoe", 2), event("zoe", 3), *(event(f"p{number}", number) for number in range(4, 9))
)
CUT = WHOLE[: WHOLE.index(b"e3")]  # in the second record of the person
EMPTIED = ("resolutions_emptied", "letters_emptied")


def test_a_letter_about_a_file_is_emptied_and_the_others_of_the_file_come_in(people: People) -> None:  # noqa: F811
    people.arrive_bytes("a.json", CUT)
    assert would_forget(people.lake, people.name, ZOE).found.letters_emptied == 1
    found = people.forget(ZOE).found
    assert (found.bronze, found.dead_letters, found.letters_emptied) == (1, 0, 1)
    assert found_in_tables(people.lake, "zoe") == []
    ((letter,), gone) = (people.letters(), people.forgotten())
    assert (letter["reason"], letter["raw"], letter["raw_bytes"]) == ("truncated_batch", "", None)
    assert [one["found"] for one in letter["errors"]] == [""]
    assert gone == {("a.json", 1)}
    assert people.reconciled().dead_letters == 1
    assert people.forget(ZOE).run is None

    people.rewrite("a.json", WHOLE)
    people.replay()
    assert people.users() == ["ann", "p4", "p5", "p6", "p7", "p8", "zoe"], "the second record of the person is new"
    people.reconciled()
    people.forget(ZOE)
    assert people.users() == ["ann", "p4", "p5", "p6", "p7", "p8"]
    assert people.reconciled().forgotten == 2
    assert found_in_tables(people.lake, "zoe") == []


def test_a_letter_about_a_file_loses_its_bytes_too(people: People) -> None:  # noqa: F811
    people.arrive_bytes("a.json", CUT + b"\xff zoe")
    people.forget(ZOE)
    assert found_in_tables(people.lake, "zoe") == []


@pytest.mark.parametrize("point", EMPTIED)
def test_killed_while_letters_are_emptied_the_same_again_ends_it(people: People, point: str) -> None:  # noqa: F811
    people.arrive_bytes("a.json", CUT)
    people.forget_until(point, ZOE)
    people.reconciled()
    people.forget(ZOE)
    assert found_in_tables(people.lake, "zoe") == []
    assert people.forgotten() == {("a.json", 1)}
    people.reconciled()


def test_a_text_that_a_file_brought_and_an_undoing_took_back_goes_too(people: People) -> None:  # noqa: F811
    people.arrive_bytes("a.json", lines(event("zoe", 1))[:30])
    people.rewrite("a.json", lines(event("zoe", 1, surprise=1), event("bob", 2)))
    people.undo(people.replayed())
    people.forget(ZOE)
    assert found_in_tables(people.lake, "zoe") == []
    assert people.forgotten() == set()
    assert [one["status"] for one in people.letters()] == ["open"]
    people.replay()
    assert people.users() == ["bob"]
    assert people.forget(ZOE).found.dead_letters == 1, "by now it is the letter of one record"
    assert people.forgotten() == {("a.json", 0)}
    assert found_in_tables(people.lake, "zoe") == []
    assert reconcile(people.lake, people.name).is_balanced


def test_a_forgotten_record_of_a_reading_that_was_taken_back_is_no_record_of_the_file(people: People) -> None:  # noqa: F811
    people.arrive_bytes("a.json", CUT)
    people.rewrite("a.json", WHOLE)
    run = people.replayed()
    people.forget("user_id = 'p8'")
    assert people.reconciled().forgotten == 1
    people.undo(run)
    found = people.reconciled()
    assert (found.records, found.forgotten) == (3, 0)
    people.replay()
    assert people.users() == ["ann", "p4", "p5", "p6", "p7", "zoe", "zoe"], "the number of the record stays forgotten"
    found = people.reconciled()
    assert (found.records, found.forgotten) == (8, 1)
