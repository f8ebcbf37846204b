"""Which datasets are there, and what does a timetable need to know of them? Read from small files, at every parse."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from smelter.contracts import Contract, dataset_names, load_contract
from smelter.contracts.names import dataset_problem
from smelter.contracts.times import seconds_of
from smelter.errors import SmelterError
from smelter.run_folders import stream_folder
from smelter.settings import Settings, load_settings

_SOURCE = re.compile(r"^--\s*source\s*:\s*silver\.(\w+)\s*$", re.MULTILINE)

_EVERY = re.compile(r"\bevery\s*:")


@dataclass(frozen=True)
class Dataset:
    """A dataset as its timetables see it."""

    name: str
    about: str
    lake: Path
    every: timedelta | None = None
    has_silver: bool = True
    has_gold: bool = True
    problem: str = ""

    @property
    def folder(self) -> Path:
        """Where its stream leaves word."""
        return stream_folder(self.lake, self.name)


def datasets(settings: Settings | None = None) -> list[Dataset]:
    """Every dataset that has a contract file. One that cannot be read keeps its DAGs: their tasks say what is wrong."""
    settings = settings or load_settings().values
    answered = _answered(settings.models)
    names = [name for name in dataset_names(settings.contracts) if dataset_problem(name) is None]
    return [_dataset(settings, name, name in answered) for name in names]


def _dataset(settings: Settings, name: str, has_gold: bool) -> Dataset:
    try:
        contract = load_contract(settings.contracts / f"{name}.yaml")
    except SmelterError as problem:
        every = _every_in(settings.contracts / f"{name}.yaml")
        return Dataset(name, "", settings.lake, every, has_gold=has_gold, problem=problem.what)
    has_silver = contract.silver is not None
    return Dataset(name, contract.about, settings.lake, _every(contract), has_silver, has_silver and has_gold)


def _every(contract: Contract) -> timedelta | None:
    every = contract.source.every
    return None if every is None else timedelta(seconds=seconds_of(every))


def _every_in(path: Path) -> timedelta | None:
    """Whether a contract that cannot be read speaks of a timetable: its DAG must not become a stream meanwhile."""
    with suppress(OSError):
        return timedelta(minutes=15) if _EVERY.search(path.read_text("utf-8", "replace")) else None
    return None


def _answered(models: Path) -> set[str]:
    """The datasets that some model reads. Only that line is read: a wrong model is for its own task to refuse."""
    found: set[str] = set()
    for path in models.glob("*.sql"):
        with suppress(OSError):
            found.update(_SOURCE.findall(path.read_text("utf-8", "replace")))
    return found
