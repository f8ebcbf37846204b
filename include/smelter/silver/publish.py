"""Judged rows become part of silver, in one MERGE that carries the bookmark.

Safe to kill and to repeat: the commit is whole or not there, the bookmark is part of it, and merging the same rows a
second time changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from smelter.contracts import Contract
from smelter.lake.derived import merge
from smelter.lake.home import SILVER
from smelter.lake.spans import Spans
from smelter.silver.definition import silver_of
from smelter.silver.gone import FATE, GOES, INSTEAD
from smelter.silver.rows import FIRST_COMES

_INSERT = "WHEN NOT MATCHED THEN INSERT *"


def merge_rows(
    spark: SparkSession,
    contract: Contract,
    rows: DataFrame,
    spans: Spans | None,
    summary: Mapping[str, str],
    *,
    in_order: bool,
) -> None:
    """Insert what is new and, where the contract keeps the latest, replace what is older.

    `in_order`: every row was ingested later than all that silver has. Then the first of each key is there already, and
    Spark makes a plain append of it, which the next reader can read as one. Rows may have a fate, because records left
    bronze: then one row is taken out or put in another's place whatever their order.
    """
    if FATE in rows.columns:
        clauses = _by_fate(contract)
    else:
        clauses = [_INSERT] if _only_inserts(contract, in_order=in_order) else [_replace(contract), _INSERT]
    merge(spark, SILVER, contract.dataset, rows, _same_thing(contract, spans), clauses, summary)


def _by_fate(contract: Contract) -> list[str]:
    return [
        f"WHEN MATCHED AND s.{FATE} = '{GOES}' THEN DELETE",
        f"WHEN MATCHED AND s.{FATE} = '{INSTEAD}' THEN UPDATE SET *",
        _replace(contract),
        f"WHEN NOT MATCHED AND s.{FATE} <> '{GOES}' THEN INSERT *",
    ]


def _only_inserts(contract: Contract, *, in_order: bool) -> bool:
    return in_order and silver_of(contract).on_duplicate == "keep_first"


def _same_thing(contract: Contract, spans: Spans | None) -> str:
    """Equal keys; where time is stable per key also its days, so that files of other days are not opened."""
    silver = silver_of(contract)
    equal = [f"t.{name} {'=' if contract.fields[name].required else '<=>'} s.{name}" for name in silver.key]
    if spans is not None:
        is_date = contract.fields[silver.event_time or ""].type == "date"
        equal.append(spans.sql(f"t.{silver.event_time}", is_date=is_date))
    return " and ".join(equal)


def _replace(contract: Contract) -> str:
    """The better of two rows stays, by the same order as among the rows of one increment."""
    order_by = silver_of(contract).order_by
    comes_first = f"{_identity('s')} < {_identity('t')}"
    if order_by is None:
        return f"WHEN MATCHED AND {comes_first} THEN UPDATE SET *"
    s, t = f"s.{order_by}", f"t.{order_by}"
    is_later = f"coalesce({s} > {t}, {s} is not null and {t} is null)"
    return f"WHEN MATCHED AND ({is_later} or ({s} <=> {t} and {comes_first})) THEN UPDATE SET *"


def _identity(row: str) -> str:
    return f"struct({', '.join(f'{row}.{name}' for name in FIRST_COMES)})"
