"""What the keeper starts: Airflow's four components, and the producer of sample records."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import Unreachable

API_SERVER, SCHEDULER, DAG_PROCESSOR, TRIGGERER = "api-server", "scheduler", "dag-processor", "triggerer"
SAMPLE = "sample"
# The producer first, then who watches the streams, then who would start them again, and last whom the others talk to.
STOP_ORDER = (SAMPLE, TRIGGERER, SCHEDULER, DAG_PROCESSOR, API_SERVER)
SAMPLE_RATE = 20
_SAMPLE_SECONDS = 86_400  # the producer remembers every file that it wrote: a new one begins each day
_FAULTS = {"missing": "1%", "garbage": "1%", "duplicate": "2%", "late": "1%", "out-of-order": "1%"}


@dataclass(frozen=True)
class Component:
    """One process that is kept running; `after_port`: it is started when the API server listens."""

    name: str
    words: tuple[str, ...]
    after_port: bool = False


@dataclass(frozen=True)
class Plan:
    """What one keeper keeps: the database's maker, the components in the order of their start, and the sample."""

    port: int
    dags: Path
    migrate: tuple[str, ...]
    version: str
    components: tuple[Component, ...]
    sample: Callable[[], Component]


def airflow_plan(port: int, dags: Path) -> Plan:
    """The whole platform, by the programs that lie beside this Python."""
    airflow = _airflow()
    return Plan(
        port=port,
        dags=dags,
        migrate=(*airflow, "db", "migrate"),
        version=_airflow_version(),
        components=(
            Component(API_SERVER, (*airflow, "api-server")),
            Component(DAG_PROCESSOR, (*airflow, "dag-processor")),
            # Their log servers would listen on every address of the machine; the API server reads the files itself.
            Component(SCHEDULER, (*airflow, "scheduler", "--skip-serve-logs"), after_port=True),
            Component(TRIGGERER, (*airflow, "triggerer", "--skip-serve-logs"), after_port=True),
        ),
        sample=sample_component,
    )


def sample_component() -> Component:
    """Events of now, twenty a second, some of them spoilt: the clock of the records starts with the process."""
    start = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 5))
    words = [*_beside("smelt"), "produce", "events", "--rate", SAMPLE_RATE, "--records-per-file", 2 * SAMPLE_RATE]
    words += ["--count", SAMPLE_RATE * _SAMPLE_SECONDS, "--start", start]
    words += [word for fault, rate in _FAULTS.items() for word in (f"--{fault}", rate)]
    return Component(SAMPLE, tuple(map(str, words)))


def _airflow() -> tuple[str, str]:
    return _beside("airflow")


def _beside(program: str) -> tuple[str, str]:
    """A program of this Python's environment, run by this Python: a first line may be too long for the kernel."""
    path = Path(sys.executable).parent / program
    if not path.exists():
        raise Unreachable(f"there is no {path}", data="nothing was started", next_step="make setup")
    return sys.executable, str(path)


def _airflow_version() -> str:
    from importlib import metadata

    return metadata.version("apache-airflow")
