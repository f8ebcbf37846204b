"""The real thing: Airflow, Spark, a browser. In order, on one platform: from nothing to answers, then crashes."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from acting import (
    another,
    answer,
    dlq_runs,
    drop,
    ends,
    goes_on,
    is_asked,
    is_deferred,
    is_green,
    know_field,
    pause,
    places,
    reconciles,
    rows,
    settled,
    stream_run,
    trigger,
)
from browsing import Browser
from platforms import COMPONENTS, Platform, drivers_of, kill, never_two_drivers, soon

pytestmark = pytest.mark.jvm
SUCCEEDED = ("success", "asset_triggered")
SCHEDULED = ("silver_events", "gold_events", "reconcile", "housekeeping", "dead_letters", "maintenance")
HOSTILE = (
    "$(touch /tmp/smelter-was-here)",
    "'; drop table bronze.events; --",
    '"',
    "../../../etc/passwd",
    "{{ 7 * 7 }}",
)
UNSEEN = ("two\nlines", "\x1b[31mred", "\u202eback", "x" * 201)
SOME_RUN = "replay:20260101-120000-0a1b"
# Each form, filled in as it should be, and the fields into which something else is put.
FORMS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "backfill_events": ({}, ("since", "until", "rebuild", "dry_run")),
    "replay_dead_letters": ({"dataset": "events"}, ("dataset", "reason", "field", "since", "until", "dry_run")),
    "undo_replay": ({"run": SOME_RUN}, ("run", "dry_run")),
    "maintenance": ({}, ("tables", "steps", "dry_run")),
    "rollback_table": ({"table": "silver.events", "to": "1"}, ("table", "to", "and_reingest", "dry_run")),
    "forget_person": ({"dataset": "events", "where": "user_id = 'user-1'"}, ("dataset", "dry_run")),
}
STRANGE = "{{ 7 * 7 }} ![x](http://127.0.0.1:9/x.png) <b>x</b>"


def test_from_nothing_to_answers_with_every_scheduled_dag_green(platform: Platform) -> None:
    tables = soon(lambda: (found := rows(platform)) and all(found.values()) and found, "rows in every table", 420)
    soon(lambda: all(is_green(platform, dag) for dag in SCHEDULED), "every scheduled DAG is green", 420)
    assert is_deferred(platform)
    print(tables)


def test_nothing_but_this_machine_can_reach_it(platform: Platform) -> None:
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening += [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    ours = {inode_of(path) for path in sockets_of(platform)}
    found = {words[1].partition(":")[0] for words in listening if words[3] == "0A" and words[9] in ours}
    loopback = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}
    assert found
    assert found <= loopback, f"somebody listens for others: {found - loopback}"


def sockets_of(platform: Platform) -> list[str]:
    found = []
    for pid in platform.pids():
        try:
            found += [str(place.readlink()) for place in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
    return [name for name in found if name.startswith("socket:")]


def inode_of(name: str) -> str:
    return name.removeprefix("socket:[").removesuffix("]")


def test_secrets_lie_in_private_files_and_in_no_log_or_rendered_field(platform: Platform) -> None:
    secrets = [*platform.passwords().values(), *json.loads((platform.home / "keys.json").read_text()).values()]
    for name in ("passwords.json", "keys.json", "airflow.cfg"):
        assert stat.S_IMODE((platform.home / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(platform.home.stat().st_mode) == 0o700
    for file in [*platform.home.rglob("*.log"), *(platform.lake / "run" / "streams").rglob("*")]:
        if file.is_file():
            text = file.read_text("utf-8", "replace")
            assert not [one for one in secrets if one in text], f"{file} holds a secret"
    for line in platform.processes():
        assert not [one for one in secrets if one in line], "a command line holds a secret"
    for dag in (*SCHEDULED, "bronze_events"):
        run = platform.runs(dag)[0]["dag_run_id"]
        found = json.dumps(platform.get(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances"))
        assert not [one for one in secrets if one in found]


def test_who_may_do_what(platform: Platform) -> None:
    form = {"logical_date": None, "conf": {"dry_run": True}}
    path = "/api/v2/dags/backfill_events/dagRuns"
    assert platform.ask("GET", "/api/v2/dags", user=None)[0] == 401
    assert platform.ask("POST", path, form, user=None)[0] == 401
    assert platform.ask("GET", "/api/v2/dags", user="viewer")[0] == 200
    assert platform.ask("POST", path, form, user="viewer")[0] == 403
    assert platform.ask("PATCH", "/api/v2/dags/bronze_events", {"is_paused": True}, user="viewer")[0] == 403
    for dag, (good, _fields) in FORMS.items():
        form = {"logical_date": None, "conf": {**good, "dry_run": True}}
        assert platform.ask("POST", f"/api/v2/dags/{dag}/dagRuns", form, user="viewer")[0] == 403
    assert platform.ask("POST", "/auth/token", {"username": "admin", "password": "admin"}, user=None)[0] == 401
    assert {run["run_type"] for dag in FORMS for run in platform.runs(dag)} == {"scheduled"}, "maintenance by itself"


def silver_runs(platform: Platform) -> list[dict[str, Any]]:
    return [run for run in platform.runs("silver_events") if (run["state"], run["run_type"]) == SUCCEEDED]


def test_in_a_browser_a_person_logs_in_fills_the_form_and_sees_the_backfill_succeed(
    platform: Platform, browser: Browser
) -> None:
    pause(platform, True, "gold_events")  # what comes now is done by people, and needs the machine
    browser.log_in("admin", platform.passwords()["admin"])
    browser.show("dags", "/dags", "bronze_events", "silver_events", "gold_events", "backfill_events", "reconcile")
    browser.show("stream", f"/dags/bronze_events/runs/{stream_run(platform)}/tasks/stream", "records,")
    silver = soon(lambda: silver_runs(platform), "a run of silver for new data succeeds", 420)[-1]["dag_run_id"]
    pause(platform, True, "silver_events")
    browser.fill_backfill("events", "2026/01/01")
    run = soon(lambda: platform.runs("backfill_events"), "the form started a run")[0]
    assert run["conf"]["dry_run"] is True
    assert str(run["conf"]["since"]).startswith("2026-01-01T00:00")
    soon(lambda: platform.runs("backfill_events")[0]["state"] == "success", "the backfill ended", 300)
    assert platform.task("backfill_events", run["dag_run_id"], "recover")["state"] == "success"
    assert platform.task("backfill_events", run["dag_run_id"], "silver")["state"] == "skipped"
    browser.show("backfill", f"/dags/backfill_events/runs/{run['dag_run_id']}", "recover", "success")
    browser.show("gate", f"/dags/silver_events/runs/{silver}/tasks/build", "amounts are sane")


def test_in_a_browser_a_person_sees_the_plan_of_a_replay_approves_it_and_the_letters_are_in_bronze(
    platform: Platform, browser: Browser
) -> None:
    drop(platform, "by-hand", *[{"channel": "app"}] * 3, {STRANGE: 1})
    soon(lambda: places(platform, "by-hand") == {"bronze": 0, "open": 4}, "the stream writes four letters")
    know_field(platform, "channel")
    browser.log_in("admin", platform.passwords()["admin"])
    browser.fill_replay("events", "unknown_field")
    run = soon(lambda: platform.runs("replay_dead_letters"), "the form started a run")[0]["dag_run_id"]
    is_asked(platform, "replay_dead_letters", run)
    assert answer(platform, "replay_dead_letters", run, "Approve", user="viewer") == 403
    subject, plan = "Replay dead letters of events?", "3 would pass, 1 would not"
    browser.decide("Approve", subject, plan, STRANGE, picture="approval")
    assert ends(platform, "replay_dead_letters", run, "replay") == "success"
    assert places(platform, "by-hand") == {"bronze": 3, "open": 1, "replayed": 3}
    reconciles(platform)


def test_a_replay_is_undone_once_somebody_approves_and_its_rows_leave_bronze(platform: Platform) -> None:
    replay, why = dlq_runs(platform)[0]["run"], "; ".join(HOSTILE)
    run = trigger(platform, "undo_replay", run=replay, because=why)
    is_asked(platform, "undo_replay", run)
    assert answer(platform, "undo_replay", run, "Approve") == 200
    assert ends(platform, "undo_replay", run, "undo", 180) == "success"
    assert places(platform, "by-hand") == {"bronze": 0, "open": 4}
    assert dlq_runs(platform)[0]["because"] == why, "it is kept as it was typed, and nobody has read it"
    assert not Path("/tmp/smelter-was-here").exists()
    reconciles(platform)


def runs_of_forms(platform: Platform) -> list[int]:
    return [len(platform.runs(dag)) for dag in FORMS]


def refuses(platform: Platform, forms: list[tuple[str, dict[str, Any]]]) -> None:
    """No task runs by now: beside its heartbeat, many requests may lock Airflow 3.3.2 up for a minute on SQLite."""
    before = runs_of_forms(platform)
    for dag, form in forms:
        status, _answer = platform.ask("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": form})
        assert status == 400, f"{dag} took {form}"
    assert runs_of_forms(platform) == before


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_answer_to_a_form_is_refused(platform: Platform, text: str) -> None:
    refuses(platform, [(dag, {**good, field: text}) for dag, (good, fields) in FORMS.items() for field in fields])
    refuses(platform, [("maintenance", {field: [text]}) for field in ("tables", "steps")])
    assert not Path("/tmp/smelter-was-here").exists()


def test_a_form_refuses_what_is_missing_and_a_reason_that_cannot_be_seen(platform: Platform) -> None:
    refuses(platform, [(dag, {}) for dag in ("replay_dead_letters", "undo_replay", "rollback_table", "forget_person")])
    refuses(platform, [("undo_replay", {"run": SOME_RUN, "because": text}) for text in UNSEEN])
    refuses(platform, [("forget_person", {"dataset": "events", "where": text * 6}) for text in UNSEEN])


def test_airflow_is_killed_all_at_once_and_the_stream_goes_on_in_the_same_driver(platform: Platform) -> None:
    run = settled(platform)
    with never_two_drivers(platform):
        for name in COMPONENTS:
            kill(platform.component(name))
        goes_on(platform)
        soon(platform.is_healthy, "Airflow is back", 180)
        assert settled(platform) == run
    soon(lambda: not platform.left_workers(), "the workers of the killed scheduler are gone")
    reconciles(platform)


def test_the_driver_is_killed_and_another_goes_on(platform: Platform) -> None:
    run = settled(platform)
    (pid,) = drivers_of(platform.lake)
    with never_two_drivers(platform):
        kill(pid)
        another(platform, run)
    reconciles(platform)


def test_stopped_by_hand_it_stays_stopped_whatever_airflow_does_until_it_is_started(platform: Platform) -> None:
    settled(platform)
    with never_two_drivers(platform):
        platform.smelt("stream", "stop", "events", "--reason", "the disk is being changed")
        time.sleep(15)
        assert drivers_of(platform.lake) == []
        platform.smelt("stream", "start", "events")
        goes_on(platform)
        settled(platform)
    reconciles(platform)
