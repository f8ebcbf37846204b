"""The types a field can have, and how they are written: `decimal(10,2)`, `array<struct<sku: string not null>>`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from smelter.contracts.misfit import nearest
from smelter.contracts.names import name_problem

SCALARS = ("string", "boolean", "int", "long", "float", "double", "date", "timestamp", "binary")
MAX_PRECISION = 38


@dataclass(frozen=True)
class Scalar:
    """A type without parameters, such as `string` or `timestamp`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal:
    """An exact number with `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class Array:
    """A list of one type, without nulls."""

    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map:
    """String keys to values of one type, without nulls."""

    value: Type

    def __str__(self) -> str:
        return f"map<string,{self.value}>"


@dataclass(frozen=True)
class Member:
    """One field of a struct."""

    name: str
    type: Type
    required: bool


@dataclass(frozen=True)
class Struct:
    """Named members, each null unless it says `not null`."""

    members: tuple[Member, ...]

    def __str__(self) -> str:
        inside = ", ".join(f"{m.name}: {m.type}{' not null' if m.required else ''}" for m in self.members)
        return f"struct<{inside}>"


Type: TypeAlias = Scalar | Decimal | Array | Map | Struct

_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[<>(),:]|\S)")
MAX_NESTING = 20
_CALLED_ELSEWHERE = {
    "integer": "int",
    "bigint": "long",
    "int64": "long",
    "number": "double",
    "numeric": "decimal(10,2)",
    "money": "decimal(10,2)",
    "text": "string",
    "varchar": "string",
    "datetime": "timestamp",
    "time": "timestamp",
    "bytes": "binary",
    "list": "array<string>",
    "object": "map<string,string>",
    "dict": "map<string,string>",
}
_EXAMPLES = {"decimal": "decimal(10,2)", "array": "array<string>", "map": "map<string,string>"}


class TypeProblem(ValueError):
    """The text is not a type; the message says what was expected where."""


def parse_type(text: str) -> Type:
    """Read a type from its text; raises `TypeProblem`."""
    words = _Words(text)
    found = _read_type(words, 0)
    if words.next() is not None:
        raise TypeProblem(f"`{text}` goes on after the type `{found}`")
    return found


class _Words:
    def __init__(self, text: str) -> None:
        self.text = text
        self._words = [match[1] for match in _TOKEN.finditer(text)]
        self._at = 0

    def peek(self) -> str | None:
        return self._words[self._at] if self._at < len(self._words) else None

    def next(self) -> str | None:
        word = self.peek()
        self._at += 1
        return word

    def expect(self, wanted: str, *, example: str = "") -> None:
        found = self.next()
        if found != wanted:
            raise self.problem(f"expected `{wanted}`", found, example)

    def problem(self, expected: str, found: str | None, example: str = "") -> TypeProblem:
        got = f"`{found}`" if found is not None else "the end"
        return TypeProblem(f"in `{self.text}`: {expected}, found {got}{f'; write {example}' if example else ''}")

    def skip(self, *wanted: str) -> bool:
        if tuple(self._words[self._at : self._at + len(wanted)]) != wanted:
            return False
        self._at += len(wanted)
        return True


def _read_type(words: _Words, depth: int) -> Type:
    if depth > MAX_NESTING:
        raise TypeProblem(f"the type is nested more than {MAX_NESTING} levels deep")
    word = words.next()
    if word in SCALARS:
        return Scalar(word)
    if word == "decimal":
        return _read_decimal(words)
    if word == "array":
        words.expect("<", example=_EXAMPLES["array"])
        element = _read_type(words, depth + 1)
        words.expect(">")
        return Array(element)
    if word == "map":
        return _read_map(words, depth)
    if word == "struct":
        return _read_struct(words, depth)
    elsewhere = _CALLED_ELSEWHERE.get((word or "").lower())
    hint = f"; did you mean `{elsewhere}`?" if elsewhere else nearest(word or "", (*SCALARS, *_EXAMPLES, "struct"))
    raise TypeProblem(f"`{word or ''}` is not a type{hint} (the types: {known_types()})")


def known_types() -> str:
    """All types, as they are written."""
    return ", ".join((*SCALARS, "decimal(p,s)", "array<T>", "map<string,T>", "struct<name: T, …>"))


def _read_number(words: _Words) -> int:
    word = words.next()
    if word is None or not word.isdecimal() or not word.isascii() or len(word) > 4:
        raise words.problem("expected a small number", word, _EXAMPLES["decimal"])
    return int(word)


def _read_decimal(words: _Words) -> Decimal:
    words.expect("(", example=_EXAMPLES["decimal"])
    precision = _read_number(words)
    words.expect(",", example=_EXAMPLES["decimal"])
    scale = _read_number(words)
    words.expect(")")
    if not 1 <= precision <= MAX_PRECISION or scale > precision:
        raise TypeProblem(f"`{words.text}`: precision is 1 to {MAX_PRECISION} and scale at most the precision")
    return Decimal(precision, scale)


def _read_map(words: _Words, depth: int) -> Map:
    words.expect("<", example=_EXAMPLES["map"])
    words.expect("string", example=f"{_EXAMPLES['map']}: keys are strings")
    words.expect(",", example=_EXAMPLES["map"])
    value = _read_type(words, depth + 1)
    words.expect(">")
    return Map(value)


def _read_struct(words: _Words, depth: int) -> Struct:
    words.expect("<", example="struct<name: string>")
    members: list[Member] = []
    while not members or words.skip(","):
        name = words.next()
        if name is None or name in "<>(),:":
            raise words.problem("expected the name of a member", name, "struct<name: string>")
        problem = name_problem(name)
        if problem:
            raise TypeProblem(f"in `{words.text}`: {problem}")
        if any(member.name == name for member in members):
            raise TypeProblem(f"in `{words.text}`: `{name}` appears twice")
        words.expect(":")
        type_ = _read_type(words, depth + 1)
        members.append(Member(name, type_, required=words.skip("not", "null")))
    words.expect(">")
    return Struct(tuple(members))
