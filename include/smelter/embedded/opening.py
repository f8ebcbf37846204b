"""What is done once Airflow answers: pools are made, DAGs waited for and, at the first start, un-paused."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from smelter.embedded.api import Airflow, Dag, ImportProblem
from smelter.embedded.configuration import ADMIN
from smelter.embedded.home import Home
from smelter.embedded.standing import Standing
from smelter.embedded.stopping import Say
from smelter.errors import Unreachable

SPARK_POOL, STREAMS_POOL = "spark", "streams"
STREAM_SLOTS = 16
PLATFORM_TAG = "platform"
PARSED_SECONDS = 90.0
SETTLED_SECONDS = 20.0
# A build's JVM has up to 4 GiB of heap, and beside it Spark's own memory and a Python: 6 GiB are counted for each.
_BUILD_GIB = 6
_BUILD_CORES = 2  # it uses all cores: a second one beside it is worth its memory only where there are more
_MOST_BUILDS = 2
_POLL_SECONDS = 0.3


def enter(home: Home, standing: Standing) -> Airflow:
    """Log in as the administrator, with the password that lies in the home."""
    passwords = json.loads(home.passwords.read_text("utf-8"))
    return Airflow(standing.port, ADMIN, passwords[ADMIN])


def ensure_pools(airflow: Airflow) -> list[str]:
    """Make the pools that are not there; one that a person has changed stays as it is."""
    known, made = airflow.pools(), []
    if SPARK_POOL not in known:
        airflow.make_pool(SPARK_POOL, build_slots(), "Spark builds at a time on this machine", with_deferred=False)
        made.append(f"{SPARK_POOL} {build_slots()}")
    if STREAMS_POOL not in known:
        airflow.make_pool(STREAMS_POOL, STREAM_SLOTS, "Streams that are being started at a time", with_deferred=False)
        made.append(f"{STREAMS_POOL} {STREAM_SLOTS}")
    return made


def build_slots(memory_gib: int | None = None, cores: int | None = None) -> int:
    """How many Spark builds fit this machine at a time."""
    memory_gib = memory_gib or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024**3
    cores = cores or len(os.sched_getaffinity(0))
    return max(1, min(_MOST_BUILDS, memory_gib // _BUILD_GIB, cores // _BUILD_CORES))


def open_dags(home: Home, airflow: Airflow, datasets: Sequence[str], *, explicit: bool) -> int:
    """Un-pause what is due: at the first start the chosen datasets and the platform, later what is named; how many."""
    is_first = not home.opened.exists()
    if not is_first and not explicit:
        return 0
    tags = (*datasets, PLATFORM_TAG) if is_first else tuple(datasets)
    paused = [dag for dag in airflow.dags(*tags) if dag.is_paused and _is_meant(dag, datasets)]
    for dag in paused:
        airflow.unpause(dag.dag_id)
    home.opened.touch()
    return len(paused)


def wait_for_dags(
    airflow: Airflow, standing: Standing, dags: Path, datasets: Sequence[str], say: Say
) -> list[ImportProblem]:
    """Wait until every file has been parsed since the start, and every chosen dataset has a DAG; tells the bad files.

    A file that holds no DAG is never heard of: after some seconds without anything new it is not waited for.
    """
    began = changed = time.monotonic()
    files, parsed = {str(file.relative_to(dags)) for file in dags.rglob("*.py")}, set[str]()
    tags = tuple(datasets) or (PLATFORM_TAG,)
    while True:
        fresh = [dag for dag in airflow.dags() if dag.parsed_at >= standing.since]
        problems = [one for one in airflow.import_problems() if one.at >= standing.since]
        now, heard = time.monotonic(), {dag.file for dag in fresh} | {problem.file for problem in problems}
        changed, parsed = (now, heard) if heard - parsed else (changed, parsed)
        missing = [tag for tag in tags if not any(tag in dag.tags for dag in fresh)]
        is_settled = files <= parsed or now - changed > SETTLED_SECONDS
        if is_settled and not missing:
            say(f"{len(fresh)} DAGs parsed", now - began)
            return problems
        if (is_settled and problems) or now - began > PARSED_SECONDS:
            raise _not_parsed(dags, missing, problems)
        time.sleep(_POLL_SECONDS)


def followed(airflow: Airflow, datasets: Sequence[str]) -> list[str]:
    """The datasets whose streams are not paused."""
    dags = {dag.dag_id: dag for dag in airflow.dags(*datasets)} if datasets else {}
    return [dataset for dataset in datasets if _is_open(dags.get(f"bronze_{dataset}"))]


def _is_meant(dag: Dag, datasets: Sequence[str]) -> bool:
    """A dataset may be called `silver`, and then its name is the tag of others too."""
    return PLATFORM_TAG in dag.tags or any(dag.dag_id.endswith(f"_{dataset}") for dataset in datasets)


def _is_open(dag: Dag | None) -> bool:
    return dag is not None and not dag.is_paused


def _not_parsed(dags: Path, missing: Sequence[str], problems: Sequence[ImportProblem]) -> Unreachable:
    names = ", ".join(missing)
    if problems:
        what = f"Airflow cannot read the DAGs of {names}: {problems[0].text}"
        where = ", ".join(str(dags / problem.file) for problem in problems)
    else:
        what, where = f"Airflow found no DAG with the tag {names} within {PARSED_SECONDS:.0f} s", str(dags)
    return Unreachable(
        what,
        where=where,
        data="Airflow is running, and nothing was un-paused",
        next_step="mend the file and run smelt up again, or smelt down",
    )
