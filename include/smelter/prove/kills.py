"""kill -9: of a driver at each of its points, of a JVM, of a worker, at a random moment, and in the restart."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

from smelter.bronze.stream import Hooks
from smelter.errors import Unreachable
from smelter.prove.driver import IN_A_TASK, Order
from smelter.prove.ground import Ground
from smelter.prove.ore import Mine
from smelter.prove.scene import LONG_AGO, Scene

BEFORE_THE_INTENT = ("offsets_written", "planned", "judged", IN_A_TASK)
AFTER_THE_INTENT = ("prepared", "between_commits", "committed", "done")
DRIVER_POINTS = ("offsets_written", "planned", "judged", *AFTER_THE_INTENT)
_DRIVER = "smelter.prove.driver"
_LONG_MEGABYTES = 40


def order_of(scene: Scene, act: str, point: str, nth: int = 1, **more: object) -> Order:
    """What the driver of a scene has to do."""
    contract = scene.contract.model_dump_json(by_alias=True, exclude_unset=True)
    return msgspec.convert(
        {"contract": contract, "act": act, "point": point, "nth": nth, "mark": str(scene.folder / "mark"), **more},
        Order,
    )


def drive(
    ground: Ground, folder: Path, orders: Sequence[Order], wrapper: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    """Start a driver with its orders."""
    sheet = folder / "orders.json"
    sheet.write_bytes(msgspec.json.encode(list(orders)))
    words = (ground.lake.root, ground.lake.jars, sheet)
    return ground.start(_DRIVER, *words, log=folder / "said", wrapper=wrapper)


def said(folder: Path) -> str:
    """The last of what a driver said."""
    return (folder / "said").read_text("utf-8", "replace")[-2000:]


def kill_at_their_points(scenes: Sequence[Scene]) -> None:
    """Streams in one real process with a real Spark, each halted at its point, and one kill -9 for all of them."""
    ground, orders, struck = scenes[0].ground, [], {}
    for scene in scenes:
        point = scene.point.removeprefix("kill_at_") if scene.point != "kill_in_task" else IN_A_TASK
        nth = 2 if point == IN_A_TASK else scene.chance.choice((1, 2))
        waves = scene.two_waves()
        if point == IN_A_TASK:
            scene.arrive("1-0.json", scene.mine.long_file(_LONG_MEGABYTES), modified=LONG_AGO + 60)
        orders.append(order_of(scene, "die_in_task" if point == IN_A_TASK else "halt", point, nth))
        struck[scene.name] = (scene, point, waves[nth - 1])
    driver = drive(ground, scenes[0].folder, orders)
    try:
        ground.wait_until(
            lambda: driver.poll() is not None or all(Path(one.mark).exists() for one in orders),
            "every stream came to its point",
        )
    finally:
        ground.kill(driver)
    for scene, point, files in struck.values():
        if not (scene.folder / "mark").exists():
            raise AssertionError(f"the driver did not come to {point}: {said(scenes[0].folder)}")
        _check_what_is_left(scene, point)
        steady = 1 if point == IN_A_TASK else 0  # the long file takes long to be read a second time, so it stays
        scene.meddle(files[steady:], shows=point in BEFORE_THE_INTENT)


def _check_what_is_left(scene: Scene, point: str) -> None:
    """A driver that died somewhere else than at its point would prove something else."""
    left = len(scene.books.planned()), len(scene.books.prepared())
    must_be = (
        int(point in ("planned", "judged", IN_A_TASK)),
        int(point in ("prepared", "between_commits", "committed")),
    )
    if left != must_be:
        raise AssertionError(f"killed at {point}, the driver left {left} planned and prepared batches, not {must_be}")


@dataclass(frozen=True)
class KillWorker:
    """Kills the Python worker that runs it, once; it travels to the task."""

    mark: Path

    def __call__(self, _point: str) -> None:
        """Called by the task after each part of a file."""
        if not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def kill_worker(scenes: Sequence[Scene]) -> None:
    """The driver survives: Spark does the task again, or the batch fails and is done again by the next start."""
    (scene,) = scenes
    scene.two_waves()
    mark = scene.folder / "mark"
    try:
        scene.drain(Hooks(task_reach=KillWorker(mark)))
    except Unreachable:
        return
    except Exception as problem:  # Spark's own words for a worker that is gone
        if "SparkException" not in str(problem):
            raise
    if not mark.exists():
        raise AssertionError("no task was killed")


def kill_jvm(scenes: Sequence[Scene]) -> None:
    """The JVM alone is killed while its driver is at a random point; the driver ends with a sentence."""
    (scene,) = scenes
    waves = scene.two_waves()
    point, nth = scene.chance.choice(DRIVER_POINTS), scene.chance.choice((1, 2))
    driver = drive(scene.ground, scene.folder, [order_of(scene, "kill_jvm", point, nth)])
    try:
        scene.ground.wait_until(lambda: driver.poll() is not None, "the driver noticed that its JVM is gone")
    finally:
        scene.ground.kill(driver)
    if driver.returncode != Unreachable.exit_code or not (scene.folder / "mark").exists():
        raise AssertionError(f"the driver ended with {driver.returncode}: {said(scene.folder)}")
    if any(batch.sequence == nth for batch in scene.books.done()):
        scene.meddle(waves[nth - 1], shows=False)


def kill_at_random(scenes: Sequence[Scene]) -> None:
    """A following driver is killed at random moments; files arrive all the time, also while there is no driver."""
    (scene,) = scenes
    moments = [scene.chance.uniform(0, 2) for _ in range(scene.chance.choice((1, 2)))]
    with _files_arriving(scene):
        for moment in moments:
            _follow_until(scene, moment)


def _follow_until(scene: Scene, moment: float) -> None:
    """A driver follows until so many seconds after its first batch."""
    before = len(scene.books.done())
    driver = drive(scene.ground, scene.folder, [order_of(scene, "halt", "never", follow=True, max_files=5)])
    try:
        scene.ground.wait_until(
            lambda: len(scene.books.done()) > before or driver.poll() is not None, "the driver had its first batch"
        )
        time.sleep(moment)
        has_ended = driver.poll() is not None
    finally:
        scene.ground.kill(driver)
    if has_ended:
        raise AssertionError(f"the driver ended by itself: {said(scene.folder)}")


@contextmanager
def _files_arriving(scene: Scene) -> Iterator[None]:
    over, chance = threading.Event(), Random(scene.seed)
    mine = Mine(chance, scene.mine.numbers)

    def produce() -> None:
        number = 0
        while not over.wait(chance.uniform(0.02, 0.2)):
            number += 1
            scene.arrive(f"{number % 7}/{number:05}.json", mine.file(good=chance.randrange(1, 40)))

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        yield
    finally:
        over.set()
        producer.join()


def kill_in_restart(scenes: Sequence[Scene]) -> None:
    """A driver crashes, and the one that finishes its batch is killed too, while it does so."""
    (scene,) = scenes
    waves = scene.two_waves()
    point, nth = scene.chance.choice(("prepared", "between_commits", "committed")), scene.chance.choice((1, 2))
    scene.crash_at(point, nth)
    again = scene.chance.choice(("between_commits", "committed", "done"))
    driver = drive(scene.ground, scene.folder, [order_of(scene, "die", again)])
    try:
        scene.ground.wait_until(lambda: driver.poll() is not None, "the second driver was killed")
        code = driver.returncode
    finally:
        scene.ground.kill(driver)
    if code != -signal.SIGKILL:
        raise AssertionError(f"the second driver ended with {code}: {said(scene.folder)}")
    scene.meddle(waves[nth - 1], shows=False)
