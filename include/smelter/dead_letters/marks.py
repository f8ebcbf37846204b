"""Where in a record's text is what is wrong? Places of fields in JSON, also in a text that is not quite JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{\]}]', re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")
_SPACE = re.compile(r"[\s,]*")
_BYTE = re.compile(r"\bbyte (\d+)\b")
_MOST_LEVELS = 50
_MOST_PLACES = 5  # of one problem
_AROUND = 60  # characters shown on either side


@dataclass(frozen=True)
class Place:
    """A stretch of a text."""

    start: int
    end: int


@dataclass(frozen=True)
class Excerpt:
    """A line of the text with a place on it, and how many characters from its beginning the place lies."""

    line: str
    start: int
    length: int


def places_of(text: str, field: str, message: str) -> list[Place]:
    """Where a problem with a field is; where the message names a byte, that one. None if there is no such place."""
    byte = _BYTE.search(message)
    if not field and byte is not None:
        at = len(text.encode()[: int(byte[1])].decode(errors="ignore"))
        return [Place(at, min(at + 1, len(text)))]
    found = (place for path, place in _members(text) if path == field)
    return list(islice(found, _MOST_PLACES)) if field else []


def excerpt(text: str, place: Place) -> Excerpt:
    """The line around a place; long lines are cut, and what cannot be printed is shown as something that can."""
    first = text.rfind("\n", 0, place.start) + 1
    last = text.find("\n", place.start)
    first, last = max(first, place.start - _AROUND), min(last if last >= 0 else len(text), place.end + _AROUND)
    end = min(place.end, last)
    before, there, after = (_shown(text[a:b]) for a, b in ((first, place.start), (place.start, end), (end, last)))
    dots = ("…" if first and text[first - 1] != "\n" else "", "…" if last < len(text) and text[last] != "\n" else "")
    return Excerpt(dots[0] + before + there + after + dots[1], len(dots[0] + before), max(1, len(there)))


def _shown(text: str) -> str:
    return "".join(character if character.isprintable() else "·" for character in text)


def _members(text: str) -> Iterator[tuple[str, Place]]:
    start = _SPACE.match(text)
    yield from _inside(text, start.end() if start else 0, "", 0)


def _inside(text: str, at: int, path: str, level: int) -> Iterator[tuple[str, Place]]:
    """Every member and element below a value; its own end is known when all of them were seen."""
    if level > _MOST_LEVELS or text[at : at + 1] not in ("{", "["):
        return
    is_object, index, at = text[at] == "{", 0, at + 1
    while True:
        at = _skipped(text, at)
        if at >= len(text) or text[at] in "}]":
            return
        begin = at
        if is_object:
            key = _STRING.match(text, at)
            if key is None:
                return
            name = f"{path}.{_name(key[0])}" if path else _name(key[0])
            at = _skipped(text, key.end())
            if text[at : at + 1] != ":":
                return
            at = _skipped(text, at + 1)
        else:
            name, index = f"{path}[{index}]", index + 1
        end = _end_of(text, at)
        yield name, Place(begin, end)
        yield from _inside(text, at, name, level + 1)
        if end <= at:
            return
        at = end


def _end_of(text: str, at: int) -> int:
    """Where a value ends: by its brackets, or by the next comma."""
    if text[at : at + 1] in ("{", "["):
        depth = 0
        for match in _BRACKET.finditer(text, at):
            depth += (match[0] in "[{") - (match[0] in "]}") if len(match[0]) == 1 else 0
            if depth == 0:
                return match.end()
        return len(text)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    return found.end() if found else at


def _skipped(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _name(quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]
