"""Which command is a driver, and where is it started: by us, or by the server of this lake?"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from smelter.run_folders import airflow_home, stream_folder
from smelter.supervise.driver import START_SECONDS, Driver, Launch, start
from smelter.supervise.serve import ask_to_start


def ensure_driver(
    lake: Path, dataset: str, *, served: bool, by: str, patience_seconds: float = START_SECONDS
) -> Driver:
    """Start the dataset's driver where it is to live, or find it; never a second one."""
    folder = stream_folder(lake, dataset)
    if served:
        return ask_to_start(lake, dataset, by, patience_seconds)
    return start(folder, dataset, launch_of(lake, dataset), patience_seconds)


def launch_of(lake: Path, dataset: str) -> Launch:
    """The command of a driver, a list of our own words; it belongs to the lake's platform, whoever starts it."""
    environment = {**environment_of(os.environ), "AIRFLOW_HOME": str(airflow_home(lake))}
    return Launch([*smelt(lake), "ingest", dataset, "--follow"], environment)


def smelt(lake: Path) -> list[str]:
    """The command of this installation, on one lake."""
    return [str(Path(sys.executable).with_name("smelt")), "--lake", str(lake)]


def environment_of(caller: Mapping[str, str]) -> dict[str, str]:
    """What our commands get of their caller's environment: nothing of Airflow's configuration, which holds secrets."""
    unwanted = ("AIRFLOW__", "_AIRFLOW_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in caller.items() if not name.startswith(unwanted)}
