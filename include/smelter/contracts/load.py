"""Contracts from files: read, checked, and refused with everything that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from smelter.contracts import places
from smelter.contracts.faults import Fault, faults_of, printable
from smelter.contracts.misfit import nearest
from smelter.contracts.model import Contract
from smelter.errors import Refused, Unreachable

_HOW_TO_MAKE_ONE = "smelt contract new DATASET --from SAMPLE"


class ContractInvalid(Refused):
    """A contract file that cannot be used, with everything that is wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(
            "\n".join(str(fault) for fault in faults),
            data="nothing was read or changed",
            next_step=f"mend the file, then: smelt contract check {faults[0].file}",
        )


def load_contract(path: Path) -> Contract:
    """Read one contract file, whose name is its dataset's; raises `ContractInvalid` with all of its faults."""
    file, placed, contract = _read(path)
    if path.name != f"{contract.dataset}.yaml":
        message = f"dataset: the file is called {path.name}, and must be called {contract.dataset}.yaml"
        raise ContractInvalid([Fault(file, placed.line_of(("dataset",)), printable(message))])
    return contract


def read_contract(path: Path) -> Contract:
    """Read a contract file under any name: two versions of one dataset cannot both be called by it."""
    return _read(path)[2]


def parse_contract(text: str, file: str) -> Contract:
    """Read a contract from its text; `file` is the name that messages use."""
    return _parse(text, file)[1]


def find_contract(folder: Path, dataset: str) -> Contract:
    """The contract of `dataset`; if there is none, the error names those that there are."""
    known = dataset_names(folder)
    if dataset not in known:
        misnamed = folder / f"{dataset}.yml"
        rename = f"mv {misnamed} {misnamed.with_suffix('.yaml')}"
        raise Unreachable(
            f"there is no contract for `{dataset}`{nearest(dataset, known)}",
            where=f"{folder} has {', '.join(known) or 'no contract'}",
            next_step=rename if misnamed.is_file() else f"smelt contract new {dataset} --from SAMPLE",
        )
    return load_contract(folder / f"{dataset}.yaml")


def dataset_names(folder: Path) -> list[str]:
    """The datasets that have a contract file, in order."""
    return sorted(path.stem for path in folder.glob("*.yaml") if not path.name.startswith(".") and not path.is_dir())


def _read(path: Path) -> tuple[str, places.Placed, Contract]:
    file = printable(str(path))
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise Unreachable(f"there is no contract {file}", next_step=_HOW_TO_MAKE_ONE) from None
    except (OSError, ValueError) as problem:
        said = getattr(problem, "strerror", None) or str(problem)
        raise Unreachable(f"the contract cannot be read: {said.lower()}", where=file) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise ContractInvalid([Fault(file, line, f"the file is not UTF-8: {problem.reason}")]) from None
    return file, *_parse(text, str(path))


def _parse(text: str, file: str) -> tuple[places.Placed, Contract]:
    try:
        placed = places.read_placed(text)
    except places.NotYaml as problem:
        raise ContractInvalid([Fault(printable(file), problem.line, printable(str(problem)))]) from None
    if not isinstance(placed.value, dict):
        found = "the file is empty" if placed.value is None else "this is not a mapping"
        fault = Fault(printable(file), placed.line_of(()), f"{found}; a contract is one that begins with `dataset:`")
        raise ContractInvalid([fault])
    try:
        return placed, Contract.model_validate(_lists_as_tuples(placed.value))
    except ValidationError as problem:
        raise ContractInvalid(faults_of(problem.errors(), placed, file)) from None


def _lists_as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists_as_tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_lists_as_tuples(item) for item in value)
    return value
