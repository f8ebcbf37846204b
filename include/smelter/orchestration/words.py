"""What a task's log says about a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from smelter.supervise.heartbeat import read_heartbeat
from smelter.supervise.requests import Wish
from smelter.supervise.standing import standing_of


def why_not_now(folder: Path) -> str | None:
    """Why no driver can be started now, in words; nothing if one can, or lives."""
    found = standing_of(folder)
    if found.wanted.wish is Wish.STOP:
        return str(found.wanted)
    if found.holder is not None and not found.is_alive:
        return f"held by a {found.holder.role}, pid {found.holder.pid}"
    return None


def progress_of(folder: Path) -> str:
    """One line: what the driver does, and how far it came."""
    found = standing_of(folder)
    beat = found.beat
    if beat is None:
        return found.condition.value
    note = f" ({beat.note})" if beat.note else ""
    waiting = "" if beat.waiting_files is None else f", {beat.waiting_files:,} files waiting"
    return (
        f"{found.condition.value}{note}: {beat.batches:,} batches, {beat.total_records:,} records, "
        f"{beat.total_accepted:,} in bronze, {beat.total_dead:,} in dead letters{waiting}"
    )


def mirror_of(folder: Path) -> dict[str, Any]:
    """The same for Airflow's task state store: a mirror, for people to look at; nothing is decided by it."""
    beat = read_heartbeat(folder)
    if beat is None:
        return {"state": standing_of(folder).condition.value}
    return {
        "state": standing_of(folder).condition.value,
        "run": beat.run,
        "pid": beat.pid,
        "batch": beat.batch,
        "token": beat.token,
        "batches": beat.batches,
        "records": beat.total_records,
        "accepted": beat.total_accepted,
        "dead": beat.total_dead,
        "waiting_files": beat.waiting_files,
        "spark_ui": beat.ui,
        "note": beat.note,
    }
