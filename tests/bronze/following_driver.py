"""A driver that follows its stream in a process of its own, and waits at a point for as long as a gate is shut.

Usage: following_driver.py LAKE CONTRACT [POINT GATE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from smelter.bronze.stream import Hooks, Pace, ingest
from smelter.contracts import load_contract
from smelter.errors import SmelterError
from smelter.lake.home import Lake
from smelter.records import Limits
from smelter.settings import Settings

WAITS = ".waits"


def main(lake: str, contract: str, point: str = "", gate: str = "") -> int:
    hooks = Hooks(reach=wait_at(point, Path(gate))) if gate else Hooks()
    pace = Pace(follow=True, trigger_seconds=0.2, max_files=5)
    try:
        ingest(Lake.at(Settings(lake=Path(lake))), load_contract(Path(contract)), Limits(), pace, hooks)
    except SmelterError as problem:
        print(problem, file=sys.stderr)
        return problem.exit_code
    return 0


def wait_at(point: str, gate: Path) -> Callable[[str], None]:
    """Wait at the point while the gate is there, and say so."""

    def reach(here: str) -> None:
        while here == point and gate.exists():
            gate.with_suffix(WAITS).touch()
            time.sleep(0.02)
        gate.with_suffix(WAITS).unlink(missing_ok=True)

    return reach


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
