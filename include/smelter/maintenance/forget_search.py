"""Does a text that cannot be read hold a value? It is searched for it, as a whole word or a whole number."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal

from smelter.maintenance.person import Value, Verdict

LOST = "\N{REPLACEMENT CHARACTER}"
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)?|(?<!\d)\.\d+)(?:[eE][-+]?\d+(?!\w))?")

_ESCAPED = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\([\"\\/bfnrt])")
_STANDS_FOR = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MOST_LAYERS = 3  # JSON in a text of JSON in a text of JSON
_ENCODINGS = ("latin-1", "cp1252")

ReadNumber = Callable[[str], Value]  # a number of the text as one of the field's type


def is_lossy(text: str, data: bytes | None) -> bool:
    """Does the text lack something that its bytes have? They are not UTF-8 then."""
    return data is not None and LOST in text


def readings(text: str, data: bytes | None) -> tuple[str, ...]:
    """The text and all that it may mean: without escapes, and its bytes in encodings that take any byte."""
    texts = [text]
    if data is not None and is_lossy(text, data):
        texts += [data.decode(name, "replace") for name in _ENCODINGS]
    return tuple(dict.fromkeys(one for each in texts for one in _layers(each)))


def _layers(text: str) -> Iterator[str]:
    for _ in range(_MOST_LAYERS):
        yield text
        if "\\" not in text:
            return
        text = _ESCAPED.sub(_meaning, text)
    yield text


def _meaning(found: re.Match[str]) -> str:
    codes, mark = found.groups()
    if codes is None:
        return _STANDS_FOR.get(mark, mark)
    return bytes.fromhex(codes.replace("\\u", "")).decode("utf-16-be", "replace")


def stands_in(texts: Sequence[str], values: Iterable[Value], read: ReadNumber) -> Verdict:
    """Is one of the values anywhere in the texts? Nothing if that cannot be told of any of them."""
    verdicts = [one for one in (_stands_in(texts, value, read) for value in values) if one is not None]
    return any(verdicts) if verdicts else None


def _stands_in(texts: Sequence[str], value: Value, read: ReadNumber) -> Verdict:
    """Times and truths can be written in too many ways, and an empty text stands everywhere: these tell nothing."""
    if isinstance(value, str):
        return any(_is_word_in(text, value) for text in texts) if value else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    return any(value in _numbers(text, read) for text in texts)


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
