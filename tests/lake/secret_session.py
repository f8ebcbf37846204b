"""A Spark session over a PostgreSQL catalog in a process of its own, which others look at while it waits.

Usage: secret_session.py LAKE RUN_FOLDER DATASET (the setting SMELTER_CATALOG has the password, PGPASSFILE too)
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from smelter.lake.home import Lake
from smelter.lake.session import catalog_configuration, start_spark
from smelter.settings import load_settings


def main(root: str, run_folder: str, dataset: str) -> None:
    lake = Lake.at(load_settings(Path(root)).values)
    assert lake.address is not None
    spark = start_spark(lake, "secrets", Path(run_folder))
    print("with the password:", spark.sql(f"select count(*) from lake.bronze.{dataset}").collect()[0][0])
    print(spark.sql("set -v").collect(), spark.sql("set").collect())
    from_file = replace(lake, address=replace(lake.address, password=None))
    wrong = replace(lake, address=replace(lake.address, password="sesame, but wrong"))
    for who, other in {"from the password file": from_file, "with a wrong one": wrong}.items():
        session = spark.newSession()
        for key, value in catalog_configuration(other).items():
            session.conf.set(key, value)
        try:
            print(f"{who}:", session.sql(f"select count(*) from lake.bronze.{dataset}").collect()[0][0])
        except Exception as problem:
            print(f"{who}:", problem)
    print("READY", flush=True)
    sys.stdin.read()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
