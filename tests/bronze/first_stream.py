"""The first stream of a lake, which makes its tables when it is told to go. Usage: first_stream.py LAKE DATASET GO"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from streams import Stream, contract_of

from smelter.lake.home import Lake
from smelter.settings import Settings

if __name__ == "__main__":
    lake, dataset, go = sys.argv[1:]
    Path(f"{go}.{os.getpid()}").touch()
    while not Path(go).exists():
        time.sleep(0.001)
    Stream(Lake.at(Settings(lake=Path(lake))), contract_of(dataset)).bronze()
