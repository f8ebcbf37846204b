"""Airflow's own memory: old rows of its database and old log files. Safe to kill and to repeat: it only removes."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowException

_HIDDEN = "airflow-db-not-allowed:"
_log = logging.getLogger(__name__)


def clean_database(keep_days: int) -> None:
    """Remove rows about what ended before; by Airflow's own command, since a task has no way into the database."""
    before = (datetime.now(UTC) - timedelta(days=keep_days)).isoformat()
    # Airflow hides its database from tasks by such variables; without them, its settings file names it.
    environment = {name: value for name, value in os.environ.items() if not value.startswith(_HIDDEN)}
    airflow = str(Path(sys.executable).with_name("airflow"))
    words = [airflow, "db", "clean", "--clean-before-timestamp", before, "--skip-archive", "--yes"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines()[-30:]:
        _log.info("%s", line)
    if done.returncode != 0:
        raise AirflowException(f"airflow db clean ended with {done.returncode}:\n{done.stderr[-2000:]}")


def clean_logs(keep_days: int) -> int:
    """Remove log files that nobody has written to since; how many."""
    folder = Path(str(conf.get("logging", "base_log_folder")))
    removed = remove_older(folder, time.time() - keep_days * 86_400)
    _log.info("%s: %s files removed", folder, removed)
    return removed


def remove_older(folder: Path, before: float) -> int:
    """Remove files last written before the moment, then folders that this left empty; links are not followed."""
    removed = 0
    for place, _folders, names in os.walk(folder, topdown=False):
        for name in names:
            file = Path(place) / name
            if not file.is_symlink() and file.stat().st_mtime < before:
                file.unlink(missing_ok=True)
                removed += 1
        if Path(place) != folder and not any(Path(place).iterdir()):
            Path(place).rmdir()
    return removed
