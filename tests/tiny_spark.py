"""A real Spark session for tables of a few rows: of these, starting, planning and compiling are most of the cost.

What people run is not tuned like this, and is tested without it: commands, jobs, drivers that are killed, and in
`make recompute`, which sets PLAIN_SPARK, some random histories too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.lake.home import Lake
from smelter.prove.processes import QUICK_JVM

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TINY = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
}


@contextmanager
def tiny_spark(lake: Lake, folder: Path) -> Iterator[SparkSession]:
    """A session over the lake, for one run of tests; whoever starts a JVM of their own meanwhile gets a plain one."""
    from smelter.lake.session import start_spark

    if os.environ.get("PLAIN_SPARK"):
        session = start_spark(lake, "tests", folder, builds=True)
    else:
        with _quick_jvm():
            session = start_spark(lake, "tests", folder)
        for name, value in _TINY.items():
            session.conf.set(name, value)
    yield session
    session.stop()


@contextmanager
def _quick_jvm() -> Iterator[None]:
    before = os.environ.get("JDK_JAVA_OPTIONS")
    os.environ["JDK_JAVA_OPTIONS"] = before or QUICK_JVM
    yield
    if before is None:
        del os.environ["JDK_JAVA_OPTIONS"]
