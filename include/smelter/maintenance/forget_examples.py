"""What checks have shown of a forgotten person: examples leave ops.quality, and pages that name them go.

The verdicts of checks stay in the table. Safe to kill and to repeat: every record that was ever forgotten is looked
for, pages go before the rows that tell of them, and rows are exchanged in one commit.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.expressions import And, EqualTo, In
from pyiceberg.table import Table

from smelter.lake.catalog import catalog_errors
from smelter.lake.forgotten import Why, forgotten
from smelter.lake.home import OPS, QUALITY, Lake
from smelter.lake.identities import Positions
from smelter.lake.lease import lease
from smelter.lake.tables import find_table
from smelter.maintenance.forget_found import union

_PAGES = (".json", ".html")


@dataclass(frozen=True)
class Examples:
    """What checks had shown of forgotten records, and does not show any more."""

    rows: int = 0
    pages: tuple[str, ...] = ()  # results and pages of the report that named one of them, and are gone


NO_EXAMPLES = Examples()


def forget_examples(
    lake: Lake, dataset: str, found: Mapping[str, Positions], wait_seconds: float, say: Callable[[str], None]
) -> Examples:
    """Take examples of these records, and of all that were forgotten before, out."""
    gone = union(found, forgotten(lake, dataset, why=Why.FORGET))
    table = find_table(lake, OPS, QUALITY)
    if not gone or table is None:
        return NO_EXAMPLES
    with lease(lake, OPS, QUALITY, f"smelt forget {dataset}", wait_seconds, say):
        rows = table.refresh().scan(row_filter=EqualTo(term="dataset", value=dataset)).to_arrow().to_pylist()
        shown = [one for row in rows for one in row["examples"] if _is_of(one, gone)]
        pages = _remove_pages(lake.quality, shown)
        _exchange(lake, table, dataset, rows, gone)
    return Examples(len(shown), tuple(str(page) for page in pages))


def _exchange(
    lake: Lake, table: Table, dataset: str, rows: Sequence[dict[str, Any]], gone: Mapping[str, Positions]
) -> None:
    """The rows of runs that showed one of these records, without them."""
    runs = {row["run"] for row in rows if any(_is_of(one, gone) for one in row["examples"])}
    if not runs:
        return
    kept = [
        {**row, "examples": [one for one in row["examples"] if not _is_of(one, gone)]}
        for row in rows
        if row["run"] in runs
    ]
    where = And(EqualTo(term="dataset", value=dataset), In(term="run", literals=runs))
    with catalog_errors(str(lake.root)), warnings.catch_warnings(action="ignore"):
        table.overwrite(pa.Table.from_pylist(kept, schema=table.schema().as_arrow()), overwrite_filter=where)


def _remove_pages(folder: Path, shown: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Results and pages of the report that name one of these records, as they name it."""
    names = {html.escape(f"{one['source']}:{one['position']} has ").replace("$", "&#36;") for one in shown}
    pages = [path for path in folder.rglob("*") if path.suffix in _PAGES] if names else []
    named = [path for path in pages if any(name in path.read_text("utf-8", "replace") for name in names)]
    for path in named:
        path.unlink(missing_ok=True)
    return named


def _is_of(example: Mapping[str, Any], gone: Mapping[str, Positions]) -> bool:
    positions = gone.get(example["source"])
    return positions is not None and bool(np.isin(example["position"], positions))
