"""What is wrong with a contract file? Each fault with its line, what is allowed and the nearest spelling."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from smelter.contracts.misfit import Misfits, nearest
from smelter.contracts.model import Contract, FieldRules
from smelter.contracts.places import Path, Placed

_WANTED = {
    "string_type": "a text (in quotes, if it looks like something else)",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a contract file."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


def faults_of(errors: Iterable[ErrorDetails], placed: Placed, file: str) -> list[Fault]:
    """The faults of a file, in the order of their lines."""
    told: dict[tuple[Path, str], None] = {}
    wanted: dict[Path, list[str]] = {}
    for error in errors:
        where = _where(error, placed)
        if error["type"] in _WANTED:  # a value that may have several types fails once for each of them
            wanted.setdefault(where, []).append(_WANTED[error["type"]])
        else:
            told.update(dict.fromkeys(_messages(error, where)))
    told.update({(where, _wrong_kind(placed, where, kinds)): None for where, kinds in wanted.items()})
    faults = [Fault(printable(file), placed.line_of(where), printable(message)) for where, message in told]
    return sorted(faults, key=lambda fault: fault.line)


def printable(text: str) -> str:
    """A text that a file's name or content brought in, without what would move the cursor or cannot be printed."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _where(error: ErrorDetails, placed: Placed) -> Path:
    """The place of an error, as far as it is in the file: branches of a union add words that are not."""
    path = _path(error)
    given = placed.value
    for depth, part in enumerate(path):
        try:
            given = given[part]
        except (KeyError, IndexError, TypeError):
            return path[:depth]
    return path


def _path(error: ErrorDetails) -> Path:
    return tuple(part for part in error["loc"] if part != "[key]")


def _messages(error: ErrorDetails, where: Path) -> list[tuple[Path, str]]:
    if error["type"] == "value_error":
        raised = error["ctx"]["error"]
        if isinstance(raised, Misfits):
            return [((*where, *found.path), _at((*where, *found.path), found.message)) for found in raised.found]
        return [(where, _at(where, str(raised)))]
    if error["type"] == "extra_forbidden":
        return [(where, _unknown_key(_path(error)))]
    if error["type"] == "missing":
        return [(where, f"`{_dotted(_path(error))}` is missing")]
    if error["type"] == "too_short":
        return [] if error["input"] else [(where, _at(where, "it is empty; there must be one at least"))]
    if error["type"] == "literal_error":
        allowed = error["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        near = nearest(str(error["input"]), allowed)
        return [(where, _at(where, f"`{_shown(error['input'])}` is not one of {', '.join(allowed)}{near}"))]
    said = error["msg"].replace("Input should be", "it must be")
    return [(where, _at(where, f"`{_shown(error['input'])}` is not allowed: {said[0].lower()}{said[1:]}"))]


def _wrong_kind(placed: Placed, where: Path, kinds: list[str]) -> str:
    given = placed.value
    for part in where:
        given = given[part]
    if kinds == ["a mapping"] and where[:1] == ("fields",) and len(where) == 2 and isinstance(given, str):
        return _at(where, f"`{_shown(given)}` is not a mapping; write {{type: {_shown(given)}}}")
    wanted = kinds[0] if len(kinds) == 1 else "one value: a text, a number, true or false"
    return _at(where, f"`{_shown(given)}` is not {wanted}")


def _at(where: Path, message: str) -> str:
    return f"{_dotted(where)}: {message}" if where else message


def _dotted(path: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def _unknown_key(path: Path) -> str:
    allowed = sorted(_allowed_keys(path[:-1]))
    inside = f" in `{_dotted(path[:-1])}`" if path[:-1] else ""
    return f"there is no key `{path[-1]}`{inside}{nearest(str(path[-1]), allowed)} (allowed: {', '.join(allowed)})"


def _allowed_keys(path: Path) -> set[str]:
    model: type[BaseModel] = Contract
    if path and path[0] == "fields":
        model = FieldRules
    elif path:
        annotation = Contract.model_fields[str(path[0])].annotation
        options = (annotation, *typing.get_args(annotation))
        model = next(o for o in options if isinstance(o, type) and issubclass(o, BaseModel))
    return {field.alias or name for name, field in model.model_fields.items()}


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
