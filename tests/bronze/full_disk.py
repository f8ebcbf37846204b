"""Disks that are full: small file systems of this process's own, so it is run in a mount namespace.

Usage: unshare -rm full_disk.py FOLDER; prints a line of JSON for each place: what was said, and what is wrong after.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from accounts import account_of, check
from streams import Stream, contract_of, records

from smelter.errors import SmelterError
from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.prove.small_disk import FILLER, fill
from smelter.settings import Settings

ROOM = "8m"


def main(folder: str) -> None:
    lake = Lake.at(Settings(lake=Path(folder) / "lake"))
    run_folder = lake.root / "run"
    mount(run_folder)
    spark = start_spark(lake, "full", run_folder)
    places = {
        "tables": lake.root / "tables",
        "checkpoints": lake.root / "checkpoints",
        "receipts": lake.root / "receipts",
        "scratch": run_folder,
    }
    for name, place in places.items():
        if name != "scratch":
            mount(place)
        stream = Stream(lake, contract_of(f"on_full_{name}"))
        stream.add("before.json")
        stream.drain(spark)
        fill(place)
        stream.add("a.json", records(good=2000, bad=20))
        said = ""
        try:
            stream.drain(spark)
        except (SmelterError, OSError) as problem:
            said = str(problem)
        (place / FILLER).unlink()
        stream.add("b.json")
        stream.drain(spark)
        check(stream)
        print(json.dumps({"place": name, "said": said, **asdict(account_of(stream))}), flush=True)
    spark.stop()


def mount(place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
