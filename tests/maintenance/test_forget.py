"""A person is forgotten: no table has a row of theirs, every record has its place, and nothing brings one back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from people import (  # noqa: F401
    GIVEN_AWAY,
    PERSON,
    MakePeople,
    People,
    event,
    found_in_tables,
    make_people,
    people,
    silver_part,
)

from smelter.bronze.recovery import recover
from smelter.bronze.rehearsal import rehearse
from smelter.errors import Refused
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS
from smelter.lake.lease import lease
from smelter.lake.tables import load_table
from smelter.ledger.trace import trace
from smelter.maintenance.forget import would_forget
from smelter.maintenance.retention import retire_rows

POINTS = ("found", "noted", "letters_left", "resolutions_left", "bronze_left")
OF_THE_PERSON = {("a.json", 0), ("a.json", 3), *(("b.json", position) for position in (1, 2, 4, 6, 7))}


def counts(found: object) -> dict[str, int]:
    names = ("bronze", "dead_letters", "resolutions", "silver", "unreadable_letters")
    return {name: getattr(found, name) for name in names}


@pytest.mark.jvm
def test_a_person_leaves_every_table_and_nothing_brings_a_record_back(make_people: MakePeople) -> None:  # noqa: F811
    people = make_people()  # noqa: F811
    people.arrive_all()
    people.build()
    before = people.reconciled()
    assert (before.bronze, before.forgotten) == (6, 0)
    assert (people.silver()["e1"][0], people.gold()) == (PERSON, {1: (3, 3), 2: (1, 1), 3: (1, 1)})

    done = people.forget()
    assert counts(done.found) == {
        "bronze": 3, "dead_letters": 5, "resolutions": 2, "silver": 3, "unreadable_letters": 1
    }  # fmt: skip
    people.build()
    assert people.users() == ["ann", "bob", "bob"]
    assert people.silver() == {"e1": ("bob", "takes over"), "e2": ("ann", ""), "e3": ("bob", "")}
    assert people.gold() == {1: (3, 2)}
    assert found_in_tables(people.lake, PERSON, GIVEN_AWAY) == []

    assert people.forgotten() == OF_THE_PERSON
    after = people.reconciled()
    assert (after.records, after.bronze, after.dead_letters, after.forgotten) == (12, 3, 2, 7)
    assert people.replay(status=None).recovered == 0
    found = recover(people.lake, people.contract, people.limits, spark=people.spark)
    assert (found.records, found.written) == (12, 0)
    assert people.reconciled().forgotten == 7
    assert found_in_tables(people.lake, PERSON, GIVEN_AWAY) == []
    assert people.forget().run is None, "a second run finds nobody"


def test_killed_anywhere_every_record_has_its_place_and_the_next_run_ends_it(people: People) -> None:  # noqa: F811
    everybody = [f"person-{point}" for point in POINTS]
    letters = [event(user, 10 + number, surprise=1) for number, user in enumerate(everybody)]
    edited = [event(user, 20 + number, surprise=2) for number, user in enumerate(everybody)]
    people.arrive("a.json", event("ann", 1), *(event(user, 2) for user in everybody), *letters, *edited)
    people.discard(id=people.id_of("a.json", 8))
    for position in (13, 14):  # a letter that went home, for whom the order of leaving matters
        people.edit("a.json", position, event(everybody[position - 11], position))
    for number, (point, user) in enumerate(zip(POINTS, everybody, strict=True)):
        people.forget_until(point, f"user_id = '{user}'")
        assert people.reconciled().records == 16
        found = rehearse(people.lake, people.name, people.limits)
        assert (found.rows, found.letters) == (0, 0), "a recovery would bring nothing back"
        people.forget(f"user_id = '{user if point == 'found' else 'somebody else'}'")
        assert found_in_tables(people.lake, user) == []
        assert people.reconciled().forgotten == 3 * (number + 1)


@pytest.mark.jvm
def test_silver_hears_of_a_person_who_had_left_bronze_before(make_people: MakePeople) -> None:  # noqa: F811
    people = make_people(rest="bronze: {keep_rows: 9d}\n" + silver_part(", keep_rows: 9d"))  # noqa: F811
    people.arrive("a.json", event(PERSON, 1), event("ann", 2))
    people.build_silver()
    retire_rows(people.lake, f"bronze.{people.name}", people.contract, datetime.now(UTC) + timedelta(days=9))
    people.build_silver()
    assert len(people.silver()) == 2
    done = people.forget()
    assert (done.found.bronze, done.found.silver) == (0, 1)
    people.build_silver()
    assert list(people.silver()) == ["e2"]
    people.reconciled()


def test_only_the_named_person_leaves(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("ann", 1), event("bob", 2), event("ann", 3, 9), event("annie", 4))
    people.forget("user_id = 'ann' and at < '2026-03-05T00:00:00Z'")
    assert people.users() == ["ann", "annie", "bob"]
    people.forget("user_id in ('bob', 'cid') or event_id like '%4'")
    assert people.users() == ["ann"]
    assert people.reconciled().forgotten == 3


def test_letters_are_read_as_far_as_they_can_be_read(people: People) -> None:  # noqa: F811
    people.arrive(
        "a.json",
        '{"user": "ann", "user": "zoe", "event_id": "e1", "at": "2026-03-01T10:00:00Z"}',  # named twice
        '{"user": "\\u007aoe", "event_id": "e2"}',  # as JSON may write it
        '{"usr": "zoe", "event_id": "e3", "at": "2026-03-01T10:00:00Z"}',  # under another name
        '{"user": {"id": "zoe"}, "event_id": "e4", "at": "2026-03-01T10:00:00Z"}',
        '["zoe"]',
        '{"user": "ann", "note": "of zoe", "event_id": "e5"}',  # ann's own letter
        '{"user": "zoey", "event_id": "e6"}',
    )
    done = people.forget("user_id = 'zoe'")
    assert (done.found.dead_letters, done.found.unreadable_letters) == (5, 3)
    assert {position for _, position in people.forgotten()} == {0, 1, 2, 3, 4}


def test_a_letter_that_can_only_be_searched_takes_no_row_of_somebody_else_with_it(people: People) -> None:  # noqa: F811
    people.arrive("a.json", "call u1 about u17, not JSON", "u1 and nobody else, not JSON", event("bob", 1))
    people.edit("a.json", 0, event("u17", 2))
    assert people.forget("user_id = 'u1'").found.unreadable_letters == 1
    assert (people.users(), people.forgotten()) == (["bob", "u17"], {("a.json", 1)})
    assert people.reconciled().bronze == 2
    done = people.forget("user_id = 'u17'")
    assert (done.found.bronze, done.found.dead_letters, done.found.unreadable_letters) == (1, 1, 1)
    assert people.users() == ["bob"]
    assert people.reconciled().forgotten == 2


def test_a_name_in_another_encoding_is_found_by_its_bytes(people: People) -> None:  # noqa: F811
    line = '{"user": "josé", "event_id": "e1", "at": "2026-03-01T10:00:00Z"}'.encode("latin-1")
    people.arrive("a.json", line, event("ann", 2))
    assert [one["reason"] for one in people.letters()] == ["bad_encoding"]
    done = people.forget("user_id = 'josé'")
    assert (done.found.dead_letters, done.found.unreadable_letters) == (1, 1)
    assert people.reconciled().forgotten == 1


def test_what_a_letter_does_not_tell_its_row_does(people: People) -> None:  # noqa: F811
    people.arrive("a.json", '{"user": "u17", "event_id": "e1", "at": "long ago"}', '{"user": "u17", "at": "never"}')
    people.edit("a.json", 0, event("u17", 1, 9))
    assert people.forget("user_id = 'u17' and at < '2026-03-05T00:00:00Z'").found.dead_letters == 1
    assert (people.users(), people.forgotten()) == (["u17"], {("a.json", 1)})
    people.reconciled()


def test_whoever_has_a_longer_name_stays(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("u17", 1), '{"usr": "u17", "event_id": "e2"}', '{"usr": "u1", "event_id": "e3"}')
    people.forget("user_id = 'u1'")
    assert people.forgotten() == {("a.json", 2)}
    assert people.reconciled().dead_letters == 1


def test_a_dry_run_says_the_same_and_changes_nothing(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("zoe", 2, surprise=1), "zoe is no JSON", event("ann", 3))
    before = people.state()
    said = would_forget(people.lake, people.name, "user_id = 'zoe'")
    assert (said.run, people.forgotten(), people.state()) == (None, set(), before)
    assert counts(said.found) == counts(people.forget("user_id = 'zoe'").found)


def test_a_forgotten_record_can_be_traced_but_not_read(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("ann", 2))
    done = people.forget("user_id = 'zoe'")
    found = trace(people.lake, people.name, people.source("a.json"), 0)
    assert found.found.startswith("forgotten on 20")
    assert found.found.endswith(f"by {done.run}")
    assert (found.places, found.text, found.history) == ((), None, ())
    assert trace(people.lake, people.name, people.source("a.json"), 1).found == "accepted"


def test_a_run_that_was_begun_over_letters_is_finished_first(people: People) -> None:  # noqa: F811
    from dead_letters.boxes import Hooks as LetterHooks

    people.arrive("a.json", event("zoe", 1), event("ann", 2, surprise=1))

    def die(point: str) -> None:
        if point == "prepared":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        people.discard(hooks=LetterHooks(reach=die))
    with pytest.raises(Refused, match="is prepared and not committed") as refused:
        people.forget("user_id = 'zoe'")
    assert refused.value.next_step == f"smelt dlq retire {people.name} finishes it; then run this again"
    people.retire()
    assert people.forget("user_id = 'zoe'").found.bronze == 1


def test_a_batch_that_nobody_finishes_is_waited_for_and_then_refused(
    people: People,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("smelter.maintenance.forget._BATCH_SECONDS", 0.3)
    people.put("a.json", b'{"user": "zoe", "event_id": "e", "at": "2026-03-01T10:00:00Z"}\n')

    def die(point: str) -> None:
        if point == "prepared":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        people.drain_here(die)
    with pytest.raises(Refused, match="is prepared and not committed"):
        people.forget("user_id = 'zoe'")
    people.drain_here()
    assert people.forget("user_id = 'zoe'").found.bronze == 1


def test_whoever_changes_a_table_meanwhile_is_not_disturbed(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("zoe", 2, surprise=1), event("ann", 3))
    for namespace, name in ((BRONZE, people.name), (DEAD_LETTERS, people.name), (DEAD_LETTERS, RESOLUTIONS)):
        with lease(people.lake, namespace, name, "a compaction", 0), pytest.raises(Refused, match="a compaction"):
            people.forget("user_id = 'zoe'", wait_seconds=0)
        people.reconciled()
    people.forget("user_id = 'zoe'")
    assert people.reconciled().forgotten == 2


def test_what_is_told_of_letters_of_another_dataset_is_not_counted(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("ann", 2, surprise=1), event("zoe", 3, surprise=1))
    people.discard()
    table = load_table(people.lake, DEAD_LETTERS, RESOLUTIONS)
    rows = table.scan().to_arrow().to_pylist()  # the same files were once read as another dataset
    others = [{**row, "dataset": "others", "_position": position} for row in rows for position in (0, 2)]
    table.append(pa.Table.from_pylist(others, schema=table.schema().as_arrow()))
    assert people.forget("user_id = 'zoe'").found.resolutions == 1
    assert people.forget("user_id = 'zoe'").run is None, "nothing of it is left behind"
    told = load_table(people.lake, DEAD_LETTERS, RESOLUTIONS).scan().to_arrow().to_pylist()
    assert sorted(row["dataset"] for row in told) == [*["others"] * 4, people.name]


def test_nobody_stays_nobody(people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("ann", 1))
    snapshot = load_table(people.lake, BRONZE, people.name).current_snapshot()
    assert people.forget("user_id = 'zoe'").run is None
    assert load_table(people.lake, BRONZE, people.name).current_snapshot() == snapshot
