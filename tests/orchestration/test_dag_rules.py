"""The rules of a DAG. Each message says how to comply."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import DAGS, PLATFORM, PROJECT, each, parse, waits_for_a_person

POOLS = {"spark", "streams"}
KINDS = ("bronze", "silver", "gold", "backfill")


def tasks(found: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(name, task_id, task) for name, dag in each(found) for task_id, task in dag["tasks"].items()]


def test_every_file_of_dags_gives_at_least_one_dag(found: dict[str, Any]) -> None:
    assert found["errors"] == {}, "a DAG file cannot be imported: see the message"
    given = {dag["file"] for _name, dag in each(found)}
    for file in sorted(path.name for path in DAGS.glob("*.py")):
        assert file in given, (
            f"dags/{file} gives no DAG. Airflow reads only files that hold the words `dag` and `airflow`: "
            "make the DAG with a_dag() and name Airflow in the runbook"
        )


def test_there_is_a_set_of_dags_per_contract_and_the_platforms_own(found: dict[str, Any]) -> None:
    wanted = {f"{kind}_{name}" for kind in KINDS for name in ("events", "taxi_trips")}
    wanted |= {"bronze_hourly", "backfill_hourly", *PLATFORM}
    assert set(found["dags"]) == wanted


def test_dags_import_without_spark_catalog_and_quality(tmp_path: Path) -> None:
    absent = ("pyspark", "pyiceberg", "great_expectations", "duckdb", "pyarrow", "pandas", "numpy", "boto3")
    found = parse(DAGS, tmp_path, {"SMELTER_LAKE": str(tmp_path / "lake")}, "no", *absent)
    assert found["errors"] == {}, "a DAG imports something heavy: tasks call the `smelt` command instead"
    assert found["dags"]
    assert not (tmp_path / "lake").exists(), "parsing a DAG makes nothing: a timetable only reads"


def test_parsing_imports_nothing_heavy(found: dict[str, Any]) -> None:
    assert found["heavy"] == [], f"parsing imports {found['heavy']}: import them inside the command that a task calls"


def test_a_dag_file_imports_airflows_sdk_and_the_orchestration_room_only() -> None:
    for file in DAGS.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                is_allowed = name.startswith(("airflow.sdk", "smelter.orchestration")) or name in {
                    "__future__",
                    "datetime",
                    "functools",
                    "itertools",
                }
                assert is_allowed, f"dags/{file.name} imports {name}: a DAG is a timetable; put it into orchestration/"


def test_a_start_date_lies_in_the_past(found: dict[str, Any]) -> None:
    for name, dag in each(found):
        assert dag["start"], f"{name} has no start_date: a @continuous DAG then runs once and never again; use a_dag()"
        is_past = datetime.fromisoformat(dag["start"]) < datetime.now(UTC)
        assert is_past, f"{name} starts in the future: take factory.START_DATE, which a_dag() does"
        assert dag["catchup"] is False, (
            f"{name} catches up: what was missed is in the lake, not in old runs; use a_dag()"
        )


def test_one_run_at_a_time_but_for_those_that_wait_for_a_person(found: dict[str, Any]) -> None:
    for name, dag in each(found):
        if waits_for_a_person(dag):
            assert dag["max_active_runs"] > 1, (
                f"{name} waits for a person, and would keep all others waiting: max_active_runs=RUNS_THAT_WAIT"
            )
        else:
            assert dag["max_active_runs"] == 1, (
                f"{name} may run twice at once: tables have one writer each; use a_dag()"
            )


def test_a_stream_has_no_timeout_and_pauses_itself_after_repeated_failure(found: dict[str, Any]) -> None:
    streams = [(name, dag) for name, dag in each(found) if "stream" in dag["tasks"]]
    assert [name for name, _dag in streams] == ["bronze_events", "bronze_taxi_trips"]
    for name, dag in streams:
        task = dag["tasks"]["stream"]
        assert dag["schedule"] == "ContinuousTimetable", f"{name} must be @continuous: a stream has no timetable"
        assert (task["timeout"], dag["timeout"]) == (None, None), (
            f"{name}: a stream runs for weeks; take the timeout away"
        )
        assert task["pool"] == "streams", (
            f"{name}: a stream that restarts must not wait behind builds; pool=STREAMS_POOL"
        )
        assert task["retries"] >= 3, f"{name}: a driver may die; give it retries"
        assert 1 <= dag["most_failures"] <= 5, (
            f"{name}: set max_consecutive_failed_dag_runs, so that it does not fail for ever"
        )


def test_every_task_has_owner_pool_retries_backoff_and_a_notice(found: dict[str, Any]) -> None:
    for name, task_id, task in tasks(found):
        where = f"{name}.{task_id}"
        assert task["owner"] == "smelter", f"{where}: make the DAG with a_dag(), which names the owner"
        assert task["pool"] in POOLS, (
            f"{where}: pool {task['pool']} is not made by `smelt up`; take one of {sorted(POOLS)}"
        )
        assert task["retries"] >= 1, f"{where}: a busy machine is no failure; give it retries"
        assert task["backoff"] > 1, f"{where}: retries without growing pauses hammer what is broken; use a_dag()"
        assert task["notice"], f"{where}: nobody is told when it fails; use a_dag()"
        assert task["templates"] == [] or task["kind"].startswith("_Python"), (
            f"{where}: template fields are shown in the UI and rendered; pass words as a list instead"
        )


def test_every_dag_has_a_runbook_tags_and_a_description(found: dict[str, Any]) -> None:
    for name, dag in each(found):
        for heading in ("### What it does", "### When it fails"):
            assert heading in dag["doc"], f"{name}: its file's docstring is the runbook, and needs `{heading}`"
        assert "{dataset}" not in dag["doc"] + dag["description"], f"{name}: pass dataset= to a_dag()"
        assert dag["description"], f"{name}: the first line of the docstring says what it is for"
        dataset = name.partition("_")[2] if name.startswith(tuple(f"{kind}_" for kind in KINDS)) else "platform"
        assert dataset in dag["tags"], f"{name}: tag it with its dataset, or with `platform`; a_dag() does"
        assert len(dag["tags"]) >= 2, f"{name}: one tag says what kind of work it is"


def test_every_night_each_dataset_is_replayed_and_then_retired(found: dict[str, Any]) -> None:
    tasks = found["dags"]["dead_letters"]["tasks"]
    wanted = {name: [] for name in ("replay_events", "replay_hourly", "replay_taxi_trips")}
    wanted |= {name.replace("replay", "retire"): [name] for name in wanted}
    assert {name: task["after"] for name, task in tasks.items()} == wanted


def test_no_two_dags_of_the_platform_start_in_the_same_minute_and_none_with_the_builds(found: dict[str, Any]) -> None:
    times = {name: dag["cron"].split() for name, dag in each(found) if name in PLATFORM and dag["cron"]}
    assert times.keys() == {"dead_letters", "housekeeping", "maintenance", "reconcile"}
    starts = [(minute, hour) for minute, hours, *_ in times.values() for hour in hours_of(hours)]
    assert len(set(starts)) == len(starts), f"they share a pool; take another time for one of {times}"
    assert int(times["maintenance"][0]) % 5, "builds start at minutes that people like; take one that they do not"


def hours_of(field: str) -> list[int]:
    return list(range(24)) if field == "*" else [int(field)]


def test_a_mapped_task_has_a_name_for_each_and_leaves_room_for_others(found: dict[str, Any]) -> None:
    mapped = [(name, task_id, task) for name, task_id, task in tasks(found) if task["is_mapped"]]
    assert [(name, task_id) for name, task_id, _task in mapped] == [("maintenance", "table")]
    for name, task_id, task in mapped:
        where = f"{name}.{task_id}"
        assert task["kind"] == "SmeltOperator", f"{where}: map SmeltOperator over about="
        assert task["name_of_each"] == "{{ task.about }}", f"{where}: map_index_template=ITS_NAME names it in the grid"
        assert task["most_at_a_time"] == 1, f"{where}: many of them would fill the pool; max_active_tis_per_dagrun=1"
        assert task["weight"] == [0, "absolute"], f"{where}: builds that wait go first; AFTER_BUILDS, absolute"


def test_what_runs_after_a_failure_does_not_hide_it(found: dict[str, Any]) -> None:
    after_all = [(name, task_id, task) for name, task_id, task in tasks(found) if task["rule"] == "all_done"]
    assert [(name, task_id) for name, task_id, _task in after_all] == [("maintenance", "lake")]
    for name, task_id, task in after_all:
        outcome = found["dags"][name]["tasks"].get("outcome", {"after": [], "rule": None})
        assert {task_id, *task["after"]} <= {*outcome["after"]}, (
            f"{name}.{task_id}: fails_with() it and those before it"
        )
        assert outcome["rule"] == "none_failed", f"{name}: fails_with() makes the outcome"


def test_ids_are_unique_over_all_files() -> None:
    made: dict[str, str] = {}
    for file in sorted(DAGS.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "a_dag":
                name = ast.unparse(node.args[0])
                assert made.get(name, file.name) == file.name, (
                    f"{name} is made in {made[name]} and {file.name}: take another"
                )
                made[name] = file.name
    assert len(made) >= 6


def test_a_contract_with_a_timetable_is_drained_and_has_no_stream(found: dict[str, Any]) -> None:
    dag = found["dags"]["bronze_hourly"]
    assert list(dag["tasks"]) == ["drain"]
    assert dag["schedule"] == "DeltaTriggerTimetable"


def test_silver_and_gold_follow_new_data_and_run_at_least_every_few_minutes(found: dict[str, Any]) -> None:
    for name in ("silver_events", "gold_events", "silver_taxi_trips", "gold_taxi_trips"):
        assert found["dags"][name]["schedule"] == "AssetOrTimeSchedule", f"{name}: schedule=every_minutes(asset)"


@pytest.mark.parametrize("text", ["dataset: broken\nversion: [", "dataset: broken\nversion: 1\nfields: {}\n"])
def test_a_contract_that_cannot_be_read_keeps_its_dags_and_harms_no_other(tmp_path: Path, text: str) -> None:
    contracts = tmp_path / "contracts"
    contracts.mkdir()
    (contracts / "broken.yaml").write_text(text)
    (contracts / "$(touch x).yaml").write_text(text)
    (contracts / "drained.yaml").write_text(f"source: {{files: x, every: 15m}}\n{text}")
    good = PROJECT / "include" / "contracts" / "events.yaml"
    (contracts / "events.yaml").write_text(good.read_text("utf-8"), "utf-8")
    found = parse(DAGS, tmp_path, {"SMELTER_CONTRACTS": str(contracts), "SMELTER_LAKE": str(tmp_path / "lake")})
    assert found["errors"] == {}
    assert {"bronze_broken", "backfill_broken", "bronze_events", "gold_events"} <= set(found["dags"])
    assert "The contract cannot be read" in found["dags"]["bronze_broken"]["doc"]
    assert not any("touch" in name for name in found["dags"])
    assert found["dags"]["replay_dead_letters"]["params"]["dataset"]["enum"] == ["broken", "drained", "events"]
    assert list(found["dags"]["bronze_drained"]["tasks"]) == ["drain"], "one with a timetable does not become a stream"


def test_ten_contracts_have_all_of_their_dags_and_import_nothing_heavy(tmp_path: Path) -> None:
    contracts = tmp_path / "contracts"
    contracts.mkdir()
    text = (PROJECT / "include" / "contracts" / "taxi_trips.yaml").read_text("utf-8")
    for number in range(10):
        name = f"trips_{number}"
        (contracts / f"{name}.yaml").write_text(text.replace("taxi_trips", name), "utf-8")
    found = parse(DAGS, tmp_path, {"SMELTER_CONTRACTS": str(contracts), "SMELTER_LAKE": str(tmp_path / "lake")})
    assert len(found["dags"]) == 3 * 10 + len(PLATFORM)
    print(f"ten contracts, {len(found['dags'])} DAGs: {found['cpu_seconds']:.2f} CPU-s")
    assert found["heavy"] == []
