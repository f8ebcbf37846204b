"""Somebody else's maintenance, as plain Spark SQL: compaction, new manifests, and expiry of all but one snapshot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.lake.home import BRONZE, DEAD_LETTERS
from smelter.lake.tables import load_table
from smelter.prove.kills import DRIVER_POINTS
from smelter.prove.scene import Scene
from smelter.records import Limits

_TABLES = (BRONZE, DEAD_LETTERS)
_REWRITE = "CALL lake.system.rewrite_data_files(table => '{0}', options => map('rewrite-all', 'true'))"
_MANIFESTS = "CALL lake.system.rewrite_manifests(table => '{0}')"
_EXPIRE = (
    "CALL lake.system.expire_snapshots(table => '{0}', older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
)


def care_after_crash(scenes: Sequence[Scene]) -> None:
    """A driver crashes; before the restart every trace of its tokens in snapshots is removed."""
    (scene,) = scenes
    waves = scene.two_waves()
    point, nth = scene.chance.choice(DRIVER_POINTS), scene.chance.choice((1, 2))
    scene.crash_at(point, nth)
    take_care(scene)
    scene.meddle(waves[nth - 1], shows=point in ("offsets_written", "planned", "judged"))


def care_beside_stream(scenes: Sequence[Scene]) -> None:
    """All of it beside a stream that commits all the time; what the maintenance itself cannot do is no matter."""
    (scene,) = scenes
    first = scene.arrive("0.json")
    with following(scene) as wait_for:
        wait_for(lambda: scene.has_read(first))
        for number in range(1, 7):
            scene.arrive(f"{number}.json", scene.mine.file(good=3, bad=2))
            with suppress(Exception):
                _step(scene, scene.chance.choice((_REWRITE, _MANIFESTS, _EXPIRE)), scene.chance.choice(_TABLES))


@contextmanager
def following(scene: Scene) -> Iterator[Callable[[Callable[[], bool]], None]]:
    """The stream follows in the warm session; gives a way to wait for what it does, and ends with what it said."""
    over, problems = threading.Event(), list[BaseException]()
    stream = threading.Thread(target=_follow, args=(scene, over, problems))
    stream.start()
    try:
        yield lambda is_so: scene.ground.wait_until(lambda: bool(problems) or is_so(), "the stream had gone on")
    finally:
        over.set()
        stream.join()
        if problems:
            raise problems[0]


def take_care(scene: Scene) -> None:
    """Compact, rewrite manifests and expire, on both tables, until one snapshot is left."""
    for namespace in _TABLES:
        if load_table(scene.ground.lake, namespace, scene.name).current_snapshot() is None:
            continue
        for step in (_REWRITE, _MANIFESTS, _EXPIRE):
            _step(scene, step, namespace)
        if len(load_table(scene.ground.lake, namespace, scene.name).metadata.snapshots) != 1:
            raise AssertionError("the expiry has left more than one snapshot")


def _step(scene: Scene, statement: str, namespace: str) -> None:
    scene.ground.spark.sql(statement.format(f"lake.{namespace}.{scene.name}")).collect()


def _follow(scene: Scene, over: threading.Event, problems: list[BaseException]) -> None:
    def is_over() -> bool:
        return over.is_set() or scene.ground.over.is_set()

    pace = Pace(follow=True, trigger_seconds=0.05, max_files=1)
    try:
        ingest(scene.ground.lake, scene.contract, Limits(), pace, Hooks(should_stop=is_over), scene.ground.spark)
    except BaseException as problem:
        problems.append(problem)
