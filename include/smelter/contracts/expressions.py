"""Is this text one harmless expression over the columns of a row? Every word of it must be known.

Two readers must agree: the strict one of `words.py`, which knows no quoting that Spark might read in another way, and
sqlglot's, which says what is a column. sqlglot is imported only where there is an expression.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smelter.contracts.clock import clock_problem
from smelter.contracts.functions import FUNCTIONS, instead_of
from smelter.contracts.misfit import nearest
from smelter.contracts.words import NotWords, Word, closing, words_of

if TYPE_CHECKING:
    from sqlglot import exp

_WORDS = """
    and as between case div else end escape false ilike in interval is like not null or rlike then true when
"""
_UNITS = "microsecond millisecond second minute hour day week month quarter year"
_TYPES = """
    array bigint binary boolean byte date dec decimal double float int integer long map numeric real short smallint
    string timestamp timestamp_ntz tinyint
"""
_BEFORE = "and between case dec decimal div else ilike in like not numeric or rlike then when"
_PLAIN = frozenset((*_WORDS.split(), *_UNITS.split(), *(f"{unit}s" for unit in _UNITS.split()), *_TYPES.split()))
_BEFORE_PARENTHESIS = frozenset(_BEFORE.split())
_NOT_ZERO = re.compile(r"[0-9.]*[1-9]")
_NO_SCALARS = ("Alias", "Kwarg", "Placeholder", "Query", "Star", "Subquery", "Tuple", "Window", "JSONExtract")


@dataclass(frozen=True)
class TryCast:
    """A cast that gives null where it fails: the text of what is cast, and of the whole cast."""

    value: str
    cast: str


def expression_problem(text: str, columns: Collection[str], no_texts: Collection[str] = ()) -> str | None:
    """Say why this is not one scalar expression over these columns that a contract may have, or None if it is.

    `no_texts`: those of the columns that are known to be no texts, and so may be cast to a timestamp.
    """
    try:
        words = words_of(text)
        for at in range(len(words)):
            problem = _call_problem(words, at) or _operator_problem(words, at) or clock_problem(words, at, no_texts)
            if problem:
                return problem
        parsed = _parsed(text)
    except NotWords as unreadable:
        return str(unreadable)
    return _name_problem(words, parsed, columns) or _shape_problem(parsed)


def columns_of(text: str) -> frozenset[str]:
    """The columns that a checked expression reads."""
    return frozenset(column.parts[0].name for column in _columns(_parsed(text)))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A checked expression with its columns under their new names, and not another character changed."""
    places = sorted((column.parts[0].meta["start"], column.parts[0].name) for column in _columns(_parsed(text)))
    for start, name in reversed(places):
        text = text[:start] + names.get(name, name) + text[start + len(name) :]
    return text


def try_casts(text: str) -> tuple[TryCast, ...]:
    """Every `try_cast` and `try_to_…` of a checked expression that can be counted outside of a lambda."""
    return tuple(_try_casts(text))


def _try_casts(text: str) -> Iterator[TryCast]:
    words, parameters = words_of(text), _parameters(_parsed(text))
    for at, word in enumerate(words[:-1]):
        name = word.text.lower()
        if words[at + 1].text != "(" or not (name == "try_cast" or name.startswith("try_to_")):
            continue
        end = closing(words, at + 1)
        inside = words[at + 2 : end]
        if parameters & {inner.text for inner in inside}:
            continue
        until = _end_of_value(inside, "as" if name == "try_cast" else ",")
        value = text[words[at + 1].end : until.start if until else words[end].start].strip()
        yield TryCast(value, text[word.start : words[end].end])


def _end_of_value(inside: list[Word], mark: str) -> Word | None:
    depth = 0
    for word in inside:
        depth += (word.text in "([") - (word.text in ")]")
        if depth == 0 and word.text.lower() == mark:
            return word
    return None


def _parsed(text: str) -> exp.Expr:
    from sqlglot import ParseError, parse

    try:
        statements = parse(text, read="spark")
    except ParseError as problem:
        column = problem.errors[0].get("col") if problem.errors else None
        where = f" at character {column}" if column else ""
        raise NotWords(f"it is not an expression of Spark's SQL{where}") from problem
    except Exception as problem:  # of calls with arguments that it did not think of, it says so in many ways
        raise NotWords("it is not an expression of Spark's SQL") from problem
    if len(statements) != 1 or statements[0] is None:
        raise NotWords("it is not one expression")
    return statements[0]


def _columns(parsed: exp.Expr) -> Iterator[exp.Column]:
    from sqlglot import exp

    return parsed.find_all(exp.Column)


def _parameters(parsed: exp.Expr) -> frozenset[str]:
    from sqlglot import exp

    return frozenset(name.name for found in parsed.find_all(exp.Lambda) for name in found.expressions)


def _shape_problem(parsed: exp.Expr) -> str | None:
    from sqlglot import exp

    kinds = tuple(getattr(exp, name) for name in _NO_SCALARS)
    if parsed.find(*kinds) is not None:
        return "it is not one scalar expression: no alias, `*`, list of columns, subquery or window"
    return None


def _name_problem(words: list[Word], parsed: exp.Expr, columns: Collection[str]) -> str | None:
    """The first word that is neither a column, a parameter, a member, a function nor a plain word of SQL."""
    places = {column.parts[0].meta["start"] for column in _columns(parsed)}
    parameters = _parameters(parsed)
    for at, word in enumerate(words):
        if word.start in places and word.text not in columns:
            return f"there is no column `{word.text}`{nearest(word.text, columns)}"
        is_known = word.start in places or word.text in parameters or word.text.lower() in _PLAIN
        if word.is_name and not (is_known or _is(words, at - 1, ".") or _is(words, at + 1, "(")):
            return f"`{word.text}` cannot stand in a contract's expression"
    return None


def _is(words: list[Word], at: int, mark: str) -> bool:
    return 0 <= at < len(words) and words[at].text == mark


def _call_problem(words: list[Word], at: int) -> str | None:
    name = words[at].text.lower()
    if not words[at].is_name or not _is(words, at + 1, "("):
        return None
    if _is(words, at - 1, "."):
        return f"`{name}` is called with a schema before its name; only Spark's own functions may be called"
    if name not in FUNCTIONS and name not in _BEFORE_PARENTHESIS:
        instead = instead_of(name)
        hint = f"; write {instead}: one bad row would stop all of silver" if instead else ""
        hint = hint or nearest(name, FUNCTIONS, likeness=0.8) or "; docs/contracts.md lists those that are"
        return f"the function `{name}` is not one that a contract may call{hint}"
    end = closing(words, at + 1)
    if name == "cast" and [word.text.lower() for word in words[end - 2 : end]] != ["as", "string"]:
        return "write try_cast: a cast that fails on one row would stop all of silver"
    return None


def _operator_problem(words: list[Word], at: int) -> str | None:
    word, after = words[at].text.lower(), "".join(word.text for word in words[at + 1 : at + 2])
    if word == "::" and after.lower() != "string":
        return "write try_cast: a cast that fails on one row would stop all of silver"
    if word in ("/", "%", "div") and _NOT_ZERO.match(after) is None:
        instead = "try_mod" if word == "%" else "try_divide"
        return f"write {instead}(…), unless a number follows `{word}`: a zero in one row would stop all of silver"
    if word == "[" and not (after.startswith("'") and _is(words, at + 2, "]")):
        return "write get(…) or try_element_at(…): an element that one row lacks would stop all of silver"
    return None
