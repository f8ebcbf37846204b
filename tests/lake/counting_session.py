"""A Spark session that says what it counts, in a process of its own. Usage: counting_session.py LAKE RUN_FOLDER JARS"""

from __future__ import annotations

import sys
from pathlib import Path

from smelter.lake.home import Lake
from smelter.lake.session import start_spark
from smelter.settings import Settings

if __name__ == "__main__":
    root, run_folder, jars = map(Path, sys.argv[1:])
    spark = start_spark(Lake.at(Settings(lake=root, jars=jars)), "counting", run_folder)
    print(spark.range(7).count())
