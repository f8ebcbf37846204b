"""`smelt forget`: what it says, what it refuses, and what it lists as still holding values."""

from __future__ import annotations

import io
import json
import pty
from datetime import UTC, datetime, timedelta

import pytest
from forget_command import Smelt, a_command  # noqa: F401
from people import PERSON, People, event, found_in_tables, people  # noqa: F401

from smelter.lake.home import OPS, QUALITY
from smelter.lake.tables import load_table
from smelter.quality.records import record
from smelter.quality.verdict import Decision, Example, Question, Result, Verdict

ZOE = "user_id = 'zoe'"


def test_it_says_who_would_leave_then_who_left_and_then_that_there_is_nobody(smelt: Smelt, people: People) -> None:  # noqa: F811
    people.arrive("a.json", event("zoe", 1), event("zoe", 2, surprise=1), "zoe is no JSON", event("ann", 3))
    words = ("forget", people.name, "--where", ZOE)
    done = smelt(people, *words, "--dry-run")
    first, searched, *_, last = done.out.splitlines()
    assert first == f"{people.name}: 1 row of bronze, 2 dead letters, 0 resolutions, 0 rows of silver would leave"
    assert searched == "  1 of the letters could only be searched for the values that are named"
    assert (done.code, last) == (0, f"next: smelt forget {people.name} --where 'user_id = '\"'\"'zoe'\"'\"''")
    assert people.forgotten() == set()
    done = smelt(people, *words, "--because", "she asked for it")
    assert done.out.splitlines()[0].endswith("are forgotten")
    assert (done.code, done.out.splitlines()[-1]) == (0, f"next: smelt reconcile {people.name}")
    done = smelt(people, *words)
    assert done.code == 0
    assert done.out.startswith(f"{people.name}: no record is so (user_id = 'zoe'); nothing was changed\n")
    done = smelt(people, "reconcile", people.name)
    assert done.out.startswith(
        f"✓ {people.name}: 4 records in 1 source = 1 in bronze + 0 in dead letters + 3 forgotten"
    )
    done = smelt(people, "trace", f"{people.landing / 'a.json'}:0")
    assert (done.code, "forgotten on 20" in done.out, "zoe" in done.out) == (0, True, False)


def test_it_says_how_many_letters_nobody_can_judge_also_where_nobody_is_found(smelt: Smelt, people: People) -> None:  # noqa: F811
    people.arrive(
        "a.json",
        "zoe is no JSON",  # its note cannot be told
        '{"user": "zoe", "event_id": "e2", "note": "of zoe"}',
        '{"user": "zoe", "event_id": "e3", "note": null}',
        "nobody is no JSON either, and became somebody",
    )
    people.edit("a.json", 3, event("ann", 4))  # its row can be read
    said = "unreadable letters could not be judged by this condition: only = and IN name values to search for"
    for where, unjudged in (("note like '%zoe%'", 2), ("note like 'x%'", 2), ("at < '2020-01-01'", 3)):
        assert f"  {unjudged} {said}\n" in smelt(people, "forget", people.name, "--where", where, "--dry-run").out
    found = smelt(people, "forget", people.name, "--where", "at < '2020-01-01' and user_id = 'ann'", "--json").json
    assert (found["run"], found["found"]["unjudged_letters"]) == (None, 0), "they are not ann's, whatever their time"
    assert said not in smelt(people, "forget", people.name, "--where", ZOE).out


def test_it_lists_what_still_holds_values_and_when_it_goes(smelt: Smelt, people: People) -> None:  # noqa: F811
    path = people.arrive("a.json", event("zoe", 1), event("zoe", 2, surprise=1), event("ann", 3))
    trash = people.lake.root / "trash" / "maintain:1"
    trash.mkdir(parents=True)
    emptied = datetime(2026, 12, 24, tzinfo=UTC)
    told = {"run": "maintain:1", "emptied_after": emptied.isoformat(), "files": [{"table": f"bronze.{people.name}"}]}
    (trash / "manifest.json").write_text(json.dumps(told))
    before = datetime.now(UTC)
    done = smelt(people, "forget", people.name, "--where", ZOE, "--json")
    found = done.json
    assert (found["dataset"], found["where"], found["dry_run"]) == (people.name, ZOE, False)
    assert found["run"].startswith("forget:20")
    assert found["found"] == {
        "bronze": 1, "dead_letters": 1, "resolutions": 0, "silver": 0, "unreadable_letters": 0,
        "unjudged_letters": 0, "letters_emptied": 0,
    }  # fmt: skip
    assert (found["silver"], found["gold"]) == (None, [])
    file, *snapshots, bin_ = found["still_there"]
    assert (file["what"], file["where"], file["goes"]) == ("landing file", str(path), None)
    assert file["why"] == "stays until you remove it: source.after_commit is keep"
    assert [one["where"] for one in snapshots] == [f"bronze.{people.name}", f"dead_letters.{people.name}"]
    for one in snapshots:
        assert timedelta(hours=24) <= datetime.fromisoformat(one["goes"]) - before < timedelta(hours=24, minutes=5)
    assert (bin_["what"], bin_["where"]) == ("1 file in the trash", str(trash))
    assert datetime.fromisoformat(bin_["goes"]) == emptied
    assert path.exists()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("", "it is not one condition: say whom you mean"),
        ("true", "`TRUE` is not a comparison"),
        ("1 = 1", "`1` is not a field: say whom you mean"),
        ("user_id", "`user_id` is not a comparison"),
        ("user_id = user_id", "`user_id` is not a value of `user_id`"),
        ("user_id is not null", "every record is so: say whom you mean"),
        ("user_id like '%'", "every record is so"),
        ("user_id >= ''", "every record is so"),
        ("not (user_id = 'a' and user_id <> 'a')", "every record is so"),
        ("note is null or note is not null", "every record is so"),
        ("user = 'a'", "there is no field `user`; did you mean `user_id`?"),
        ("_source = 'a'", "there is no field `_source`"),
        ("user_id = 17", "`17` is not a value of `user_id`, which is string; write 'text' in single quotes"),
        ("at < 'soon'", "`'soon'` is not a value of `at`, which is timestamp; write '2026-11-18T09:00:00Z'"),
        ("user_id = 'a'; drop table bronze.people", "it is not one condition"),
        ("user_id = 'a' -- and more", "a comment cannot stand in it"),
        ("user_id in (select user_id from bronze.people)", "is not a plain comparison"),
        ("exists (select 1)", "is not a comparison"),
        ("upper(user_id) = 'A'", "`UPPER(user_id)` is not a field"),
        ("user_id = upper('a')", "is not a value of `user_id`"),
        ("user_id || note = 'ab'", "is not a field"),
        ("user_id like 'a' escape '!'", "is not a comparison"),
        ("user_id ilike 'a'", "is not a comparison"),
        ("t.user_id = 'a'", "`t.user_id`: name the field alone"),
        ("user_id = 'a' or", "is not a condition"),
        ("user_id = 'a", "is not a condition"),
        ("user_id = $1", "is not a value of `user_id`"),
        (" or ".join(["user_id = 'a'"] * 1100), "it is nested too deep; IN (…) takes many values at once"),
        ("(" * 5_000, "it is nested too deep"),
        ("x" * 20_001, "it is longer than 20,000 characters"),
    ],
)
def test_what_is_no_plain_condition_is_refused_and_changes_nothing(
    smelt: Smelt, refusing: People, where: str, said: str
) -> None:
    done = smelt(refusing, "forget", refusing.name, "--where", where)
    assert done.code == 2, done
    assert said in done.err.splitlines()[0]
    assert "allowed: a field and a literal" in done.err
    assert refusing.users() == ["ann"]


