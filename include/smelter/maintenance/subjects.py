"""Which tables are looked after, and by which rules? All of the catalog's, by a contract's words or the defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from pyiceberg.table import Table

from smelter.contracts.model import Contract, Maintenance
from smelter.contracts.times import seconds_of
from smelter.contracts.values import bytes_of
from smelter.errors import Refused, SmelterError
from smelter.lake.bookmarks import Bookmark, bookmark_of
from smelter.lake.catalog import catalog_errors, metadata_places, real_path
from smelter.lake.home import BRONZE, DEAD_LETTERS, GOLD, OPS, RESOLUTIONS, SILVER, Lake
from smelter.lake.tables import ACTIVE, active_contract, find_table
from smelter.maintenance.faults import faults_of

_NAME = re.compile(r"[A-Za-z0-9_]+")
_ORDER = (GOLD, SILVER, BRONZE, DEAD_LETTERS, OPS)  # rows leave silver before bronze, of which it is made


@dataclass(frozen=True)
class Policy:
    """The rules for one table, as numbers."""

    snapshot_seconds: int
    most_snapshots: int
    target_bytes: int
    quiet_seconds: int
    orphan_seconds: int
    trash_seconds: int

    @classmethod
    def of(cls, words: Maintenance) -> Policy:
        """What a contract says."""
        return cls(
            seconds_of(words.snapshots),
            words.most_snapshots,
            bytes_of(words.target_file),
            seconds_of(words.quiet),
            seconds_of(words.orphans),
            seconds_of(words.trash),
        )


@dataclass(frozen=True)
class Consumer:
    """A table that is made from another one, and how far it has read it."""

    table: str
    snapshot: int
    command: str  # that brings it up to date


@dataclass(frozen=True)
class Subject:
    """One table, with what must be known to look after it."""

    namespace: str
    name: str
    policy: Policy
    dataset: str | None = None
    contract: Contract | None = None
    consumers: tuple[Consumer, ...] = ()
    keep_rows: str | None = None  # what the model of a gold table says
    is_live: bool = False  # a stream adds files to it at this moment
    shares_with: str | None = None  # another table that lies in the same folder
    problem: SmelterError | None = None  # why it cannot be looked at

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"

    def open(self, lake: Lake) -> Table:
        """The table as it is now; one that cannot be read says why."""
        if self.problem is not None:
            raise self.problem
        table = find_table(lake, self.namespace, self.name)
        if table is None:
            raise Refused(f"{self} is no longer there", data="nothing was changed", next_step="smelt maintain plan")
        return table


@dataclass(frozen=True)
class _Loaded:
    tables: dict[str, Table]
    problems: dict[str, SmelterError]
    places: dict[str, str]  # of the metadata of every table, of other namespaces and names too

    def shares_with(self, name: str) -> str | None:
        """Another table that lies in the folder of this one: somebody registered a copy, or gave one another name."""
        inside = f"{real_path(self.tables[name].location())}{os.sep}"
        return next((other for other, at in self.places.items() if other != name and at.startswith(inside)), None)


def subjects_of(
    lake: Lake, wanted: Iterable[str] = (), live: Collection[str] = (), models: Mapping[str, str | None] | None = None
) -> list[Subject]:
    """The tables that are named, or all. No JVM.

    `live` are the datasets whose stream runs; `models` says which gold tables have one, and how long it keeps rows.
    """
    loaded = _load(lake)
    known = {*loaded.tables, *loaded.problems}
    names = sorted(set(wanted) or known, key=_place)
    for name in names:
        if name not in known:
            raise _unknown(name, known, lake)
    consumers, contracts = _consumers(loaded.tables), _contracts(loaded.tables)
    found = [_subject(name, loaded, consumers, contracts, live) for name in names]
    if models is None:
        return found
    return [replace(one, keep_rows=models.get(str(one)), consumers=_advised(one, models)) for one in found]


def with_consumers(lake: Lake, subject: Subject) -> Subject:
    """The same, with its consumers as far as they are by now."""
    loaded = _load(lake)
    found = _subject(str(subject), loaded, _consumers(loaded.tables), _contracts(loaded.tables), ())
    return replace(subject, consumers=found.consumers, shares_with=found.shares_with)


def _load(lake: Lake) -> _Loaded:
    """Every table of the catalog; one that cannot be read must not hide the others."""
    tables: dict[str, Table] = {}
    problems: dict[str, SmelterError] = {}
    for namespace, name in _names(lake):
        full = f"{namespace}.{name}"
        try:
            with faults_of(full, "bring its metadata back from a backup"):
                table = find_table(lake, namespace, name)
            if table is not None:
                tables[full] = table
        except SmelterError as problem:
            problems[full] = problem
    places = metadata_places(lake.catalog, str(lake.root)) if tables else {}
    return _Loaded(tables, problems, places)


def _names(lake: Lake) -> list[tuple[str, str]]:
    """Tables with plain names: whatever else somebody keeps in the catalog is theirs to look after."""
    if not lake.has_catalog:
        return []
    with catalog_errors(str(lake.root)):
        found = [one for space in lake.catalog.list_namespaces() for one in lake.catalog.list_tables(space)]
    return [(one[0], one[1]) for one in found if len(one) == 2 and all(map(_NAME.fullmatch, one))]


def _place(name: str) -> tuple[int, str]:
    namespace = name.partition(".")[0]
    return (_ORDER.index(namespace) if namespace in _ORDER else len(_ORDER), name)


def _consumers(tables: dict[str, Table]) -> dict[str, list[tuple[str, Bookmark]]]:
    """By the uuid of a table: who reads it, and how far they are."""
    found: dict[str, list[tuple[str, Bookmark]]] = {}
    for name, table in tables.items():
        bookmark = bookmark_of(table) if name.startswith((f"{SILVER}.", f"{GOLD}.")) else None
        if bookmark is not None:
            found.setdefault(bookmark.table, []).append((name, bookmark))
    return found


def _contracts(tables: dict[str, Table]) -> dict[str, Contract]:
    """By the name of a table: the contract whose rows it has. Gold is known by the silver that it read."""
    bronze = {name.partition(".")[2]: one for name, one in tables.items() if ACTIVE in one.properties}
    by_dataset = {dataset: active_contract(table) for dataset, table in bronze.items()}
    silver = {str(one.metadata.table_uuid): name.partition(".")[2] for name, one in tables.items() if _is_silver(name)}
    found: dict[str, Contract] = {}
    for name, table in tables.items():
        namespace, _, short = name.partition(".")
        dataset: str | None = short if namespace in (BRONZE, DEAD_LETTERS, SILVER) else None
        if namespace == GOLD and (bookmark := bookmark_of(table)) is not None:
            dataset = silver.get(bookmark.table)
        if dataset in by_dataset:
            found[name] = by_dataset[dataset]
    return found


def _is_silver(name: str) -> bool:
    return name.startswith(f"{SILVER}.")


def _subject(
    full: str,
    loaded: _Loaded,
    consumers: dict[str, list[tuple[str, Bookmark]]],
    contracts: dict[str, Contract],
    live: Collection[str],
) -> Subject:
    namespace, _, name = full.partition(".")
    contract = contracts.get(full)
    dataset = contract.dataset if contract is not None else None
    subject = Subject(
        namespace,
        name,
        Policy.of(contract.maintenance if contract is not None else Maintenance()),
        dataset,
        contract,
        is_live=namespace in (BRONZE, DEAD_LETTERS) and name != RESOLUTIONS and dataset in live,
        problem=loaded.problems.get(full),
    )
    if full not in loaded.tables:
        return subject
    readers = consumers.get(str(loaded.tables[full].metadata.table_uuid), [])
    found = tuple(Consumer(reader, mark.snapshot, _command(reader, dataset)) for reader, mark in readers)
    return replace(subject, consumers=found, shares_with=loaded.shares_with(full))


def _advised(subject: Subject, models: Mapping[str, str | None]) -> tuple[Consumer, ...]:
    """A table that no model makes any more reads on no more either: a person decides about it."""
    advice = "no model makes it any more; bring the model back, or drop the table"
    gone = {one.table for one in subject.consumers if one.table.startswith(f"{GOLD}.") and one.table not in models}
    return tuple(replace(one, command=advice) if one.table in gone else one for one in subject.consumers)


def _command(reader: str, dataset: str | None) -> str:
    namespace, _, name = reader.partition(".")
    return f"smelt {namespace} {dataset or name}"


def _unknown(name: str, known: set[str], lake: Lake) -> Refused:
    from smelter.contracts.faults import printable
    from smelter.contracts.misfit import nearest

    return Refused(
        f"there is no table {printable(name)}{nearest(name, known)}",
        where=str(lake.root),
        data="nothing was changed",
        next_step="smelt maintain tables lists them",
    )
