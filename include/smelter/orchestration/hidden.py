"""What names a person is for the command only: no log shows it, and no failure, which is told to a chat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

NAMES_A_PERSON = "--where="  # what follows
_HIDDEN = "…"
_QUOTED = re.compile(r"'((?:[^']|'')*)'?|\"((?:[^\"]|\"\")*)\"?")
_PART = re.compile(r"[^\s'\"`(),;=<>!|…]+")
_GRAMMAR = frozenset(["and", "or", "not", "in", "is", "null", "like", "between", "true", "false"])
_SHORTEST_BEGINNING = 4  # characters of a word that was cut off, by which it would still be told


@dataclass(frozen=True)
class Hidden:
    """The conditions of one command, and how they are kept out of what it says."""

    conditions: tuple[str, ...] = ()

    @classmethod
    def of(cls, words: Sequence[str]) -> Hidden:
        """Those that are among the words of a command."""
        return cls(tuple(filter(None, (_condition(word) for word in words))))

    def shown(self, text: str) -> str:
        """The text without the conditions and everything that they name, whole or in part; grammar stays."""
        for condition in self.conditions:
            text = text.replace(condition, _HIDDEN)
        if self._whole is not None:
            text = self._whole.sub(_HIDDEN, text)
        return _PART.sub(self._without_beginning, text) if self.conditions else text

    @property
    def piped(self) -> str | None:
        """What the command reads from its standard input: its arguments can be seen by everybody on the machine."""
        return self.conditions[0] if self.conditions else None

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(one for condition in self.conditions for one in _named(condition))

    @cached_property
    def _whole(self) -> re.Pattern[str] | None:
        longest_first = sorted(self._named, key=len, reverse=True)
        return re.compile("|".join(map(_as_word, longest_first)), re.IGNORECASE) if longest_first else None

    def _without_beginning(self, found: re.Match[str]) -> str:
        """A command may cut what it repeats, so that the last word is a beginning of one of ours."""
        said = found.group().casefold()
        is_one = len(said) >= _SHORTEST_BEGINNING and any(one.casefold().startswith(said) for one in self._named)
        return _HIDDEN if is_one else found.group()


def shown_words(words: Sequence[str]) -> str:
    """The command for a log."""
    return " ".join(f"{NAMES_A_PERSON}{_HIDDEN}" if _condition(word) else word for word in words)


def open_words(words: Sequence[str]) -> list[str]:
    """The words that the process is started with."""
    return [f"{NAMES_A_PERSON}-" if _condition(word) else word for word in words]


def _condition(word: str) -> str:
    return word.removeprefix(NAMES_A_PERSON) if word.startswith(NAMES_A_PERSON) else ""


def _named(condition: str) -> Iterator[str]:
    """Literals, as they are and without doubled quotes; and every word that is no grammar."""
    for single, double in _QUOTED.findall(condition):
        yield from filter(None, (single, double, single.replace("''", "'"), double.replace('""', '"')))
    for part in _PART.findall(condition):
        yield from (one for one in (part, *re.findall(r"\w+", part)) if one.casefold() not in _GRAMMAR)


def _as_word(text: str) -> str:
    before, after = (r"(?<!\w)" if text[0].isalnum() else ""), (r"(?!\w)" if text[-1].isalnum() else "")
    return f"{before}{re.escape(text)}{after}"
