"""Where do processes leave word for each other? Folders of the lake that more than one room knows."""

from __future__ import annotations

from pathlib import Path

RUN = "run"


def stream_folder(lake: Path, stream: str) -> Path:
    """Where a stream's driver keeps its lock, heartbeat, requests and logs."""
    return lake / RUN / "streams" / stream


def server_folder(lake: Path) -> Path:
    """Where the server of the lake's streams keeps its lock."""
    return lake / RUN / "server"


def airflow_home(lake: Path) -> Path:
    """Where the lake's own Airflow lives; whatever is started with it as AIRFLOW_HOME ends with `smelt down`."""
    return lake / RUN / "airflow"
