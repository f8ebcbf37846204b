"""Does a text that cannot be read hold a value? It is searched for it, as a whole word or a whole number."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal

from smelter.maintenance.person import Value, Verdict

_NUMBER = re.compile(r"(?:\d+(?:\.\d+)?|(?<!\d)\.\d+)(?:[eE][-+]?\d+(?!\w))?")

ReadNumber = Callable[[str], Value]  # a number of the text as one of the field's type


def stands_in(text: str, values: Iterable[Value], read: ReadNumber) -> Verdict:
    """Is one of the values anywhere in the text? Nothing if that cannot be told of any of them."""
    verdicts = [one for one in (_stands_in(text, value, read) for value in values) if one is not None]
    return any(verdicts) if verdicts else None


def _stands_in(text: str, value: Value, read: ReadNumber) -> Verdict:
    """Times and truths can be written in too many ways, and an empty text stands everywhere: these tell nothing."""
    if isinstance(value, str):
        return any(_is_word_in(text, form) for form in _forms(value)) if value else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return value in _numbers(text, read)


def _numbers(text: str, read: ReadNumber) -> Iterator[Value]:
    """Every number of the text; with a dash before it, it counts with and without, because a dash may be none."""
    for found in _NUMBER.finditer(text):
        signs = ("", "-") if text[found.start() - 1 : found.start()] == "-" else ("",)
        for sign in signs:
            with suppress(ValueError, ArithmeticError):
                yield read(sign + found.group())


def _is_word_in(text: str, word: str) -> bool:
    """Does it stand there by itself, and not as a part of a longer word?"""
    for at in _places(text, word):
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if not (_are_one_word(before, word[0]) or _are_one_word(word[-1], after)):
            return True
    return False


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _are_one_word(left: str, right: str) -> bool:
    """Scripts without capital letters may write words without a space between them: there any place will do."""
    return all(one and (one == "_" or one.isdigit() or one.lower() != one.upper()) for one in (left, right))


def _forms(value: str) -> Iterable[str]:
    """The text itself, and as JSON writes it."""
    return {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
