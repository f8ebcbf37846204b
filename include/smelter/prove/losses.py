"""What somebody loses or spoils behind the stream's back: checkpoint, receipts, data files, the catalog."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from smelter.bronze.stream import Hooks
from smelter.errors import Refused
from smelter.lake import layout
from smelter.prove.kills import DRIVER_POINTS
from smelter.prove.scene import Scene, at

_LOGS = {"lose_last_commit": "commits", "lose_last_offsets": "offsets", "lose_file_list": "sources/0"}


def lose_entry(scenes: Sequence[Scene]) -> None:
    """One entry of the checkpoint is lost or cut off, in good order or after a crash."""
    (scene,) = scenes
    _go_or_crash(scene)
    log = scene.ground.lake.checkpoint(scene.name) / _LOGS[scene.point]
    entries = sorted((path for path in log.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
    entry = entries[-1] if scene.point != "lose_file_list" else scene.chance.choice(entries)
    kept = entry.read_bytes()
    entry.unlink()
    if scene.chance.random() < 0.7:
        entry.with_name(f".{entry.name}.crc").unlink(missing_ok=True)
    if scene.chance.random() < 0.3:  # what a power cut leaves
        entry.write_bytes(kept[: scene.chance.randrange(len(kept))])


def lose_checkpoint_id(scenes: Sequence[Scene]) -> None:
    """The checkpoint's own name is lost or spoiled."""
    (scene,) = scenes
    _go_or_crash(scene)
    metadata = scene.ground.lake.checkpoint(scene.name) / "metadata"
    metadata.unlink()
    metadata.with_name(".metadata.crc").unlink(missing_ok=True)
    if scene.chance.random() < 0.5:
        metadata.write_bytes(b"{")


def lose_checkpoint(scenes: Sequence[Scene]) -> None:
    """All that Spark remembers is lost."""
    (scene,) = scenes
    _go_or_crash(scene)
    shutil.rmtree(scene.ground.lake.checkpoint(scene.name))


def lose_receipts(scenes: Sequence[Scene]) -> None:
    """Records of batches are lost: a plain ingest must be refused and change nothing, a recovery is the way out."""
    (scene,) = scenes
    scene.two_waves()
    scene.drain()
    paths = sorted(scene.books.folder.glob("*.done.json"))
    lost = paths if scene.chance.random() < 0.5 else [scene.chance.choice(paths)]
    for path in lost:
        path.unlink()
    if scene.chance.random() < 0.5:
        shutil.rmtree(scene.ground.lake.checkpoint(scene.name))
    _must_be_refused(scene)
    scene.needs_recovery = True


def lose_prepared_data(scenes: Sequence[Scene]) -> None:
    """Data files of a batch that was prepared and not committed are removed: its sources are read again."""
    (scene,) = scenes
    for number in range(2):
        scene.arrive(f"{number}.json", scene.mine.file(good=3, bad=2))
    scene.crash_at("prepared")
    (intent,) = scene.books.prepared()
    for file in scene.chance.choice((intent.bronze, intent.letters, [*intent.bronze, *intent.letters])):
        Path(file.path).unlink()


def lose_half_committed_data(scenes: Sequence[Scene]) -> None:
    """A batch is in one table, and its data files for the other are removed: refused, then recovered."""
    (scene,) = scenes
    for number in range(2):
        scene.arrive(f"{number}.json", scene.mine.file(good=3, bad=2))
    scene.crash_at("between_commits")
    (intent,) = scene.books.prepared()
    Path(scene.chance.choice(intent.bronze).path).unlink()
    _must_be_refused(scene)
    scene.needs_recovery = True


def lock_catalog(scenes: Sequence[Scene]) -> None:
    """Somebody has the catalog to himself for a while, from a random point of a batch on."""
    (scene,) = scenes
    scene.two_waves()
    point, seconds = scene.chance.choice(DRIVER_POINTS), scene.chance.uniform(0.5, 2)
    holders: list[threading.Thread] = []

    def hold() -> None:
        begun = threading.Event()
        holders.append(threading.Thread(target=_hold, args=(scene.ground.lake.root / layout.CATALOG, seconds, begun)))
        holders[-1].start()
        begun.wait()

    scene.drain(Hooks(reach=at(point, scene.chance.choice((1, 2)), hold)))
    for holder in holders:
        holder.join()


def _hold(catalog: Path, seconds: float, begun: threading.Event) -> None:
    with closing(sqlite3.connect(catalog, timeout=60)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        begun.set()
        time.sleep(seconds)


def _go_or_crash(scene: Scene) -> None:
    """Two batches, of which the last is finished, or ends at a random point."""
    scene.two_waves()
    point = scene.chance.choice((None, *DRIVER_POINTS))
    if point is None:
        scene.drain()
    else:
        scene.crash_at(point, nth=2)


def _must_be_refused(scene: Scene) -> None:
    before = scene.account()
    try:
        scene.drain()
    except Refused as refusal:
        if "--recover" not in refusal.next_step:
            scene.wrong.append(f"the refusal does not name the way out: {refusal.next_step}")
    else:
        scene.wrong.append("an ingest over lost records was not refused")
    after = scene.account()
    if (before.bronze, before.dead_letters) != (after.bronze, after.dead_letters):
        scene.wrong.append("an ingest that was refused has changed a table")
