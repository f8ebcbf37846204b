"""Builds silver or gold and kills itself: `killed_builder.py LAKE DATASET WHAT POINT SECONDS MODEL`.

The kill -9 comes so many seconds after the point, in the middle of whatever happens then; its JVM is left behind.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from smelter.gold.build import Hooks as GoldHooks
from smelter.gold.build import build_gold
from smelter.gold.models import load_models
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import active_contract, load_table
from smelter.settings import Settings
from smelter.silver.build import Hooks, Wishes, build_silver


def reaper(point: str, seconds: float) -> Callable[[str], None]:
    def kill() -> None:
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)

    def reach(reached: str) -> None:
        if reached == point:
            threading.Thread(target=kill, daemon=True).start()
            if seconds == 0:
                time.sleep(60)

    return reach


def main(root: str, dataset: str, what: str, point: str, seconds: str, model: str) -> None:
    settings = Settings(lake=Path(root))
    lake, reach = Lake.at(settings), reaper(point, float(seconds))
    if what == "gold":
        contract = active_contract(load_table(lake, BRONZE, dataset))
        models = [one for one in load_models(settings.models) if one.name == model]
        build_gold(lake, contract, models, hooks=GoldHooks(reach=reach))
    else:
        build_silver(lake, dataset, Wishes(most_rows=40, rebuild=what == "rebuild"), Hooks(reach=reach))


if __name__ == "__main__":
    main(*sys.argv[1:])
