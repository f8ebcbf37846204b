"""Does a text that cannot be read hold a value? It is searched for it, as a whole word or a whole number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from smelter.maintenance.person import Value, Verdict

_PART_OF_A_NUMBER = "[0-9.]"


def stands_in(text: str, values: Iterable[Value]) -> Verdict:
    """Is one of the values anywhere in the text? Nothing if that cannot be told of any of them."""
    verdicts = [one for one in (_stands_in(text, value) for value in values) if one is not None]
    return any(verdicts) if verdicts else None


def _stands_in(text: str, value: Value) -> Verdict:
    """An empty text stands everywhere, and says nothing."""
    if isinstance(value, str):
        return any(_is_word_in(text, form) for form in _forms(value)) if value else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return re.search(f"(?<!{_PART_OF_A_NUMBER}){re.escape(str(value))}(?!{_PART_OF_A_NUMBER})", text) is not None


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
