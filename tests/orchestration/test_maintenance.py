"""Maintenance under Airflow: forms, the words that become of them, one task for each table, what people are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException
from conftest import a_context, filled

from smelter.maintenance.steps import Step
from smelter.orchestration.datasets import Dataset
from smelter.orchestration.factory import a_dag
from smelter.orchestration.forms import forget_params, maintenance_params, rollback_params
from smelter.orchestration.maintenance import (
    TABLES_WORDS,
    ask_about_rollback,
    chosen_tables,
    lake_words,
    plan_rollback_words,
    rollback_words,
    table_words,
    tell_of_maintenance,
    tell_of_rollback,
    tell_of_rollback_plan,
    tell_of_tables,
    unless_set_aside,
)
from smelter.orchestration.smelt_operator import ITS_NAME, SmeltOperator

EVENTS = Dataset("events", "", Path("/nowhere"))
SNAPSHOT, EARLIER = 8_271_638_172_635_123_456, 1_234_567_890_123_456_789
NOT_A_TABLE = [
    "events", "bronze.", ".events", "bronze.events.x", "Bronze.events", "bronze.événements", "bronze.events\n",
    "--only=rows", "bronze.events --dry-run", "$(touch x).y", "../x.y", "{{ 7 * 7 }}", "lake.bronze.events", "a.b;c",
]  # fmt: skip
NO_TIME = ["yesterday", "2026-11-01", "-1", "1 2", "1" * 20, "2026-11-01T00:00Z\n", "٢٠٢٦-11-01T00:00Z", "$(date)", ""]
NAMES = ["bronze.events", "silver.events", "gold.sessions"]
TABLES = {"tables": NAMES, "set_aside": {"gold.sessions": "it failed five times"}}
STEP = {"step": "compact", "outcome": "done", "why": "412 small files", "said": "files 412 → 6", "seconds": 1.24,
        "bytes_freed": 0, "before": {}, "after": {}}  # fmt: skip
ONE = {"table": "bronze.events", "outcome": "done", "steps": [STEP], "kept": [], "problem": None}
BACK = {"table": "silver.events", "from_snapshot": SNAPSHOT, "to_snapshot": EARLIER, "dry_run": True,
        "to_time": "2026-11-01T12:00:00+00:00", "rows_before": 1_200, "rows_after": 1_000, "reingested": None,
        "leaves": {"rows": 200, "sources": 3, "batches": ["events:c1:7:ab"]},
        "next": "smelt silver events"}  # fmt: skip


def care(**answers: Any) -> dict[str, Any]:
    return filled(maintenance_params(), **answers)


def rollback(**answers: Any) -> dict[str, Any]:
    return filled(rollback_params(), **{"table": "silver.events", "to": str(EARLIER), **answers})


def test_every_hour_each_table_is_looked_after_by_every_step_and_then_the_lake() -> None:
    form = care()
    assert chosen_tables(TABLES, form) == NAMES
    only = "--only=rows,compact,expire,manifests,orphans"
    assert table_words({**form, "about": "bronze.events"}) == [
        "maintain",
        "run",
        "bronze.events",
        only,
        "--wait",
        "600",
    ]
    assert lake_words(form) == ["maintain", "run", "--only=records", "--wait", "600", "--if-there"]


def test_the_form_chooses_tables_and_steps_in_the_order_of_the_work() -> None:
    form = care(tables=["silver.events", "", "silver.events"], steps=["orphans", "compact"], dry_run=True)
    assert chosen_tables(TABLES, form) == ["silver.events"]
    assert table_words({**form, "about": "silver.events"})[3:5] == ["--only=compact,orphans", "--dry-run"]
    with pytest.raises(AirflowSkipException, match="does not ask for records"):
        lake_words(form)
    with pytest.raises(AirflowSkipException):
        lake_words(care(tables=["silver.events"]))
    alone = care(steps=["records"], dry_run=True)
    assert chosen_tables(TABLES, alone) == []
    assert lake_words(alone) == ["maintain", "run", "--only=records", "--dry-run", "--wait", "600", "--if-there"]


def test_a_table_that_there_is_not_ends_the_run_before_anything_is_done() -> None:
    with pytest.raises(AirflowFailException, match=r"there is no table `silver\.event`.*silver\.events"):
        chosen_tables(TABLES, care(tables=["bronze.events", "silver.event"]))
    assert chosen_tables(TABLES, care(tables=["gold.sessions"])) == ["gold.sessions"], "set aside, its task says why"
    assert chosen_tables({"tables": [], "set_aside": {}}, care()) == []


@pytest.mark.parametrize("name", NOT_A_TABLE)
def test_a_form_takes_the_name_of_a_table_and_nothing_else(name: str) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        care(tables=["bronze.events", name])
    with pytest.raises(Exception, match="Invalid input"):
        rollback(table=name)


@pytest.mark.parametrize("answer", [["vacuum"], ["compact", "--dry-run"], "compact", [["compact"]], [""], {"a": 1}])
def test_a_form_takes_steps_that_there_are_and_nothing_else(answer: Any) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        care(steps=answer)


@pytest.mark.parametrize("text", NO_TIME)
def test_back_to_is_a_snapshot_or_a_moment_and_nothing_else(text: str) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        rollback(to=text)


@pytest.mark.parametrize("form", [maintenance_params(), rollback_params(), forget_params([EVENTS])])
@pytest.mark.parametrize("text", ["yes", "{{ true }}", 1])
def test_a_dry_run_is_yes_or_no(form: dict[str, Any], text: Any) -> None:
    with pytest.raises(Exception, match="Invalid input"):
        filled(form, table="a.b", to="1", dataset="events", where="x = 1", dry_run=text)


def test_a_form_that_says_too_little_is_refused_and_maintenance_needs_none() -> None:
    for params in (rollback_params(), forget_params([EVENTS]), forget_params([])):
        with pytest.raises(Exception, match="No value passed"):
            filled(params)
    assert care()["dry_run"] is False


def test_a_rollback_goes_to_the_snapshot_that_was_shown_even_if_a_moment_was_asked_for() -> None:
    form = rollback(to="2026-11-01T12:30Z")
    assert plan_rollback_words(form)[2:] == ["silver.events", "--to=2026-11-01T12:30Z", "--dry-run"]
    planned = ask_about_rollback(BACK, form)
    assert (planned["subject"], planned["needless"]) == ("Roll silver.events back?", "")
    assert rollback_words({**form, "planned": planned}) == [
        "maintain", "rollback", "silver.events", f"--to={EARLIER}", "--wait", "600",
    ]  # fmt: skip
    again = rollback(table="bronze.events", and_reingest=True)
    assert plan_rollback_words(again)[4:] == ["--and-reingest", "--dry-run"]
    assert "--and-reingest" in rollback_words({**again, "planned": planned})


def test_one_task_for_each_table_has_its_name_and_its_words_and_nothing_of_it_is_a_template() -> None:
    hostile = "{{ 7 * 7 }}"
    with a_dag("looking_after", runbook="Looks after.\n", tags=["test"]) as dag:
        mapped = SmeltOperator.partial(task_id="table", words=table_words, map_index_template=ITS_NAME).expand(
            about=["bronze.events", hostile]
        )
    for about in ("bronze.events", hostile):
        one = mapped.unmap({"about": about})
        assert isinstance(one, SmeltOperator)
        assert (one.pool, one.about) == ("spark", about)
        assert dag.get_template_env().from_string(ITS_NAME).render({"task": one}) == about
    assert list(mapped.template_fields) == []


def test_before_the_first_record_there_is_no_table_and_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMELTER_LAKE", str(tmp_path / "lake"))
    tables = SmeltOperator(task_id="tables", words=TABLES_WORDS, tells=tell_of_tables, keeps=chosen_tables)
    assert tables.execute(a_context(**care())) == []
    lake = SmeltOperator(task_id="lake", words=lake_words, tells=tell_of_maintenance)
    assert "nothing" in lake.execute(a_context(**care()))


def test_a_healthy_table_says_so() -> None:
    healthy = {"run": None, "dry_run": False, "tables": [{**ONE, "outcome": "nothing", "steps": []}], "lake": []}
    assert tell_of_maintenance(healthy) == "bronze.events: healthy, nothing to do"
    assert tell_of_maintenance({**healthy, "tables": []}) == "healthy, nothing to do"
    assert tell_of_maintenance({**healthy, "tables": [], "nothing": "no lake yet"}) == "no lake yet"


def test_the_log_says_what_each_step_did_and_what_was_left_alone_and_why() -> None:
    waits = {**STEP, "step": "expire", "outcome": "postponed", "said": "", "why": "silver.events lags", "seconds": 0.0}
    freed = {**STEP, "step": "orphans", "outcome": "failed", "said": "files 3 → 1", "why": "", "bytes_freed": 2_048}
    done = {**ONE, "steps": [STEP, waits, freed], "kept": ["snapshot 7: the stream's newest token"]}
    problem = "two rows were lost\n  data: nothing was changed"
    bad = {**ONE, "table": "gold.x", "outcome": "failed", "steps": [], "problem": problem}
    aside = {**bad, "outcome": "set_aside", "problem": "it failed five times"}
    fold = {**STEP, "step": "records", "outcome": "planned", "said": "receipts 900 → 10", "why": "", "seconds": 0.0}
    run = "maintain:20261118-120000-ab12"
    report = {"run": run, "dry_run": False, "tables": [done, bad, aside], "lake": [fold]}
    assert tell_of_maintenance(report).splitlines() == [
        "bronze.events: looked after",
        "  ✓ compact: files 412 → 6 (412 small files), 1.2 s",
        "  – expire: silver.events lags, 0.0 s",
        "  ✗ orphans: files 3 → 1, 2,048 bytes freed, 1.2 s",
        "  kept: snapshot 7: the stream's newest token",
        "gold.x: failed: two rows were lost",
        "  data: nothing was changed",
        "gold.x: set aside: it failed five times",
        "  next: smelt maintain retry gold.x",
        "→ records: receipts 900 → 10, 0.0 s",
        f"run: {run}",
    ]


def test_a_table_that_is_set_aside_is_skipped_and_one_that_is_not_is_no_exception() -> None:
    aside = {**ONE, "outcome": "set_aside", "steps": [], "problem": "it failed five times"}
    report = {"run": None, "dry_run": False, "tables": [aside], "lake": []}
    with pytest.raises(AirflowSkipException, match="set aside: it failed five times"):
        unless_set_aside(report, care())
    well = {**report, "tables": [ONE]}
    assert unless_set_aside(well, care()) == well


def test_the_tables_are_named_and_those_that_wait_for_a_person_first() -> None:
    assert tell_of_tables(TABLES).splitlines() == [
        "3 tables to look after",
        "  gold.sessions is set aside: it failed five times; smelt maintain retry gold.sessions",
        "  bronze.events",
        "  silver.events",
    ]
    assert tell_of_tables({"tables": [], "set_aside": {}}) == "0 tables to look after"


def test_a_rollback_says_what_leaves_and_afterwards_the_way_back() -> None:
    assert tell_of_rollback_plan(BACK).splitlines() == [
        f"silver.events: would go back from snapshot {SNAPSHOT} to snapshot {EARLIER} of 2026-11-01T12:00:00+00:00; "
        "rows 1,200 → 1,000",
        "  200 rows of 3 sources would leave",
        "  batch events:c1:7:ab",
        "  next: smelt silver events",
    ]
    done = tell_of_rollback({**BACK, "dry_run": False}).splitlines()
    left = ["  200 rows of 3 sources left", "  batch events:c1:7:ab", "  next: smelt silver events"]
    back = f"  to take it back: trigger it anew with {SNAPSHOT}, as long as that snapshot is kept"
    assert done[1:] == [*left, back]
    again = tell_of_rollback({**BACK, "dry_run": False, "reingested": {"records": 200}}).splitlines()
    assert again[1:] == [*left, "  taken in again: records 200"], "nothing has left that could be taken back"


def test_the_form_offers_the_steps_of_the_command_in_their_order() -> None:
    assert maintenance_params()["steps"].schema["examples"] == list(Step)
