"""Full disks: of a table, of the checkpoint, of the receipts, from a random point of a batch on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.prove.driver import Order
from smelter.prove.kills import DRIVER_POINTS, drive, order_of, said
from smelter.prove.scene import Scene
from smelter.prove.small_disk import namespace


class NotRun(Exception):
    """This machine does not allow the fault."""


def fill_disks(scenes: Sequence[Scene]) -> None:
    """Each scene's disk is full from a point of a batch on; its driver ends, and later there is room again."""
    ground = scenes[0].ground
    wrapper = namespace(ground.folder / "probe")
    if wrapper is None:
        raise NotRun("a small file system to fill needs `unshare -rm` (user namespaces) or root")
    orders = [_order(scene) for scene in scenes]
    driver = drive(ground, scenes[0].folder, orders, wrapper)
    try:
        ground.wait_until(lambda: driver.poll() is not None, "the driver gave up")
    finally:
        ground.kill(driver)
    if driver.returncode != 0 or not all(Path(order.mark).exists() for order in orders):
        raise AssertionError(f"the driver ended with {driver.returncode}: {said(scenes[0].folder)}")
    for scene, order in zip(scenes, orders, strict=True):
        told = Path(order.said).read_text("utf-8") if Path(order.said).exists() else "disk is full"
        if not any(words in told for words in ("disk is full", "No space left")):
            scene.wrong.append(f"the driver does not say that the disk is full: {told}")


def _order(scene: Scene) -> Order:
    scene.two_waves()
    point, nth = scene.chance.choice(DRIVER_POINTS), scene.chance.choice((1, 2))
    return order_of(scene, "fill", point, nth, place=str(_place(scene)), said=str(scene.folder / "told"))


def _place(scene: Scene) -> Path:
    lake = scene.ground.lake
    if scene.point == "full_disk_tables":
        return Path(lake.table_location(scene.chance.choice((BRONZE, DEAD_LETTERS)), scene.name))
    return lake.checkpoint(scene.name) if scene.point == "full_disk_checkpoint" else lake.receipts(scene.name)
