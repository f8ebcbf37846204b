"""Which records are letters no more, or left for good? So that nobody counts one twice, or brings it back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import And, BooleanExpression, EqualTo, In, NotNull
from pyiceberg.table import Table

from smelter.lake.forgotten import forgotten
from smelter.lake.home import DEAD_LETTERS, RESOLUTIONS, Lake
from smelter.lake.identities import Positions, files_needed, positions_of, positions_of_rows
from smelter.lake.letter_status import WENT_HOME, Outcome
from smelter.lake.tables import find_table

_IDENTITY = (("_source", pa.string()), ("_position", pa.int64()))
_NOTHING: Positions = np.empty(0, np.int64)


@dataclass(frozen=True)
class Resolved:
    """Positions per source of letters that are closed, in bronze or discarded; and of records that left for good."""

    went_home: dict[str, Positions]
    discarded: dict[str, Positions]
    forgotten: dict[str, Positions] = field(default_factory=dict)

    def standing(self, source: str, letters: Positions, rows: Positions = _NOTHING) -> Positions:
        """The positions of a source whose place is dead letters, of those that have one and of those that had.

        A discarded letter counts also after retention has removed it, and so does a record that was forgotten and is
        not among the rows of bronze: it must not come back.
        """
        left = np.setdiff1d(letters, self.went_home.get(source, _NOTHING))
        gone = np.setdiff1d(self.forgotten.get(source, _NOTHING), rows)
        return np.union1d(np.union1d(left, self.discarded.get(source, _NOTHING)), gone)

    def standing_in(self, letters: Table, bronze: Table, counts: dict[str, int]) -> dict[str, int]:
        """How many records of each source have their place among dead letters, of the rows that there are."""
        touched = self.went_home.keys() | self.discarded.keys() | self.forgotten.keys()
        held, rows = (positions_of(table, touched) if touched else {} for table in (letters, bronze))
        changed = {
            source: len(self.standing(source, held.get(source, _NOTHING), rows.get(source, _NOTHING)))
            for source in touched
        }
        return {source: count for source, count in (counts | changed).items() if count}


def resolved(lake: Lake, dataset: str, sources: Iterable[str] | None = None) -> Resolved:
    """What became of letters and of records that left for good, of these sources or of all."""
    wanted = None if sources is None else set(sources)
    last = last_outcomes(lake, dataset, wanted)
    home, discarded = (positions_of_rows(_with(last, outcomes)) for outcomes in (WENT_HOME, (Outcome.DISCARDED,)))
    return Resolved(home, discarded, forgotten(lake, dataset, wanted))


def closed_letters(lake: Lake, dataset: str) -> pa.Table:
    """The identities of letters that are open no more."""
    return _with(last_outcomes(lake, dataset), (*WENT_HOME, Outcome.DISCARDED)).select(["_source", "_position"])


def last_outcomes(lake: Lake, dataset: str, sources: Iterable[str] | None = None) -> pa.Table:
    """Of each identity what happened to it last."""
    return _last(lake, dataset, "outcome", sources)


def last_reasons(lake: Lake, dataset: str) -> pa.Table:
    """Of each identity that was judged again what was wrong with it then."""
    return _last(lake, dataset, "reason")


def _last(lake: Lake, dataset: str, column: str, sources: Iterable[str] | None = None) -> pa.Table:
    table = find_table(lake, DEAD_LETTERS, RESOLUTIONS)
    if table is None or table.current_snapshot() is None:
        return pa.table({name: pa.array([], kind) for name, kind in (*_IDENTITY, (column, pa.string()))})
    where: BooleanExpression = And(EqualTo(term="dataset", value=dataset), NotNull(term=column))
    if sources is not None:
        where = And(where, In(term="_source", literals=set(sources)))
    with files_needed(table):
        rows = table.scan(row_filter=where, selected_fields=("_source", "_position", column, "resolved_at")).to_arrow()
    ordered = rows.sort_by("resolved_at")
    found = ordered.group_by(["_source", "_position"], use_threads=False).aggregate([(column, "last")])
    return found.rename_columns([*(name for name, _ in _IDENTITY), column])


def _with(last: pa.Table, outcomes: Iterable[Outcome]) -> pa.Table:
    return last.filter(pc.is_in(last["outcome"].cast(pa.string()), pa.array(list(outcomes), pa.string())))
