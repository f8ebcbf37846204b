"""A dataset with a bronze table that holds its contract, and a silver table as Spark would leave it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from smelter.contracts import Contract, parse_contract
from smelter.lake.home import Lake
from smelter.lake.tables import ensure_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_names = (f"things_{number}" for number in itertools.count(1))


def a_dataset(lake: Lake, *checks: str, silver: str = "silver: {key: [id]}") -> Contract:
    """Its tables are made, and it has no rows."""
    name = next(_names)
    quality = "".join(f"- {{{check}}}\n" for check in checks)
    text = (
        f"dataset: {name}\nversion: 1\nsource: {{files: landing/{name}}}\n"
        f"fields: {{id: {{type: string}}, n: {{type: int}}}}\n{silver}\n" + (f"quality:\n{quality}" if checks else "")
    )
    return ensure_tables(lake, parse_contract(text, f"{name}.yaml"))


def with_silver(spark: SparkSession, contract: Contract, rows: str) -> Contract:
    """Silver's rows, as `values` of id and n."""
    query = "select id, n, 'file:///a.json' _source, cast(row_number() over (order by id) as bigint) - 1 _position "
    query += f"from values {rows} as t(id, n)"
    spark.sql("create namespace if not exists lake.silver")
    spark.sql(query).writeTo(f"lake.silver.{contract.dataset}").using("iceberg").createOrReplace()
    return contract
