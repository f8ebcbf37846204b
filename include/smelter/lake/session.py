"""The Spark session, and the one place that configures it. Embedded by default; spark-submit brings its own."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from smelter.errors import Unreachable
from smelter.lake import layout
from smelter.lake.catalog import BUSY_SECONDS
from smelter.lake.class_archive import java_options
from smelter.lake.home import Lake
from smelter.lake.jars import LOCK, ensure_jars
from smelter.lake.java import find_java
from smelter.postgres import CATALOG_NAME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")
SPARK_LOG = "spark.log"
SCRATCH = "scratch"
_PARTS_PER_CORE = 4  # of a shuffle; Spark's own 200 are for a cluster, and cost a second each time on two cores
_CATALOG = f"spark.sql.catalog.{CATALOG_NAME}"
for _name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)  # PySpark prints each error as it raises it: ours is a sentence


def start_spark(
    lake: Lake, name: str, run_folder: Path, *, builds: bool = False, ui: bool = False, cores: int | None = None
) -> SparkSession:
    """A session over the lake for one process, which has the run folder to itself; Spark's log goes there.

    `builds`: it sorts and joins rows in the JVM, so it gets memory for that; the stream, which does not, needs little.
    `ui`: with Spark's own pages, on this machine only; for a session that lives long enough to be looked at.
    `cores`: at most so many at once, because others need the rest.
    """
    java = find_java(os.environ)
    jars = ensure_jars(LOCK, lake.jars, lambda line: print(line, file=sys.stderr, flush=True))
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the JVM finds the Python of tasks through this only
    os.environ["SPARK_DRIVER_LOG"] = str(run_folder / SPARK_LOG)  # for log4j2.properties, whatever is in the path
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["LC_ALL"] = "C.UTF-8"  # without it Java cannot see files whose names are not ASCII
    shutil.rmtree(run_folder / SCRATCH, ignore_errors=True)  # what a killed session left
    (run_folder / SCRATCH).mkdir(parents=True)

    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    options = "" if is_submitted() else java_options(jars, java)  # there the JVM runs already
    if not is_submitted():
        parts = _PARTS_PER_CORE * cores_here()
        builder = builder.master(f"local[{cores or '*'}]").config("spark.sql.shuffle.partitions", parts)
        if builds:
            builder = builder.config("spark.driver.memory", f"{_build_megabytes()}m")
    for key, value in {**_configuration(jars, options, run_folder), **_pages(ui), **_catalog(lake)}.items():
        builder = builder.config(key, value)
    try:
        with _stderr_to(run_folder / SPARK_LOG):
            session = builder.getOrCreate()
    except PySparkRuntimeError as problem:
        raise Unreachable(
            "Spark did not start",
            where=str(run_folder / SPARK_LOG),
            data="nothing was read; what was committed stays committed",
            next_step="smelt doctor",
        ) from problem
    for key, value in _secrets(lake).items():  # not before: what the builder has stands on the JVM's command line
        session.conf.set(key, value)
    return session


def jvm_of(session: SparkSession) -> int | None:
    """The process that writes for a session, if it is on this machine: it may outlive a Python that was killed."""
    if is_submitted():
        return os.getppid()
    gateway = getattr(getattr(session, "_sc", None), "_gateway", None)
    return getattr(getattr(gateway, "proc", None), "pid", None)


def catalog_configuration(lake: Lake) -> dict[str, str]:
    """What makes a session see the lake's tables; a password among it, so it is set on a session that runs."""
    return {**_catalog(lake), **_secrets(lake)}


def _configuration(jars: list[Path], options: str, run_folder: Path) -> dict[str, str]:
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)),  # JDBC drivers are found on this path only
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={LOG_CONFIGURATION.as_uri()} -Djava.net.preferIPv4Stack=true {options}"
        ),
        "spark.python.daemon.module": "smelter.lake.worker_daemon",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",  # listing files must not start Spark jobs
        "spark.sql.sources.ignoreDataLocality": "true",  # a fifth off the listing of 10,000 local files
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.local.dir": str(run_folder / SCRATCH),
    }


def _pages(ui: bool) -> dict[str, str]:
    """Spark's own pages: to look at and not to act by, and without a memory that grows for weeks."""
    if not ui:
        return {"spark.ui.enabled": "false"}
    kept = ("spark.ui.retainedJobs", "spark.ui.retainedStages", "spark.sql.ui.retainedExecutions")
    return {"spark.ui.enabled": "true", "spark.ui.killEnabled": "false", **dict.fromkeys(kept, "100")}


def ui_of(session: SparkSession) -> str:
    """Where Spark's own pages are; empty if it has none."""
    context = getattr(session, "_sc", None)  # there is none behind Spark Connect
    return str(getattr(context, "uiWebUrl", None) or "")


def _catalog(lake: Lake) -> dict[str, str]:
    options = f"busy_timeout={BUSY_SECONDS * 1000}&journal_mode=WAL"
    file = f"jdbc:sqlite:{lake.root / layout.CATALOG}?{options}"
    return {
        _CATALOG: "org.apache.iceberg.spark.SparkCatalog",
        f"{_CATALOG}.type": "jdbc",
        f"{_CATALOG}.uri": file if lake.address is None else lake.address.jdbc(),
        f"{_CATALOG}.jdbc.schema-version": "V1",
        f"{_CATALOG}.warehouse": str(lake.root / layout.TABLES),
        f"{_CATALOG}.cache-enabled": "false",  # foreachBatch has its own session: tables would be stale in the other
    }


def _secrets(lake: Lake) -> dict[str, str]:
    secrets = lake.address.jdbc_secrets() if lake.address is not None else {}
    return {f"{_CATALOG}.jdbc.{name}": value for name, value in secrets.items()}


def _build_megabytes() -> int:
    """A quarter of the machine, within reason: a first silver of a million rows takes 33 s with 1 GB, 28 s with 4."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024**2
    return max(1024, min(4096, memory // 4))


def cores_here() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def is_submitted() -> bool:
    """Was this process started by spark-submit, which has its JVM and its master already?"""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """The JVM keeps the standard error that it is born with; ours comes back."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
