"""A model's text as Spark gets it: without comments, and of words that no reader of SQL could cut in another way.

Readers of SQL differ about comments and quotes: Spark goes on with a comment on the next line after a backslash, and
joins two texts that stand side by side. What one of them does not see could not be checked, so nobody gets to see it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from smelter.contracts.words import NotWords, Word, words_of

MAX_LENGTH = 20_000
_COMMENT = re.compile(r"(?P<text>'(?:[^'\\]|\\.)*')|--[^\n]*|/\*.*?\*/", re.DOTALL)
_NOT_A_LINE = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Text:
    """The SQL without its comments, each line where it was, and its words."""

    sql: str
    words: tuple[Word, ...]

    @property
    def spelling(self) -> str:
        """One spelling of all texts that mean the same to Spark: neither space nor case of names tells."""
        return " ".join(word.text.lower() if word.is_name else word.text for word in self.words)

    def line_of(self, place: int) -> int:
        """The line of a character."""
        return line_of(self.sql, place)


class Unreadable(ValueError):
    """A text that cannot be cut into words; the message says why."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_text(text: str) -> Text:
    """Take the comments out and cut the rest into words; raises `Unreadable`."""
    sql = _COMMENT.sub(lambda found: found[0] if found["text"] else _NOT_A_LINE.sub(" ", found[0]), text).rstrip()
    sql = sql.removesuffix(";").replace("\r", " ")
    try:
        return Text(sql, tuple(words_of(sql, MAX_LENGTH)))
    except NotWords as problem:
        raise Unreadable(str(problem), line_of(sql, problem.at)) from problem


def line_of(text: str, place: int) -> int:
    """The line of a character."""
    return text.count("\n", 0, place) + 1
