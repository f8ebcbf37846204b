"""Contracts that change under a stream: every file is judged by one version, and it is known by which."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from smelter.bronze.stream import Hooks
from smelter.lake.evolution import apply_contract
from smelter.lake.sources import source_of
from smelter.prove.care import following
from smelter.prove.kills import AFTER_THE_INTENT
from smelter.prove.ore import contract_of
from smelter.prove.scene import Scene, at


def change_after_crash(scenes: Sequence[Scene]) -> None:
    """A batch that was not yet prepared is judged again, by the contract that became active meanwhile."""
    (scene,) = scenes
    waves, nth = scene.two_waves(new=2), scene.chance.choice((1, 2))
    scene.crash_at(scene.chance.choice(("offsets_written", "planned", "judged")), nth)
    _change(scene)
    for number, wave in enumerate(waves, start=1):
        _expect(scene, wave, 1 if number < nth else 2)


def change_beside_prepared(scenes: Sequence[Scene]) -> None:
    """A batch that was prepared is finished as it was judged, whatever contract is active by then."""
    (scene,) = scenes
    waves, nth = scene.two_waves(new=2), scene.chance.choice((1, 2))
    point = scene.chance.choice(AFTER_THE_INTENT)
    if scene.chance.random() < 0.5:
        scene.crash_at(point, nth)
        _change(scene)
    else:
        scene.drain(Hooks(reach=at(point, nth, lambda: _change(scene))))
    for number, wave in enumerate(waves, start=1):
        _expect(scene, wave, 1 if number <= nth else 2)


def change_while_following(scenes: Sequence[Scene]) -> None:
    """Files that were read before are judged by the old contract, files that come after by the new one."""
    (scene,) = scenes
    before = [scene.arrive(f"before-{number}.json", scene.mine.file(new=2)) for number in range(3)]
    with following(scene) as wait_for:
        wait_for(lambda: scene.has_read(*before))
        query = _query_id(scene)
        changing = threading.Thread(target=_change, args=(scene,))
        changing.start()
        for number in range(scene.chance.randrange(5)):
            scene.arrive(f"beside-{number}.json", scene.mine.file(new=2))
        changing.join()
        after = [scene.arrive(f"after-{number}.json", scene.mine.file(new=2)) for number in range(3)]
        wait_for(lambda: scene.has_read(*after))
        if _query_id(scene) != query:
            scene.wrong.append("the query has another id after the contract changed")
    _expect(scene, before, 1)
    _expect(scene, after, 2)


def _change(scene: Scene) -> None:
    contract = contract_of(scene.name, version=2)
    apply_contract(scene.ground.lake, contract)
    scene.contract = contract
    scene.new = 2


def _expect(scene: Scene, paths: Sequence[Path], version: int) -> None:
    for path in paths:
        scene.sent[source_of(path)] = replace(scene.sent[source_of(path)], version=version)


def _query_id(scene: Scene) -> str:
    return str(json.loads((scene.ground.lake.checkpoint(scene.name) / "metadata").read_text("utf-8"))["id"])
