"""An expression cut into its words, so strictly that no reader of SQL could cut it in another way."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_LENGTH = 2_000
_MAX_NESTING = 40
_WORD = re.compile(
    r"(?P<space>[ \t\n]+)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?!')"
    r"|(?P<number>[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?(BD|[LSYDF])?)(?![A-Za-z0-9_'])"
    r"|(?P<text>'([^'\\\x00-\x1f]|\\[^\x00-\x1f])*')(?!')"
    r"|(?P<mark><=>|<=|>=|<>|!=|==|->|::|\|\||[-+*/%()\[\],.<>=!&|^~])"
)
_TELLING = {
    '"': 'write texts in single quotes, not in "…"',
    "`": "names need no quotes: take the backticks away",
    ";": "there is one only: take the `;` away",
    "'": "a quote does not end, or touches a word or another quote; write \\' for a quote inside of a text",
}


class NotWords(ValueError):
    """The text is not an expression; the message says why, and `at` where."""

    def __init__(self, message: str, at: int = 0) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True)
class Word:
    """One word, number, text or mark, and where it stands."""

    text: str
    start: int
    is_name: bool

    @property
    def end(self) -> int:
        """Where the next character stands."""
        return self.start + len(self.text)


def words_of(text: str, max_length: int = MAX_LENGTH) -> list[Word]:
    """The words of an expression; raises `NotWords`."""
    if len(text) > max_length:
        raise NotWords(f"it is longer than {max_length} characters")
    if "${" in text:  # Spark puts settings and the environment there, also inside of a text
        raise NotWords("`${` would be replaced by Spark; write concat('$', '{…')", text.index("${"))
    words: list[Word] = []
    at = 0
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise NotWords(_TELLING.get(text[at], f"`{text[at]}` cannot stand here"), at)
        if match["space"] is None:
            words.append(Word(match[0], at, match["name"] is not None))
        at = match.end()
    _refuse_odd_neighbours(words)
    return words


def closing(words: Sequence[Word], opening: int) -> int:
    """The place of the parenthesis that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(words)):
        depth += (words[place].text == "(") - (words[place].text == ")")
        if depth == 0:
            return place
    raise NotWords("a parenthesis is not closed")


def _refuse_odd_neighbours(words: Sequence[Word]) -> None:
    if not words:
        raise NotWords("it is empty")
    depth = 0
    for before, word in itertools.pairwise(words):
        depth += (before.text in ("(", "[")) - (before.text in (")", "]"))
        if depth > _MAX_NESTING:
            raise NotWords(f"it is nested more than {_MAX_NESTING} deep", word.start)
        if before.text[0] == "'" and word.text[0] == "'":
            raise NotWords("two texts stand side by side; write concat(…)", word.start)
        if before.end == word.start and before.text + word.text in ("--", "/*", "//"):
            raise NotWords(
                "comments cannot stand in an expression; write `- -` with a space for a double minus", word.start
            )
