"""Where is the person? The records of bronze, silver and dead letters that a condition means; changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyiceberg.table import Table

from smelter.contracts import Contract
from smelter.errors import Refused
from smelter.explore import Explorer, connect
from smelter.explore.quoting import quoted_name
from smelter.lake.forgotten import Why, forgotten
from smelter.lake.home import BRONZE, DEAD_LETTERS, RESOLUTIONS, SILVER, Lake
from smelter.lake.identities import ABOUT_FILES, Positions, positions_of, positions_of_rows
from smelter.lake.tables import find_table, load_table
from smelter.maintenance.forget_letters import How, LetterReader
from smelter.maintenance.person import Condition, comparisons, sql_of
from smelter.postgres import CATALOG_NAME

_BATCH_ROWS = 20_000
_NONE: Positions = np.empty(0, np.int64)
_LETTERS = "select _source, _position, raw, raw_bytes from {table}"
_TEXTS = """
select _source, _position, raw, raw_bytes from dead_letters.resolutions where dataset = $dataset and raw is not null
"""


@dataclass(frozen=True)
class Found:
    """How many rows each table has of the records that are meant, and which records these are."""

    bronze: int = 0
    dead_letters: int = 0
    resolutions: int = 0
    silver: int = 0
    unreadable_letters: int = 0  # of the dead letters, those whose text could only be searched
    unjudged_letters: int = 0  # those of which nobody can tell whether the condition means them
    letters_emptied: int = 0  # they are about files and stay: their texts go
    identities: Mapping[str, Positions] = field(default_factory=dict, repr=False)
    emptied: Mapping[str, Positions] = field(default_factory=dict, repr=False)

    @property
    def is_nobody(self) -> bool:
        """Is there nothing of the person?"""
        return not (self.bronze or self.dead_letters or self.resolutions or self.silver or self.letters_emptied)

    @property
    def sources(self) -> set[str]:
        """Where the person was read from."""
        return {*self.identities, *self.emptied}


def look_for(lake: Lake, contract: Contract, condition: Condition) -> Found:
    """Every record that the condition means, wherever a row of it is; also what an interrupted run left behind.

    A record is meant as a whole: if its letter names the person, its row in bronze goes too. But where a letter could
    only be searched and the record has a row, the row decides: it can be read. And a letter about a file stands for all
    that is still to come from it: it stays, and is emptied.
    """
    tables = _tables(lake, contract.dataset)
    _refuse_unless_asked(tables.get(SILVER), contract, condition)
    with connect(lake.root, catalog=lake.address) as explorer:
        rows = [_rows(explorer, name, contract.dataset, condition) for name in (BRONZE, SILVER) if name in tables]
        told, files = _letters(explorer, contract, condition), _about_files(explorer, contract.dataset)
    begun = forgotten(lake, contract.dataset, why=Why.FORGET)
    whole = union(*rows, _still_in(tables, begun))
    readable = [tables[name] for name in (BRONZE, SILVER) if name in tables]
    by_search = _without_rows(told.searched, readable)
    meant = union(whole, without(union(told.read, by_search), files))
    emptied = without(within(union(told.read, told.searched), files), whole)
    count = {name: _count(tables, name, meant) for name in tables}
    return Found(
        count[BRONZE],
        count[DEAD_LETTERS],
        count[RESOLUTIONS],
        count.get(SILVER, 0),
        size(within(told.unreadable, meant)),
        size(without(_without_rows(told.untold, readable), union(meant, emptied))),
        _count(tables, DEAD_LETTERS, emptied),
        meant,
        emptied,
    )


def union(*parts: Mapping[str, Positions]) -> dict[str, Positions]:
    """Every identity that is in one of them, once."""
    found: dict[str, list[Positions]] = {}
    for part in parts:
        for source, positions in part.items():
            found.setdefault(source, []).append(positions)
    return {source: np.unique(np.concatenate(several)) for source, several in found.items()}


def within(part: Mapping[str, Positions], whole: Mapping[str, Positions]) -> dict[str, Positions]:
    """Those of the part that are in the whole too."""
    return filled({source: np.intersect1d(one, whole[source]) for source, one in part.items() if source in whole})


def filled(found: Mapping[str, Positions]) -> dict[str, Positions]:
    """Without the sources that have none."""
    return {source: positions for source, positions in found.items() if len(positions)}


def without(found: Mapping[str, Positions], others: Mapping[str, Positions]) -> dict[str, Positions]:
    """Those of them that are not among the others."""
    return filled({source: np.setdiff1d(one, others.get(source, _NONE)) for source, one in found.items()})


def size(found: Mapping[str, Positions]) -> int:
    """How many records these are."""
    return sum(len(positions) for positions in found.values())


def _tables(lake: Lake, dataset: str) -> dict[str, Table]:
    found = {name: load_table(lake, name, dataset) for name in (BRONZE, DEAD_LETTERS)}
    found[RESOLUTIONS] = load_table(lake, DEAD_LETTERS, RESOLUTIONS)
    silver = find_table(lake, SILVER, dataset)
    return found if silver is None else {**found, SILVER: silver}


def _refuse_unless_asked(silver: Table | None, contract: Contract, condition: Condition) -> None:
    """Silver may still have the columns of an older contract: then nobody could tell who is in it."""
    missing = [one.field for one in comparisons(condition) if silver and one.field not in silver.schema().column_names]
    if missing:
        raise Refused(
            f"silver.{contract.dataset} has no column `{missing[0]}` yet, so that nobody can be looked for in it",
            where=contract.label,
            data="nothing was changed",
            next_step=f"smelt silver {contract.dataset}, then run it again",
        )


def _rows(explorer: Explorer, namespace: str, dataset: str, condition: Condition) -> dict[str, Positions]:
    where, bound = sql_of(condition)
    question = f"select _source, _position from {namespace}.{quoted_name(dataset)} where {where}"  # noqa: S608
    return positions_of_rows(explorer.execute(question, bound).arrow())


@dataclass(frozen=True)
class _Told:
    """Records whose texts are about the person: as they read, or only by a search."""

    read: Mapping[str, Positions]
    searched: Mapping[str, Positions]
    untold: Mapping[str, Positions]  # those of which nobody can tell, by their own letter
    unreadable: Mapping[str, Positions] = field(default_factory=dict)  # those whose own letter was searched


def _letters(explorer: Explorer, contract: Contract, condition: Condition) -> _Told:
    """The letters that are about the person, by their own text, a corrected or a later one."""
    reader = LetterReader(contract, condition)
    table = f"{CATALOG_NAME}.{DEAD_LETTERS}.{quoted_name(contract.dataset)}"
    own = _read(reader, explorer.execute(_LETTERS.format(table=table)).batches(_BATCH_ROWS))
    later = _read(reader, explorer.execute(_TEXTS, {"dataset": contract.dataset}).batches(_BATCH_ROWS))
    return _Told(union(own.read, later.read), union(own.searched, later.searched), own.untold, own.searched)


def _read(reader: LetterReader, batches: Iterator[pa.RecordBatch]) -> _Told:
    parts: dict[How, list[dict[str, Positions]]] = {how: [] for how in How}
    for batch in batches:
        texts = zip(*(batch.column(name).to_pylist() for name in ("raw", "raw_bytes")), strict=True)
        hows = [reader.how(text, data) for text, data in texts]
        for how, part in parts.items():
            part.append(_those(batch, [one is how for one in hows]) if how in hows else {})
    return _Told(*(union(*parts[how]) for how in (How.READ, How.SEARCHED, How.UNTOLD)))


def _those(batch: pa.RecordBatch, chosen: list[bool]) -> dict[str, Positions]:
    return positions_of_rows(pa.Table.from_batches([batch]).filter(pa.array(chosen, pa.bool_())))


def _about_files(explorer: Explorer, dataset: str) -> dict[str, Positions]:
    """Letters that stand for a file and not for a record, as far as anybody knows by now."""
    reasons = ", ".join(f"'{reason}'" for reason in sorted(ABOUT_FILES))
    table = f"{DEAD_LETTERS}.{quoted_name(dataset)}"
    return positions_of_rows(
        explorer.execute(f"select _source, _position from {table} where reason in ({reasons})").arrow()  # noqa: S608
    )


def _without_rows(found: Mapping[str, Positions], tables: list[Table]) -> dict[str, Positions]:
    """Those of them that have no row in one of the tables."""
    return without(found, union(*(positions_of(table, found) for table in tables))) if found else {}


def _still_in(tables: Mapping[str, Table], begun: Mapping[str, Positions]) -> dict[str, Positions]:
    """What was to be forgotten and has not left every table: a run was interrupted."""
    return union(*(within(_held(tables, name, begun), begun) for name in tables))


def _held(tables: Mapping[str, Table], name: str, sources: Mapping[str, Positions]) -> dict[str, Positions]:
    """What the table has of these sources and of the dataset: others may have had a source of the same name."""
    if not sources:
        return {}
    dataset = tables[BRONZE].name()[-1] if name == RESOLUTIONS else None
    return positions_of(tables[name], sources, dataset=dataset)


def _count(tables: Mapping[str, Table], name: str, meant: Mapping[str, Positions]) -> int:
    """How many rows the table has of these records."""
    held = _held(tables, name, meant)
    return int(sum(np.isin(positions, meant[source]).sum() for source, positions in held.items()))
