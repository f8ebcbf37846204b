"""Contracts from files: every problem with its file, its line, what is allowed and the nearest spelling."""

from __future__ import annotations

import difflib
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from smelter.contracts import places
from smelter.contracts.model import Contract, FieldRules
from smelter.errors import Refused, Unreachable


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a contract file."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


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
    """Read one contract file; raises `ContractInvalid` with all of its faults."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise Unreachable(f"there is no contract {path}", next_step="smelt contract new DATASET --from SAMPLE") from None
    except UnicodeDecodeError as problem:
        raise ContractInvalid([Fault(str(path), 1, f"the file is not UTF-8: {problem.reason}")]) from None
    except OSError as problem:
        raise Unreachable(f"the contract cannot be read: {problem.strerror}", where=str(path)) from None
    contract = parse_contract(text, str(path))
    if path.stem != contract.dataset:
        fault = Fault(str(path), 1, f"the file is called {path.name}, its dataset `{contract.dataset}`: name both alike")
        raise ContractInvalid([fault])
    return contract


def parse_contract(text: str, file: str) -> Contract:
    """Read a contract from its text; `file` is the name that messages use."""
    try:
        placed = places.read_placed(text)
    except places.NotYaml as problem:
        raise ContractInvalid([Fault(file, problem.line, str(problem))]) from None
    if not isinstance(placed.value, dict):
        raise ContractInvalid([Fault(file, 1, "a contract is a mapping that begins with `dataset:`")])
    try:
        return Contract.model_validate(_lists_as_tuples(placed.value))
    except ValidationError as problem:
        faults = [_fault(error, placed, file) for error in problem.errors()]
        raise ContractInvalid(sorted(faults, key=lambda fault: fault.line)) from None


def find_contract(folder: Path, dataset: str) -> Contract:
    """The contract of `dataset`; if there is none, the error names those that there are."""
    path = folder / f"{dataset}.yaml"
    known = dataset_names(folder)
    if dataset not in known:
        near = difflib.get_close_matches(dataset, known, n=1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise Unreachable(
            f"there is no contract for `{dataset}`{hint}",
            where=f"{folder} has {', '.join(known) or 'no contract'}",
            next_step=f"smelt contract new {dataset} --from SAMPLE",
        )
    return load_contract(path)


def dataset_names(folder: Path) -> list[str]:
    """The datasets that have a contract file, in order."""
    return sorted(path.stem for path in folder.glob("*.yaml") if not path.name.startswith("."))


def _lists_as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lists_as_tuples(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_lists_as_tuples(item) for item in value)
    return value


def _fault(error: ErrorDetails, placed: places.Placed, file: str) -> Fault:
    path = tuple(part for part in error["loc"] if part != "[key]")
    given, deepest = placed.value, 0
    for deepest, part in enumerate(path, start=1):  # union branches add words to the path that are not in the file
        try:
            given = given[part]
        except (KeyError, IndexError, TypeError):
            deepest -= 1
            break
    where = path[: max(deepest, 1)] if path else ()
    shown = ".".join(str(part) for part in where)
    return Fault(file, placed.line_of(where), _message(error, path, shown))


def _message(error: ErrorDetails, path: tuple[Any, ...], shown: str) -> str:
    if error["type"] == "extra_forbidden":
        return _unknown_key(path)
    if error["type"] == "missing":
        return f"`{'.'.join(map(str, path))}` is missing"
    if error["type"] == "value_error":
        said = str(error["ctx"]["error"])
        return f"{shown}: {said}" if shown else said
    if error["type"] == "literal_error":
        return f"{shown}: `{error['input']}` is not one of {error['ctx']['expected']}" + _nearest(
            str(error["input"]), error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        )
    said = error["msg"].replace("Input should be", "it should be").replace("valid tuple", "list")
    return f"{shown}: `{_short(error['input'])}` is not allowed here: {said[0].lower()}{said[1:]}"


def _unknown_key(path: tuple[Any, ...]) -> str:
    allowed = sorted(_allowed_keys(path[:-1]))
    where = ".".join(str(part) for part in path[:-1])
    inside = f" in `{where}`" if where else ""
    return (
        f"there is no key `{path[-1]}`{inside}{_nearest(str(path[-1]), allowed)} "
        f"(allowed: {', '.join(allowed)})"
    )


def _nearest(word: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(word, allowed, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def _allowed_keys(path: tuple[Any, ...]) -> set[str]:
    model: type[BaseModel] = Contract
    if path and path[0] == "fields":
        model = FieldRules
    elif path:
        annotation = Contract.model_fields[str(path[0])].annotation
        options = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
        model = next(o for o in options if isinstance(o, type) and issubclass(o, BaseModel))
    return {field.alias or name for name, field in model.model_fields.items()}


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
