"""Drivers that are asked to stop, and two drivers at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

from smelter.prove.kills import DRIVER_POINTS, drive, order_of, said
from smelter.prove.scene import Scene
from smelter.supervise.heartbeat import State, read_heartbeat
from smelter.supervise.lock import LOCK


@contextmanager
def _a_driver_that_waits(scene: Scene) -> Iterator[Popen[bytes]]:
    """A following driver that has done a batch, and stands still at a random point of its next."""
    first = scene.arrive("0.json")
    gate = scene.folder / "gate"
    point = scene.chance.choice(DRIVER_POINTS)
    order = order_of(scene, "wait", point, place=str(gate), follow=True)
    driver = drive(scene.ground, scene.folder, [order])
    try:
        scene.ground.wait_until(lambda: scene.has_read(first) or driver.poll() is not None, "the first file was read")
        gate.touch()
        scene.arrive("1.json")
        mark = Path(order.mark)
        scene.ground.wait_until(lambda: mark.exists() or driver.poll() is not None, "a batch came to the gate")
        if driver.poll() is not None:
            raise AssertionError(f"the driver ended with {driver.returncode}: {said(scene.folder)}")
        yield driver
    finally:
        scene.ground.kill(driver)


def stop_in_batch(scenes: Sequence[Scene]) -> None:
    """SIGTERM in mid-batch lets the batch finish; a second one ends the driver at once."""
    (scene,) = scenes
    twice = scene.chance.random() < 0.5
    with _a_driver_that_waits(scene) as driver:
        driver.send_signal(signal.SIGTERM)
        scene.ground.wait_until(lambda: _state(scene) is State.STOPPING, "the driver heard the signal")
        if twice:
            driver.send_signal(signal.SIGTERM)
        else:
            (scene.folder / "gate").unlink()
        scene.ground.wait_until(lambda: driver.poll() is not None, "the driver stopped")
        code = driver.returncode
    if code != (128 + signal.SIGTERM if twice else 0):
        raise AssertionError(f"the driver ended with {code}: {said(scene.folder)}")
    if not twice and not scene.has_read(scene.landing / "1.json"):
        scene.wrong.append("the running batch was not finished before the driver stopped")


def two_drivers(scenes: Sequence[Scene]) -> None:
    """A driver is stopped in mid-batch and its lock removed; a second one works; then the first one wakes."""
    (scene,) = scenes
    with _a_driver_that_waits(scene) as driver:
        driver.send_signal(signal.SIGSTOP)
        (scene.ground.lake.run_folder(scene.name) / LOCK).unlink()
        scene.arrive("2.json")
        scene.drain()
        driver.send_signal(signal.SIGCONT)
        (scene.folder / "gate").unlink()
        last = scene.arrive("3.json")
        scene.ground.wait_until(
            lambda: driver.poll() is not None or scene.has_read(last), "the woken driver ended or went on"
        )


def _state(scene: Scene) -> State | None:
    beat = read_heartbeat(scene.ground.lake.run_folder(scene.name))
    return None if beat is None else beat.state
