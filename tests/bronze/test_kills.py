"""kill -9 of a real driver with a real Spark, at every point of a batch; files change and arrive before the restart."""

from __future__ import annotations

import signal
from random import Random
from typing import TYPE_CHECKING

import pytest
from accounts import check
from crashes import AFTER_THE_INTENT
from drivers import start, write_contract
from killed_driver import FILES_PER_BATCH, IN_A_TASK
from streams import Stream, contract_of, records

from smelter.lake.home import Lake
from smelter.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm
POINTS = ("offsets_written", "planned", "judged", "prepared", "between_commits", "committed", "done", IN_A_TASK)


def a_stream_with_two_batches(lake: Lake, point: str) -> Stream:
    """Four files for the first batch, four for the second; in a task, one that is large enough to be written early."""
    stream = Stream(lake, contract_of(f"killed_{point}"))
    for number in range(FILES_PER_BATCH):
        stream.add(f"early {number}.json", modified=10**9)
    for name in ("steady", "replaced", "cut", "deleted"):
        stream.add(f"{name}.json", modified=10**9 + 60)
    if point == IN_A_TASK:
        noise = Random(7)
        long = "".join(f'{{"id": {number}, "note": "{noise.randbytes(1000).hex()}"}}\n' for number in range(20_000))
        stream.add("steady.json", long.encode() + records(), modified=10**9 + 60)
    return stream


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stream]:
    """A stream for each point, all killed there by one kill -9 of their process."""
    folder = tmp_path_factory.mktemp("killed")
    lake = Lake.at(Settings(lake=folder / "lake"))
    streams = {point: a_stream_with_two_batches(lake, point) for point in POINTS}
    for stream in streams.values():
        write_contract(stream, folder / "contracts")
    halts = [f"{stream.name}:{point}" for point, stream in streams.items()]
    process = start("killed_driver.py", lake.root, folder / "contracts", *halts, log=folder / "said")
    assert process.wait(timeout=180) == -signal.SIGKILL, (folder / "said").read_text()
    return streams


def test_every_driver_was_killed_in_its_second_batch_at_its_point(killed: dict[str, Stream]) -> None:
    left = {point: (entries(stream), states(stream)) for point, stream in killed.items()}
    open_batch = (["0", "1"], ["0"])
    assert left == {
        "offsets_written": (open_batch, ["done"]),
        "planned": (open_batch, ["done", "planned"]),
        IN_A_TASK: (open_batch, ["done", "planned"]),
        "judged": (open_batch, ["done", "planned"]),
        "prepared": (open_batch, ["done", "prepared"]),
        "between_commits": (open_batch, ["done", "prepared"]),
        "committed": (open_batch, ["done", "prepared"]),
        "done": (open_batch, ["done", "done"]),
    }
    data_files = (killed[IN_A_TASK].lake.root / "tables" / "bronze" / killed[IN_A_TASK].name).rglob("*.parquet")
    assert any(not path.read_bytes().endswith(b"PAR1") for path in data_files)


def entries(stream: Stream) -> tuple[list[str], list[str]]:
    """What Spark has written down: the batches that it began, and those that it holds for finished."""
    began, finished = (
        sorted(path.name for path in (stream.checkpoint / log).iterdir() if path.name.isdigit())
        for log in ("offsets", "commits")
    )
    return began, finished


def states(stream: Stream) -> list[str]:
    return sorted(path.name.split(".")[1] for path in stream.receipts.glob("*.json"))


@pytest.mark.parametrize("point", POINTS)
def test_after_kill_9_every_record_is_in_one_place(killed: dict[str, Stream], spark: SparkSession, point: str) -> None:
    stream = killed[point]
    for meddle, name, reason in (
        (stream.replace, "replaced.json", "file_changed"),
        (stream.cut, "cut.json", "file_changed"),
        (stream.delete, "deleted.json", "file_unreadable"),
    ):
        meddle(name)
        if point not in AFTER_THE_INTENT:
            stream.expect_letter(name, reason)
    stream.add("arrived after the crash.json")
    stream.drain(spark)
    check(stream)
    stream.add("arrived later.json")
    stream.drain(spark)
    check(stream)
