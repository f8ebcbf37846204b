"""Every fault that a round can meet, by name; the order is that of a run."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from smelter.errors import WrongUsage
from smelter.prove import care, contracts, disks, files, kills, losses, stops
from smelter.prove.scene import Scene

Strike = Callable[[Sequence[Scene]], None]


@dataclass(frozen=True)
class Point:
    """One fault; several of those that share their strike may be struck at once."""

    name: str
    about: str
    strike: Strike
    together: bool = False


_KILLED = {
    "offsets_written": "Spark has written down which files the batch has, and nobody else has",
    "planned": "the batch's files are written down, and none is read",
    "judged": "all its data files are written, and nothing tells of them",
    "prepared": "its intent is written down, and nothing is committed",
    "between_commits": "its dead letters are committed, and bronze is not",
    "committed": "both tables have it, and its receipts are not written",
    "done": "its receipts are written, and Spark does not know that it is finished",
}

POINTS: tuple[Point, ...] = (
    *(
        Point(f"kill_at_{name}", f"kill -9 of the driver when {about}", kills.kill_at_their_points, together=True)
        for name, about in _KILLED.items()
    ),
    Point("kill_in_task", "kill -9 while a task has a data file half written", kills.kill_at_their_points, True),
    Point("kill_worker", "kill -9 of the Python worker of a task; the driver survives", kills.kill_worker),
    Point("kill_jvm", "kill -9 of the JVM alone, at a random point of a batch", kills.kill_jvm),
    Point(
        "kill_at_random", "kill -9 of a following driver at random moments, while files arrive", kills.kill_at_random
    ),
    Point("kill_in_restart", "a crash, and kill -9 of the driver that finishes its batch", kills.kill_in_restart),
    Point("stop_in_batch", "SIGTERM in mid-batch, once or twice", stops.stop_in_batch),
    Point("two_drivers", "a driver that sleeps and has lost its lock, while a second one works", stops.two_drivers),
    Point(
        "care_after_crash", "somebody compacts and expires all tables between crash and restart", care.care_after_crash
    ),
    Point("care_beside_stream", "somebody compacts and expires beside a stream that commits", care.care_beside_stream),
    Point("lose_last_commit", "the last entry of Spark's commit log is lost or cut off", losses.lose_entry),
    Point("lose_last_offsets", "the last entry of Spark's offset log is lost or cut off", losses.lose_entry),
    Point("lose_file_list", "a list of files in Spark's checkpoint is lost or cut off", losses.lose_entry),
    Point("lose_checkpoint_id", "the checkpoint's own name is lost or spoiled", losses.lose_checkpoint_id),
    Point("lose_checkpoint", "the whole checkpoint is lost", losses.lose_checkpoint),
    Point("lose_receipts", "records of batches are lost: refused, then recovered", losses.lose_receipts),
    Point("lose_prepared_data", "data files of a prepared batch are lost: read again", losses.lose_prepared_data),
    Point(
        "lose_half_committed_data",
        "a batch is in one table and its data files for the other are lost: refused, then recovered",
        losses.lose_half_committed_data,
    ),
    Point("full_disk_tables", "no room for data files or metadata of a table", disks.fill_disks, True),
    Point("full_disk_checkpoint", "no room for Spark's checkpoint", disks.fill_disks, True),
    Point("full_disk_receipts", "no room for the records of batches", disks.fill_disks, True),
    Point("file_replaced", "another file takes the name of one that is being read", files.change_file),
    Point("file_overwritten", "a file is written over while it is read", files.change_file),
    Point("file_cut", "a file is cut while it is read", files.change_file),
    Point("file_appended", "a file grows while it is read", files.change_file),
    Point("file_deleted", "a file is deleted while it is read", files.change_file),
    Point(
        "contract_changed_between_crash_and_restart",
        "a new contract becomes active before a batch that was not prepared is judged again",
        contracts.change_after_crash,
    ),
    Point(
        "contract_changed_beside_prepared_batch",
        "a new contract becomes active after a batch was prepared, and before it is finished",
        contracts.change_beside_prepared,
    ),
    Point(
        "contract_changed_while_following",
        "a new contract becomes active while the stream runs; its query goes on",
        contracts.change_while_following,
    ),
    Point("catalog_locked", "somebody has the catalog to himself for a while", losses.lock_catalog),
)


def point_named(name: str) -> Point:
    """The point of that name; a wrong one is refused with the nearest."""
    found = {point.name: point for point in POINTS}
    if name not in found:
        near = difflib.get_close_matches(name.lower(), found, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise WrongUsage(f"there is no point `{name}`{hint}", next_step="smelt prove --list")
    return found[name]
