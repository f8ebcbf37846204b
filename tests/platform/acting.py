"""What people and programs do to the platform, and how to see what became of it."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

from platforms import Platform, soon

from smelter.errors import SmelterError

_READING_SECONDS = 15


def rows(platform: Platform) -> dict[str, int]:
    """How many each of the tables has; nothing before all of them are there."""
    counts = " union all ".join(
        f"select '{table}', count(*) from {table}"
        for table in ("bronze.events", "silver.events", "gold.sessions", "dead_letters.events")
    )
    try:
        return dict(platform.answers(counts))
    except SmelterError:
        return {}


def is_green(platform: Platform, dag: str) -> bool:
    runs = [run["state"] for run in platform.runs(dag)]
    assert "failed" not in runs, f"{dag} failed"
    return "success" in runs


def stream_run(platform: Platform) -> str:
    """The DAG run that keeps the stream."""
    running = soon(lambda: [run for run in platform.runs("bronze_events") if run["state"] == "running"], "a run")
    return str(running[0]["dag_run_id"])


def is_deferred(platform: Platform) -> bool:
    running = [run["dag_run_id"] for run in platform.runs("bronze_events") if run["state"] == "running"]
    return any(platform.task("bronze_events", run, "stream").get("state") == "deferred" for run in running)


def settled(platform: Platform) -> str:
    """Wait until a driver works and its task is deferred; which life of it."""
    soon(lambda: is_deferred(platform), "the task watches from the triggerer", 180)
    return str(soon(lambda: alive(platform), "a driver works")["run"])


def alive(platform: Platform) -> dict[str, Any] | None:
    """How the driver stands, if it is at work."""
    found = platform.standing()
    return found if found["alive"] and found["state"] in ("waiting", "working") else None


def another(platform: Platform, run: str) -> None:
    """Wait for a driver that is not this life of it, and for what it commits; says how long that took."""
    began = time.monotonic()
    soon(lambda: (one := alive(platform)) and one["run"] != run, "another driver", 180)
    print(f"another driver works after {time.monotonic() - began:.0f} s")
    goes_on(platform)


def reconciles(platform: Platform) -> None:
    """Nothing is lost or doubled."""
    said = platform.smelt("reconcile").stdout
    assert "each in exactly one place" in said, said


def committed(platform: Platform) -> Any:
    return platform.standing()["token"]


def goes_on(platform: Platform) -> None:
    before = committed(platform)
    soon(lambda: committed(platform) != before, "the stream commits")


def mark(platform: Platform, state: str) -> None:
    run = stream_run(platform)
    path = f"/api/v2/dags/bronze_events/dagRuns/{run}/taskInstances/stream"
    status, answer = platform.ask("PATCH", path, {"new_state": state})
    assert status == 200, answer


def clear(platform: Platform) -> None:
    body = {"dry_run": False, "task_ids": ["stream"], "dag_run_id": stream_run(platform), "only_failed": False}
    status, answer = platform.ask("POST", "/api/v2/dags/bronze_events/clearTaskInstances", body)
    assert status == 200, answer


def pause(platform: Platform, is_paused: bool, dag: str = "bronze_events") -> None:
    status, answer = platform.ask("PATCH", f"/api/v2/dags/{dag}", {"is_paused": is_paused})
    assert status == 200, answer


def trigger(platform: Platform, dag: str, **form: Any) -> str:
    """Fill in the form of a DAG over the API; the run that began."""
    status, answer = platform.ask("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": form})
    assert status == 200, answer
    return str(answer["dag_run_id"])


def ends(platform: Platform, dag: str, run: str, task: str, seconds: float = 120) -> str:
    """Wait until a task has ended; how."""
    over = ("success", "failed", "skipped", "upstream_failed")
    try:
        found = soon(
            lambda: (state := platform.task(dag, run, task).get("state")) in over and state, f"{task} ends", seconds
        )
    except AssertionError as problem:
        raise AssertionError(f"{problem}; the tasks of {dag} are {states(platform, dag, run)}") from None
    return str(found)


def states(platform: Platform, dag: str, run: str) -> dict[str, str]:
    """How each task of a run stands, and at which attempt."""
    found = platform.get(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances") or {"task_instances": []}
    return {one["task_id"]: f"{one['state']} ({one['try_number']})" for one in found["task_instances"]}


def is_asked(platform: Platform, dag: str, run: str) -> None:
    """Wait until a person is asked, and has read it: Airflow 3.3.2 may take a task that is answered within seconds of
    its question for failed, and asks again."""
    soon(lambda: platform.task(dag, run, "approve").get("state") == "awaiting_input", "a person is asked")
    time.sleep(_READING_SECONDS)


def answer(platform: Platform, dag: str, run: str, option: str, user: str = "admin") -> int:
    """Answer over the API; the status."""
    path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails"
    return platform.ask("PATCH", path, {"chosen_options": [option]}, user=user)[0]


def drop(platform: Platform, name: str, *more: dict[str, Any]) -> None:
    """Put a file into the landing folder: one good page view for each, with these fields beside its own."""
    now = datetime.now(UTC).isoformat()
    good = {"user_id": "user-1", "event_timestamp": now, "event_type": "page_view"}
    lines = [json.dumps({**good, "event_id": f"{name}-{number}", **one}) for number, one in enumerate(more)]
    place = platform.lake / "landing" / "events"
    (place / f".{name}").write_text("\n".join(lines))
    (place / f".{name}").rename(place / f"{name}.jsonl")


def know_field(platform: Platform, name: str) -> None:
    """The next version of the contract knows one more field, and is active."""
    file = platform.contracts / "events.yaml"
    text = file.read_text("utf-8").replace("version: 1", "version: 2")
    file.write_text(text.replace("fields:\n", f"fields:\n  {name}: {{type: string}}\n"), "utf-8")
    platform.smelt("contract", "apply", "events")


def places(platform: Platform, name: str) -> dict[str, int]:
    """Where the records of the file of this name are: in bronze, or letters, by what became of these."""
    where = f"where _source like '%/{name}.jsonl'"
    bronze = f"select 'bronze' as place, count(*) as n from bronze.events {where}"
    letters = f"select status as place, count(*) as n from dead_letters.events {where} group by all"
    return dict(platform.answers(f"{bronze} union all {letters}"))


def dlq_runs(platform: Platform) -> list[dict[str, Any]]:
    """What was done to dead letters, the newest first."""
    return list(json.loads(platform.smelt("dlq", "runs", "events", "--json").stdout))


def mapped(platform: Platform, dag: str, run: str) -> dict[str, str]:
    """Tasks of which there is one for each of something: how each ended, by the name that the grid shows."""
    found = platform.get(f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances")["task_instances"]
    return {one["rendered_map_index"]: one["state"] for one in found if one["map_index"] >= 0}
