"""What every command is given: the lake, its settings, and how to print."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.contracts import Contract, dataset_names, find_contract
from smelter.contracts.faults import printable
from smelter.contracts.misfit import nearest
from smelter.errors import SmelterError, Unreachable
from smelter.settings import LoadedSettings, Settings, load_settings

if TYPE_CHECKING:
    from smelter.lake.home import Lake

IfThere = Annotated[
    bool,
    typer.Option(
        "--if-there",
        help="Exit with 0 and a sentence, instead of 3, while nothing has been ingested yet (for timetables).",
    ),
]


@dataclass(frozen=True)
class Session:
    """One run of `smelt`."""

    lake: Path | None
    debug: bool

    @cached_property
    def loaded(self) -> LoadedSettings:
        """The settings with their origins."""
        return load_settings(self.lake)

    @property
    def settings(self) -> Settings:
        """The settings of the lake."""
        return self.loaded.values

    def contract(self, dataset: str) -> Contract:
        """The contract file of a dataset."""
        return find_contract(self.settings.contracts, dataset)

    def open_lake(self) -> Lake:
        """The lake, with its layout checked."""
        from smelter.lake.home import Lake

        return Lake.at(self.settings)

    def ingested(self, dataset: str | None, *, at_least_one: bool = False) -> list[str]:
        """The dataset that was asked for, or all that have tables; one without tables is refused."""
        from smelter.lake.tables import datasets

        names = datasets(self.open_lake())
        if dataset in names:
            return [dataset]
        if dataset is None and (names or not at_least_one):
            return names
        what = f"nothing has been ingested for {printable(dataset)}" if dataset else "nothing has been ingested yet"
        known = dataset_names(self.settings.contracts)
        near = nearest(dataset, {*names, *known} - {dataset}) if dataset else ""
        next_step = f"smelt ingest {dataset if dataset in known else 'DATASET'} --drain"
        raise Unreachable(f"{what}{near}", where=str(self.settings.lake), next_step=next_step)

    def nothing_yet(self, dataset: str | None) -> str:
        """A sentence, while a dataset has a contract file and no table, or the lake no dataset; otherwise nothing."""
        from smelter.lake.tables import datasets

        names = datasets(self.open_lake())
        if dataset is None:
            return "" if names else "nothing has been ingested yet"
        is_known = dataset in dataset_names(self.settings.contracts)
        return f"nothing has been ingested for {dataset}" if is_known and dataset not in names else ""

    def landing(self, contract: Contract) -> Path:
        """The folder where the dataset's files arrive."""
        return (self.settings.lake / contract.source.files).resolve()


def session_of(context: typer.Context) -> Session:
    """The session that the options before the command made."""
    session = context.obj
    assert isinstance(session, Session)
    return session


def complete_dataset(incomplete: str) -> list[str]:
    """Datasets for the shell to offer; a broken setting must not break the shell's line."""
    try:
        return [name for name in dataset_names(load_settings().values.contracts) if name.startswith(incomplete)]
    except SmelterError:
        return []


def counted(number: int, what: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def plain_values(value: Any) -> Any:
    """The value as JSON can say it: moments as ISO 8601, bytes as hex."""
    if isinstance(value, dict):
        return {key: plain_values(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_nothing(dataset: str, sentence: str, *, as_json: bool) -> None:
    """Say why a command had nothing to do."""
    if as_json:
        print_json({"dataset": dataset, "nothing": sentence})
    else:
        print(sentence)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """A plain table for people; the columns named in `right` are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(soft_wrap=False, highlight=False).print(table)
