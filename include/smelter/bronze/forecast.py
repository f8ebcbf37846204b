"""What would a changed contract say to what is here? Stored rows that break a rule which becomes stricter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyiceberg.table import Table

from smelter.contracts import Contract, FieldRules
from smelter.contracts.diff import origins_of
from smelter.contracts.rules import family
from smelter.contracts.strictness import tightened
from smelter.lake.home import BRONZE, Lake
from smelter.lake.identities import files_needed
from smelter.lake.tables import load_table
from smelter.records.rules import IsBroken, rules_of


@dataclass(frozen=True)
class Breach:
    """Stored rows that a stricter rule would have refused; they stay as they are."""

    field: str
    rule: str
    rows: int


def forecast_rows(lake: Lake, before: Contract, after: Contract) -> list[Breach]:
    """Count the rows of bronze that break a rule which became stricter; reads only the columns that have one."""
    table, breaches = load_table(lake, BRONZE, before.dataset), []
    for name, origin in origins_of(before, after).items():
        if origin is not None:
            rules = tightened(before.fields[origin], after.fields[name])
            breaches += _breaches(table, origin, name, after.fields[name], rules) if rules else []
    return breaches


def _breaches(table: Table, column: str, name: str, field: FieldRules, rules: tuple[str, ...]) -> list[Breach]:
    questions = {rule: ask for rule, ask, _ in rules_of(field.kind, field) if rule in rules}
    found = dict.fromkeys(questions, 0)
    with files_needed(table):
        for batch in table.scan(selected_fields=(column, "_arrived_at")).to_arrow_batch_reader():
            for rule, ask in questions.items():
                found[rule] += _broken(batch, column, field, ask, by_arrival=rule == "not_after_arrival")
    return [Breach(name, rule, rows) for rule, rows in found.items()]


def _broken(batch: pa.RecordBatch, column: str, field: FieldRules, ask: IsBroken, *, by_arrival: bool) -> int:
    """Rows whose value breaks a rule. A rule asks for moments as numbers, as the judge has them."""
    rows = batch.filter(batch.column(column).is_valid())
    values = _as_judged(rows.column(column), field)
    if not by_arrival:
        return sum(ask(value, 0) for value in values)
    arrivals = rows.column("_arrived_at").cast(pa.int64()).to_pylist()
    return sum(ask(value, at) for value, at in zip(values, arrivals, strict=True))


def _as_judged(values: pa.Array, field: FieldRules) -> list[Any]:
    numbers = {"date": pa.int32(), "timestamp": pa.int64()}
    kind = numbers.get(family(field.kind))
    found: list[Any] = (values if kind is None else values.cast(kind)).to_pylist()
    return found
