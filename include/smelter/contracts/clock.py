"""Does an expression ask the clock? Spark reads `'now'` and `'today'` as times, and `'12:30'` as today's.

Of literals and of casts that are written out, the words tell; of casts that Spark makes by itself, only Spark does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from smelter.contracts.types import Decimal, Scalar, Type
from smelter.contracts.words import Word, closing

TIME_WORDS = frozenset({"date", "timestamp", "timestamp_ltz", "timestamp_ntz"})
WRITE_A_FORMAT = "write try_to_timestamp(…, 'yyyy-MM-dd HH:mm:ss'), with the format that the texts have"
_FULL_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{1,2}[0-9:.]*(Z|[-+][0-9:]+)?)?")
_CASTS = frozenset({"try_cast", "try_to_date", "try_to_timestamp"})


def names_a_day(text: str) -> bool:
    """Is this text, without its quotes, a time that is the same at every run: one that begins with a full date?"""
    return _FULL_DATE.fullmatch(text) is not None


def literal_problem(kind: str, text: str) -> str | None:
    """Say why a literal such as `timestamp 'now'` is another one at each run, or None if it is not."""
    if kind.lower() not in TIME_WORDS or names_a_day(text):
        return None
    return f"{kind} '{text}' may be another one at each run; write a full date, such as {kind} '2020-01-31'"


def columns_of_no_text(kinds: Mapping[str, Type | None]) -> frozenset[str]:
    """The columns whose type is known, and is one that never needs to be read as a text."""
    texts = (Scalar("string"), Scalar("binary"))
    return frozenset(name for name, kind in kinds.items() if isinstance(kind, Scalar | Decimal) and kind not in texts)


def clock_problem(words: Sequence[Word], at: int, no_texts: Collection[str]) -> str | None:
    """A literal, or a cast to a time, that begins here and may be another one at each run."""
    name, after = words[at].text, words[at + 1].text if at + 1 < len(words) else ""
    if words[at].is_name and after.startswith("'"):
        return literal_problem(name, after[1:-1])
    if name.lower() not in _CASTS or after != "(":
        return None
    is_cast = name.lower() == "try_cast"
    value, more = _parted(words[at + 2 : closing(words, at + 1)], "as" if is_cast else ",")
    into = {word.text.lower() for word in more} & TIME_WORDS if is_cast else {name.lower().removeprefix("try_to_")}
    has_format = not is_cast and bool(more)
    if not into or has_format:
        return None
    if len(value) == 1 and value[0].text.startswith("'"):
        return literal_problem(sorted(into)[0], value[0].text[1:-1])
    if "timestamp" not in into or (len(value) == 1 and value[0].text in no_texts):
        return None
    return f"{name}(…) would make a text such as '12:30' a time of the day on which silver runs; {WRITE_A_FORMAT}"


def _parted(inside: Sequence[Word], mark: str) -> tuple[Sequence[Word], Sequence[Word]]:
    """What stands before the mark, and what after it; parentheses inside are passed over."""
    depth = 0
    for place, word in enumerate(inside):
        depth += (word.text in ("(", "[")) - (word.text in (")", "]"))
        if depth == 0 and word.text.lower() == mark:
            return inside[:place], inside[place + 1 :]
    return inside, ()
