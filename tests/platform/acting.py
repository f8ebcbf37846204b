"""What people and programs do to the platform, and how to see what became of it."""

from __future__ import annotations

import json
import time
from typing import Any

from platforms import Platform, soon


def rows(platform: Platform) -> dict[str, int]:
    counts = " union all ".join(
        f"select '{table}' as t, count(*) as n from {table}"
        for table in ("bronze.events", "silver.events", "gold.sessions", "dead_letters.events")
    )
    done = platform.smelt("sql", counts, "--json", ok=False)
    return {row["t"]: row["n"] for row in json.loads(done.stdout)} if done.returncode == 0 else {}


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
