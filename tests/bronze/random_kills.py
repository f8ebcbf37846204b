"""kill -9 of a following stream at random moments, again and again, while files keep arriving: is anything lost?

Usage: random_kills.py [--kills 30] [--seed 1]; exit code 1 if a record is lost or doubled.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from accounts import account_of, check, places_sent
from drivers import start, wait_until, write_contract
from streams import Stream, contract_of, records

from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.settings import Settings

LONGEST_SECONDS = 2.0


@dataclass(frozen=True)
class Kill:
    """One kill: how long after the driver's first batch, and what it left."""

    number: int
    seconds: float
    batches: int
    left: str


def kill_again_and_again(stream: Stream, folder: Path, kills: int, seed: int) -> Iterator[Kill]:
    """Kill a following driver so many times; files arrive all the time, also while there is no driver."""
    chance = Random(seed)
    contract = write_contract(stream, folder / "contracts")
    with files_arriving(stream, Random(seed + 1)):
        for number in range(1, kills + 1):
            before = states(stream)["done"]
            driver = start("following_driver.py", stream.lake.root, contract, log=folder / "said")
            try:
                wait_until(
                    lambda before=before, driver=driver: states(stream)["done"] > before or driver.poll() is not None,
                    "the driver had its first batch",
                )
                assert driver.poll() is None, (folder / "said").read_text()
                seconds = chance.uniform(0, LONGEST_SECONDS)
                time.sleep(seconds)
            finally:
                driver.kill()
                driver.wait()
            found = states(stream)
            left = " ".join(state for state in ("planned", "prepared") if found[state]) or "-"
            yield Kill(number, seconds, found["done"] - before, left)


@contextmanager
def files_arriving(stream: Stream, chance: Random) -> Iterator[None]:
    """A producer that adds a file now and then, each whole at once."""
    over = threading.Event()

    def produce() -> None:
        number = 0
        while not over.wait(chance.uniform(0.01, 0.15)):
            number += 1
            stream.add(f"{number % 7}/{number:05}.json", records(good=chance.randrange(1, 40), bad=chance.randrange(4)))

    producer = threading.Thread(target=produce)
    producer.start()
    try:
        yield
    finally:
        over.set()
        producer.join()


def states(stream: Stream) -> Counter[str]:
    """How many records of batches there are in each state."""
    return Counter(path.name.split(".")[1] for path in stream.receipts.glob("*.json"))


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="smelter-kills-") as name:
        folder = Path(name)
        stream = Stream(Lake.at(Settings(lake=folder / "lake")), contract_of("killed"))
        print(f"{'kill':>4}  {'after':>7}  {'batches':>7}  left open")
        for kill in kill_again_and_again(stream, folder, asked.kills, asked.seed):
            print(f"{kill.number:>4}  {kill.seconds:>5.2f} s  {kill.batches:>7}  {kill.left}", flush=True)
        spark = start_spark(stream.lake, "after the kills", folder / "spark")
        try:
            stream.drain(spark)
        finally:
            spark.stop()
        found = account_of(stream)
        sent = len(places_sent(stream))
        print(
            f"{asked.kills} kills, seed {asked.seed}: {len(stream.sent)} files, {sent} records, "
            f"{len(found.missing)} lost, {len(found.doubled)} doubled, {len(found.unexplained)} unexplained"
        )
        if found.is_balanced:
            check(stream)
        return 0 if found.is_balanced else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
