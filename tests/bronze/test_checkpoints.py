"""Spark's own memory is lost or damaged: the records of batches still know what is in the tables."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import check
from conftest import NewStream
from streams import Stream

from smelter.supervise.log import LOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
Damage = Callable[[Path], None]


def lose(*entries: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        for entry in entries:
            path = checkpoint / entry
            path.unlink()
            (path.parent / f".{path.name}.crc").unlink(missing_ok=True)

    return damage


def cut_off(entry: str, size: int) -> Damage:
    """What a power cut leaves: an entry with its beginning only, and the temporary file that it came from."""

    def damage(checkpoint: Path) -> None:
        path = checkpoint / entry
        kept = path.read_bytes()
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
        path.write_bytes(kept[:size])
        (path.parent / f".{path.name}.a1b2c3d4.tmp").write_bytes(kept[:size])

    return damage


def leave_temporary(entry: str) -> Damage:
    """Killed while Spark writes the entry: there is its temporary file and nothing else."""

    def damage(checkpoint: Path) -> None:
        path = checkpoint / entry
        (path.parent / f".{path.name}.0a1b2c3d.tmp").write_bytes(path.read_bytes()[:2])
        lose(entry)(checkpoint)

    return damage


DAMAGES: dict[str, Damage] = {
    "the last commit is lost": lose("commits/1"),
    "the last commit is lost and its checksum is not": lambda checkpoint: (checkpoint / "commits" / "1").unlink(),
    "all commits are lost": lose("commits/0", "commits/1"),
    "the last offsets are lost": lose("offsets/1"),
    "the last offsets and their commit are lost": lose("offsets/1", "commits/1"),
    "all offsets are lost": lose("offsets/0", "offsets/1"),
    "all offsets and commits are lost": lose("offsets/0", "offsets/1", "commits/0", "commits/1"),
    "the first offsets are lost": lose("offsets/0"),
    "the last commit is half written": leave_temporary("commits/1"),
    "the last offsets are half written": leave_temporary("offsets/1"),
    "the last commit is empty": cut_off("commits/1", 0),
    "the last commit is cut off": cut_off("commits/1", 5),
    "the last offsets are cut off": cut_off("offsets/1", 30),
    "the last offsets are cut off at a line's end": cut_off("offsets/1", 3),
    "the list of the last files is lost": lose("sources/0/1"),
    "the list of the last files is cut off": cut_off("sources/0/1", 20),
    "the list of the first files is cut off": cut_off("sources/0/0", 20),
    "the checkpoint is deleted": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_stream_goes_on_exactly_once_when(shared: NewStream, spark: SparkSession, damage: str) -> None:
    stream: Stream = shared()
    for number in range(2):
        stream.add(f"{number}.json", modified=10**9 + number)
    assert len(stream.drain(spark, max_files=1)) == 2
    DAMAGES[damage](stream.checkpoint)
    stream.add("arrived before the restart.json")
    stream.drain(spark)
    check(stream)
    stream.add("arrived later.json")
    stream.drain(spark)
    check(stream)


def test_what_was_moved_aside_is_kept_and_told(shared: NewStream, spark: SparkSession) -> None:
    stream: Stream = shared()
    stream.add("a.json")
    stream.drain(spark)
    lose("offsets/0")(stream.checkpoint)
    stream.add("b.json")
    stream.drain(spark)
    check(stream)
    assert (stream.checkpoint / "aside" / "commits" / "0").exists()
    log = (stream.lake.run_folder(stream.name) / LOG).read_text()
    assert "commits/0 of the checkpoint was moved aside: its offsets are lost" in log


def test_a_long_stream_whose_lists_of_files_were_put_together_goes_on_exactly_once(
    shared: NewStream, spark: SparkSession
) -> None:
    stream: Stream = shared()
    for number in range(12):  # Spark puts the lists of ten batches together in one
        stream.add(f"{number:02}.json", modified=10**9 + number)
    assert len(stream.drain(spark, max_files=1)) == 12
    check(stream)
    assert (stream.checkpoint / "sources" / "0" / "9.compact").exists()
    lose("commits/11", "commits/10", "commits/9", "offsets/11")(stream.checkpoint)
    stream.add("new.json")
    stream.drain(spark, max_files=1)
    check(stream)
