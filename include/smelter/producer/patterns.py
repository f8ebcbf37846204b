"""Texts that match a regular expression, made by walking its syntax tree."""

from __future__ import annotations

import importlib
import random
import re
import string
from collections.abc import Callable
from functools import lru_cache
from typing import Any

_parser: Any = importlib.import_module("re._parser")
_POOL = string.ascii_letters + string.digits + "_ -.,:;!?@#$%&*+/=<>()[]{}'|~^\"\\`"
_CATEGORIES: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdigit,
    "CATEGORY_NOT_DIGIT": lambda c: not c.isdigit(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda c: not c.isspace(),
    "CATEGORY_WORD": lambda c: c.isalnum() or c == "_",
    "CATEGORY_NOT_WORD": lambda c: not (c.isalnum() or c == "_"),
}
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_NOTHING = frozenset({"AT", "ASSERT", "ASSERT_NOT"})  # these are left to the final `fullmatch`
_ATTEMPTS = 300
_USUAL_REPEATS = 4


class PatternTexts:
    """Makes texts that match `pattern` as a whole and have a length within bounds."""

    def __init__(self, pattern: str, shortest: int = 0, longest: int | None = None) -> None:
        self._tree = _parser.parse(pattern)
        self._compiled = re.compile(pattern)
        self._shortest, self._longest = shortest, longest
        self._more = _USUAL_REPEATS  # grows while texts are too short

    def draw(self, rng: random.Random) -> str | None:
        """One text, or None if none was found: not every pattern can be walked."""
        for _ in range(_ATTEMPTS):
            text = _Walk(rng, self._more).sequence(self._tree)
            if text is not None and self.fits(text):
                return text
            if text is not None and len(text) < self._shortest:
                self._more = min(self._more + 1, max(_USUAL_REPEATS, self._shortest))
        return None

    def fits(self, text: str) -> bool:
        """True if the whole text matches, has the right length and can be written as UTF-8."""
        is_long_enough = self._shortest <= len(text) and (self._longest is None or len(text) <= self._longest)
        is_writable = not any("\ud800" <= c <= "\udfff" for c in text)
        return is_long_enough and is_writable and self._compiled.fullmatch(text) is not None


class _Walk:
    """One way through the tree; `more` is how far a repeat goes beyond its minimum."""

    def __init__(self, rng: random.Random, more: int) -> None:
        self._rng = rng
        self._more = more
        self._groups: dict[int, str] = {}

    def sequence(self, tree: Any) -> str | None:
        parts: list[str] = []
        for op, argument in tree:
            part = self._one(str(op), argument)
            if part is None:
                return None
            parts.append(part)
        return "".join(parts)

    def _one(self, op: str, argument: Any) -> str | None:
        if op == "LITERAL":
            return chr(argument)
        if op == "NOT_LITERAL":
            return self._rng.choice([c for c in _POOL if c != chr(argument)])
        if op == "ANY":
            return self._rng.choice(_POOL)
        if op == "IN":
            return self._class(argument)
        if op == "BRANCH":
            return self.sequence(self._rng.choice(argument[1]))
        if op == "ATOMIC_GROUP":
            return self.sequence(argument)
        if op == "GROUPREF":
            return self._groups.get(argument)
        if op in _NOTHING:
            return ""
        return self._nested(op, argument)

    def _nested(self, op: str, argument: Any) -> str | None:
        if op in _REPEATS:
            return self._repeat(*argument)
        if op == "SUBPATTERN":
            number, _, _, inside = argument
            text = self.sequence(inside)
            if number is not None and text is not None:
                self._groups[number] = text
            return text
        if op == "GROUPREF_EXISTS":
            number, yes, no = argument
            chosen = yes if number in self._groups else no
            return self.sequence(chosen) if chosen is not None else ""
        return None

    def _repeat(self, least: int, most: Any, inside: Any) -> str | None:
        times = self._rng.randint(least, min(int(most), least + self._more))
        parts: list[str] = []
        for _ in range(times):
            part = self.sequence(inside)
            if part is None:
                return None
            parts.append(part)
        return "".join(parts)

    def _class(self, items: Any) -> str | None:
        named = [(str(op), argument) for op, argument in items]
        if named[0][0] == "NEGATE":
            allowed = _outside(tuple(named[1:]))
            return self._rng.choice(allowed) if allowed else None
        op, argument = self._rng.choice(named)
        if op == "LITERAL":
            return chr(argument)
        if op == "RANGE":
            return chr(self._rng.randint(*argument))
        return self._rng.choice(_inside(op, argument))


@lru_cache(maxsize=256)
def _outside(items: tuple[tuple[str, Any], ...]) -> list[str]:
    return [c for c in _POOL if not any(_is_in(c, *item) for item in items)]


@lru_cache(maxsize=256)
def _inside(op: str, argument: Any) -> list[str]:
    return [c for c in _POOL if _is_in(c, op, argument)]


def _is_in(char: str, op: str, argument: Any) -> bool:
    if op == "LITERAL":
        return bool(ord(char) == argument)
    if op == "RANGE":
        return bool(argument[0] <= ord(char) <= argument[1])
    return _CATEGORIES[str(argument)](char)
