"""The child that fetches: a bare Spark session whose Ivy resolves coordinates. Nobody imports this; `fetch` runs it.

Usage: python -m smelter.lake.ivy_session FOLDER group:artifact:version ...
Standard output says `ready`, then each coordinate as it arrives in FOLDER/jars. All noise goes to standard error.
"""

from __future__ import annotations

import os
import sys

TIMEOUTS = "-Dsun.net.client.defaultConnectTimeout=10000 -Dsun.net.client.defaultReadTimeout=60000"


def main(folder: str, coordinates: list[str]) -> None:
    """Fetch one jar after the other; the first that cannot be resolved ends the process with a traceback."""
    progress = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the JVM inherits 1 and 2: what Ivy prints must not mix with our progress

    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .appName("smelter-jars")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", TIMEOUTS)
        .config("spark.local.dir", folder)
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.jars.ivy", folder)
        .getOrCreate()
    )
    print("ready", file=progress, flush=True)
    for coordinate in coordinates:
        spark.sql(f"ADD JAR ivy://{coordinate}?transitive=false")
        print(coordinate, file=progress, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
