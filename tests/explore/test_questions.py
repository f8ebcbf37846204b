"""The saved questions and views: each answers on any lake, and what it says of a known one is right."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from known_lake import DAY, FIRST, REPLAY, REPLAY_TOKEN, SECOND, SHOP_1, KnownLake, at, receipt

from smelter.explore import Explorer, connect
from smelter.explore.questions import Question, question_named, questions
from smelter.explore.saved_views import SavedView, SavedViews

FOLDER = Path(__file__).parents[2] / "duckdb"
README = (FOLDER / "README.md").read_text("utf-8")
QUESTIONS, FLAWS = questions(FOLDER / "questions")
SAVED = SavedViews(FOLDER / "views", FOLDER)
VIEWS = SAVED.views
SHOP, TILL = "/landing/events/shop-*.json", "/landing/events/till-*.json"
Ask = Callable[..., list[tuple[Any, ...]]]

each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
each_view = pytest.mark.parametrize("view", VIEWS, ids=lambda one: one.name.name)


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """A lake that nobody has written to yet."""
    with connect(tmp_path_factory.mktemp("nothing") / "lake") as explorer:
        yield explorer


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnownLake]:
    """A lake with the tables of a dataset, and no rows."""
    lake = KnownLake(tmp_path_factory.mktemp("bare") / "lake")
    yield lake
    lake.close()


@pytest.fixture(scope="module")
def rowless(bare: KnownLake) -> Iterator[Explorer]:
    with connect(bare.lake.root) as explorer:
        yield explorer


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnownLake]:
    lake = KnownLake(tmp_path_factory.mktemp("known") / "lake").filled
    yield lake
    lake.close()


@pytest.fixture(scope="module")
def full(known: KnownLake) -> Iterator[Explorer]:
    with connect(known.lake.root) as explorer:
        yield explorer


@pytest.fixture
def ask(full: Explorer) -> Ask:
    """Ask the known lake a saved question of its dataset; times go back to before everything."""

    def answer(asks: str, /, **given: str) -> list[tuple[Any, ...]]:
        question = question_named(FOLDER / "questions", asks)
        usual = {"since": DAY, "dataset": "events"}
        takes = {param.name: usual[param.name] for param in question.params if param.name in usual}
        return asked(full, question, **{**takes, **given})

    return answer


def asked(explorer: Explorer, question: Question, **given: str) -> list[tuple[Any, ...]]:
    return explorer.execute(question.sql, question.values(given)).fetchall()


def test_every_file_can_be_read() -> None:
    assert (FLAWS, SAVED.flaws) == ([], {})


def told(explorer: Explorer, name: str) -> dict[str, Any]:
    """The only row of an answer, by the names of its columns."""
    question = question_named(FOLDER / "questions", name)
    answer = explorer.execute(question.sql, question.values({}))
    (row,) = answer.fetchall()
    return dict(zip(answer.columns, row, strict=True))


@each_question
def test_a_question_says_what_it_asks_and_uses_what_it_is_given(question: Question) -> None:
    assert question.question.endswith("?")
    assert question.about
    texts = (question.question, *question.about, *(param.about for param in question.params))
    assert [text for text in texts if len(text) > 110] == []
    used = set(re.findall(r"\$(\w+)", question.sql))
    assert used == {param.name for param in question.params}
    assert re.search(r"^order by ", question.sql, re.MULTILINE)


@each_question
def test_a_question_answers_on_a_lake_without_rows(question: Question, nothing: Explorer, rowless: Explorer) -> None:
    for explorer in (rowless,) if question.needs else (nothing, rowless):
        answer = explorer.execute(question.sql, question.values({}))
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", column) for column in answer.columns)
        assert not question.chart or {question.chart.label, question.chart.value} <= set(answer.columns)
        answer.fetchall()


@each_question
def test_a_question_answers_on_a_lake_with_rows(question: Question, full: Explorer) -> None:
    assert set(question.needs) <= {str(table) for table in full.tables}
    asked(full, question)


@each_view
def test_a_view_has_the_columns_that_its_header_promises(
    view: SavedView, nothing: Explorer, rowless: Explorer, full: Explorer
) -> None:
    kinds = ", ".join(f"null::{column.kind}" for column in view.columns)
    promised = nothing.execute(f"select {kinds}").types
    for explorer in (nothing, rowless, full):
        answer = explorer.execute(f"from {view.name}")
        answer.fetchall()
        assert answer.columns == [column.name for column in view.columns]
        assert answer.types == promised


def test_bars_are_as_long_as_what_the_question_asks_for() -> None:
    assert {one.name: one.chart.value for one in QUESTIONS if one.chart} == {
        "arrivals_per_hour": "records",
        "batch_sizes": "batches",
        "best_products": "revenue_eur",
        "busiest_zones": "trips",
        "came_back": "came_back_percent",
        "check_course": "failing_percent",
        "commits_per_hour": "commits",
        "file_sizes": "files",
        "late_events": "rows",
        "letters_age": "open_letters",
        "reasons": "letters",
        "sessions_per_day": "p50_seconds",
        "time_to_silver": "p50_seconds",
    }


def test_names_of_things_of_the_lake_are_checked() -> None:
    """A dataset that is not there must not look like one without trouble; maintenance also has steps of the `lake`."""
    kinds = {(param.name, param.kind) for one in QUESTIONS for param in one.params if one.name != "maintenance_work"}
    assert {kind for name, kind in kinds if name in ("dataset", "table", "status")} == {"dataset", "table", "status"}
    (work,) = (one for one in QUESTIONS if one.name == "maintenance_work")
    assert ("table", "varchar") in {(param.name, param.kind) for param in work.params}


def test_the_readme_tells_of_every_view_and_every_question() -> None:
    assert len(QUESTIONS) >= 20
    told = re.findall(r"^\| `([a-z_.]+)` \|", README.partition("## All views")[2], re.MULTILINE)
    assert sorted(told) == sorted([str(view.name) for view in VIEWS] + [one.name for one in QUESTIONS])
    for view in VIEWS:
        assert f"| `{view.name}` | {view.about} |" in README
    for question in QUESTIONS:
        assert f"| `{question.name}` | {question.question}" in README


def test_every_record_is_in_one_place(ask: Ask) -> None:
    """12 read = 6 in bronze (one by a replay) + 3 open + 1 discarded + 1 forgotten + 1 discarded and removed."""
    assert ask("balance") == [("events", 4, 12, 6, 1, 3, 1, 2, 0, 0)]
    assert ask("unbalanced_sources") == []


def test_a_record_that_is_nowhere_is_found_with_its_source(bare: KnownLake) -> None:
    bare.write_receipts("events", 1, FIRST, [receipt(SHOP_1, 3, 1)])
    with connect(bare.lake.root) as explorer:
        found = asked(explorer, question_named(FOLDER / "questions", "unbalanced_sources"))
    (bare.lake.root / "receipts" / "events" / "000000001.done.json").unlink()
    assert found == [("events", SHOP_1, 4, 0, 0, 0, 0, 4, FIRST)]


def test_what_was_taken_in_by_the_hour(ask: Ask) -> None:
    """A file that was read again later is no batch of the stream; one that is folded and still a file counts once."""
    assert ask("arrivals_per_hour") == [
        (at("10:00:00"), 1, 2, 6, 4, 2, 33.33),
        (at("11:00:00"), 1, 2, 5, 2, 3, 60.0),
    ]
    assert ask("batch_sizes") == [("1 to 9", 2, 11, 4)]


def test_a_gap_between_batches_is_a_quiet_time(ask: Ask) -> None:
    (lasts_still, gap) = ask("quiet_hours", minutes="90")
    assert (lasts_still[:3], gap) == (("events", SECOND, None), ("events", FIRST, SECOND, 90.0))
    assert len(ask("quiet_hours", minutes="91")) == 1


def test_a_silence_that_began_before_since_is_told(ask: Ask) -> None:
    """A stream that died eight days ago has no batch of the last seven."""
    ((*gap, minutes),) = ask("quiet_hours", since="1m", minutes="1")
    assert gap == ["events", SECOND, None]
    assert minutes > 60 * 24
    assert [row[1:3] for row in ask("quiet_hours", since="2026-03-01T11:29:59Z")] == [(SECOND, None), (FIRST, SECOND)]
    assert [row[1:3] for row in ask("quiet_hours", since="2026-03-01T11:30:01Z")] == [(SECOND, None)]


def test_producers_are_told_by_their_names_without_digits(ask: Ask) -> None:
    assert ask("bad_producers") == [
        ("events", SHOP, 2, 8, 3, 37.5, "missing_field"),
        ("events", TILL, 2, 4, 3, 75.0, "wrong_type"),
    ]


def test_reasons_are_those_of_now_and_of_open_letters(ask: Ask) -> None:
    """One letter failed again, for another reason than at first."""
    assert ask("reasons") == [
        ("missing_field", 2, 66.67, 1, SECOND, SECOND, '`user_id` is bad: "3"'),
        ("rule_broken", 1, 33.33, 1, SECOND, SECOND, "`user_id` is too long: 4711"),
    ]
    assert [row[:2] for row in ask("reasons", status="replayed")] == [("missing_field", 1)]


def test_errors_that_differ_in_values_only_are_one(ask: Ask) -> None:
    assert [row[:4] for row in ask("message_shapes")] == [
        ("events", '`user_id` is bad: "…"', 2, 1),
        ("events", "`user_id` is too long: #", 1, 1),
    ]


def test_letters_are_counted_by_age(known: KnownLake, ask: Ask) -> None:
    hours = (0.5, 2, 23, 48, 24 * 8, 24 * 31, 24 * 100)
    known.with_letters_of_age(*(timedelta(hours=one) for one in hours))
    assert ask("letters_age", dataset="clicks") == [
        ("under 1 hour", 1, 0),
        ("1 hour to 1 day", 2, 0),
        ("1 to 7 days", 1, 0),
        ("7 to 30 days", 1, 0),
        ("30 to 90 days", 1, 0),
        ("90 days or more", 1, 0),
    ]


def test_what_came_back(ask: Ask) -> None:
    assert ask("came_back") == [(date(2026, 3, 1), 5, 3, 1, 0, 1, 20.0)]
    assert [(row[1], row[2], *row[6:]) for row in ask("letter_runs")] == [
        ("discard:20260301-120000-2", "discard", 0, 0, 2, 0),
        (REPLAY_TOKEN, "replay", 1, 1, 0, 0),
    ]
    assert ask("stubborn_letters") == [("events", "rule_broken", "user_id", "events@2", 1, 1, REPLAY, "2-1")]


def test_delays_from_event_to_arrival_are_counted_in_order(ask: Ask) -> None:
    assert ask("late_events") == [
        ("before it happened", 1, 25.0, 25.0),
        ("under 1 second", 1, 25.0, 50.0),
        ("1 to 10 seconds", 1, 25.0, 75.0),
        ("10 minutes to 1 hour", 1, 25.0, 100.0),
    ]


def test_the_way_to_silver_is_measured_from_the_arrival(ask: Ask) -> None:
    """Three rows took 110 s and one 140 s; between the two slowest lie 85 of 100 parts up to p95, 97 up to p99."""
    assert ask("time_to_silver") == [(at("10:00:00"), 4, 10.0, 110.0, 135.5, 139.1)]


def test_silver_waits_for_what_came_after_its_bookmark(ask: Ask) -> None:
    (row,) = ask("silver_behind")
    assert (row[0], *row[2:4]) == ("events", 1, 1)
    assert ask("sent_twice") == [("events", 6, 1, 4, 1, 20.0)]
    assert ask("repeats_by_producer") == [(SHOP, 2, 5, 3, 2, 40.0), (TILL, 1, 1, 1, 0, 0.0)]


def test_compaction_gains_where_there_are_enough_small_files(ask: Ask) -> None:
    gains = {row[0]: row[1:7] for row in ask("compaction_gain", fewest="3")}
    assert gains["bronze.events"] == (3, 3, 0, 1, 1, 66.7)
    assert gains["silver.events"] == (1, 1, 0, 0, 1, 0.0)
    assert {row[0]: row[5] for row in ask("compaction_gain")}["bronze.events"] == 3
    assert ask("compaction_gain", target_mb="0") == ask("compaction_gain", target_mb="1"), "no file holds nothing"


def test_which_contract_judged_what(ask: Ask) -> None:
    """A replayed letter is a row of bronze under the new contract, and a letter under the one that refused it."""
    assert ask("judged_by") == [
        ("events", "events@1", FIRST, FIRST, 1, 4, 2, 33.33),
        ("events", "events@2", SECOND, REPLAY, 2, 2, 3, 60.0),
    ]


def test_a_check_fails_since_it_last_held(ask: Ask) -> None:
    (row,) = ask("failing_checks")
    since, held = at("13:00:00", "2026-03-02"), at("13:00:00")
    said = "amounts are sane: 4 of 10 rows fail"
    assert row == ("events", "amounts are sane", "increment", since, 2, held, "stopped", 4, 10, said)
    course = ask("check_course", name="amounts are sane")
    assert [(row[1].day, row[7]) for row in course] == [(1, 0.0), (2, 20.0), (3, 40.0)]


def test_rows_of_different_checks_are_not_added_up(ask: Ask) -> None:
    """Each check judges the same ten rows."""
    assert [(row[0], row[1].day, row[5], row[6]) for row in ask("check_course")] == [
        ("amounts are sane", 1, 10, 0),
        ("amounts are sane", 2, 10, 2),
        ("amounts are sane", 3, 10, 4),
        ("purchases name a product", 1, 10, 0),
    ]


def test_amounts_of_the_samples_have_their_currency(known: KnownLake, full: Explorer) -> None:
    day = {"window_start": at("00:00:00")}
    known.append(
        "gold", "revenue_per_product_day", [day | {"product_id": "p1", "purchases": 4, "revenue": Decimal(10)}]
    )
    zone = {"pickup_location_id": 7, "trips": 2, "average_distance": 1.5, "total_amount": 30.0}
    known.append("gold", "trips_per_zone_hour", [day | zone])
    products, zones = (told(full, name) for name in ("best_products", "busiest_zones"))
    assert (products["revenue_eur"], products["revenue_per_purchase_eur"]) == (Decimal(10), 2.5)
    assert (zones["average_miles"], zones["average_amount_usd"]) == (1.5, 15.0)


def test_maintenance_tells_what_it_freed(ask: Ask) -> None:
    (row,) = ask("maintenance_work")
    assert row == ("bronze.events", "compact", 1, 0, 0, 1.5, 2.0, REPLAY, "done", "3 files became 1")