def test_the_condition_may_come_by_standard_input_where_nobody_else_sees_it(
    smelt: Smelt,
    people: People,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people.arrive("a.json", event("zoë", 1), event("ann", 2))
    words = ("forget", people.name, "--where", "-")
    for said, why in ((b" \n", "standard input is empty"), (b"\xff", "is not UTF-8"), (b"user_id", "not a comparison")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said)))
        done = smelt(people, *words)
        assert (done.code, why in done.err) == (2, True), done
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("user_id = 'zoë'\n".encode())))
    assert smelt(people, *words, "--json").json["where"] == "user_id = 'zoë'"
    assert people.users() == ["ann"]


def test_nobody_is_waited_for_at_a_terminal(smelt: Smelt, refusing: People, monkeypatch: pytest.MonkeyPatch) -> None:
    main, terminal = pty.openpty()
    with open(main, "rb"), open(terminal, encoding="utf-8") as typed:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", typed)
        done = smelt(refusing, "forget", refusing.name, "--where", "-")
    assert (done.code, done.err.splitlines()[0]) == (2, "--where -: standard input is a terminal")


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> People:
    """A dataset that none of the refused conditions touches."""
    from smelter.lake.home import Lake
    from smelter.settings import Settings

    people = People(Lake.at(Settings(lake=tmp_path_factory.mktemp("refusing") / "lake")))  # noqa: F811
    people.arrive("a.json", event("ann", 1))
    return people


def test_a_value_is_never_taken_for_sql(smelt: Smelt, people: People) -> None:  # noqa: F811
    odd = "x' or '1'='1"
    people.arrive("a.json", event(odd, 1), event("ann", 2))
    where = "user_id = '{}'".format(odd.replace("'", "''"))
    assert smelt(people, "forget", people.name, "--where", where, "--json").json["found"]["bronze"] == 1
    assert people.users() == ["ann"]


def test_examples_of_checks_lose_the_person_and_pages_that_name_them_go(smelt: Smelt, people: People) -> None:  # noqa: F811
    people.arrive("a.json", event(PERSON, 1), event("ann", 2))
    source, at = people.source("a.json"), datetime.now(UTC)
    examples = (Example(source, 0, PERSON), Example(source, 1, "ann"))
    result = Result("short ids", "regex", "user_id", "warn", False, 2.0, "short", "2 of 2 rows fail", 2, 2, examples)
    validation = json.dumps({"results": [{"expectation_config": {"kwargs": {"column": "short ids"}}}]})
    for number in (1, 2):
        question = Question(people.name, "people@1", "increment", f"run {number}", at + timedelta(seconds=number))
        shown = result if number == 1 else Result(**{**vars(result), "examples": examples[1:]})
        record(people.lake, question, Verdict((shown,), 2, question.at, validation), Decision.PUBLISHED)
    results = sorted((people.lake.quality / "results").rglob("*.json"))
    page = people.lake.quality / "report" / "validations" / people.name / "page.html"
    page.parent.mkdir(parents=True)
    page.write_text(f"<p>such as {source}:0 has {PERSON}</p>")
    assert found_in_tables(people.lake, PERSON) == [f"bronze.{people.name}", "ops.quality"]

    done = smelt(people, "forget", people.name, "--where", f"user_id = '{PERSON}'", "--json")
    assert sorted(done.json["pages_removed"]) == sorted([str(results[0]), str(page)])
    assert sorted((people.lake.quality / "results").rglob("*.json")) == results[1:]
    assert found_in_tables(people.lake, PERSON) == []
    rows = load_table(people.lake, OPS, QUALITY).scan().to_arrow().to_pylist()
    assert [(row["run"], row["failing"], len(row["examples"])) for row in sorted(rows, key=lambda one: one["run"])] == [
        ("run 1", 2, 1),
        ("run 2", 2, 1),
    ]
