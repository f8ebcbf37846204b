"""Which functions may a model call? Those that give the same answer for the same rows, in whatever order they come.

Names are looked for among the text's words, and what is not known is refused: a function that
reaches outside, tells the time or depends on the order of rows would make two runs over the same silver differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smelter.contracts.clock import literal_problem
from smelter.contracts.functions import FUNCTIONS
from smelter.contracts.misfit import nearest
from smelter.contracts.words import Word

_AGGREGATES_TEXT = """
    any avg bit_and bit_or bit_xor bool_and bool_or corr count count_if covar_pop covar_samp every kurtosis max mean
    median min percentile percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2
    regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp sum try_avg try_sum var_pop
    var_samp variance
"""
AGGREGATES = frozenset(_AGGREGATES_TEXT.split())
RANKS = frozenset({"cume_dist", "dense_rank", "percent_rank", "rank"})
_SYNTAX_TEXT = """
    all and array as binary by case cast char date decimal distinct else except exists extract filter from group
    having ilike in intersect interval join like map not numeric on or over rlike select struct then timestampadd
    timestampdiff union using values varchar when where with
"""
_SYNTAX = frozenset(_SYNTAX_TEXT.split())
_TELLS_WITHOUT_PARENTHESES = frozenset(
    {"current_date", "current_time", "current_timestamp", "current_user", "localtimestamp", "session_user", "user"}
)
_ALLOWED = AGGREGATES | RANKS | FUNCTIONS
_WHY = {
    **dict.fromkeys(("now", "curdate", "rand", "randn", "uuid", "shuffle"), "it is another one at each run"),
    **dict.fromkeys(("first", "first_value", "last", "last_value", "any_value"), "say which row with min or max"),
    **dict.fromkeys(("collect_list", "collect_set", "array_agg", "listagg", "string_agg"), "it depends on row order"),
    **dict.fromkeys(("row_number", "ntile", "lag", "lead", "nth_value"), "it depends on row order; use rank"),
    **dict.fromkeys(("approx_count_distinct", "approx_percentile", "percentile_approx"), "use the exact one"),
}


@dataclass(frozen=True)
class Call:
    """A function that may not be called, and where it is."""

    place: int
    message: str


def refused_calls(words: Sequence[Word]) -> Iterator[Call]:
    """Every call that a model may not make, among the words of its text."""
    for at, word in enumerate(words):
        name = word.text.lower()
        after_dot = at > 0 and words[at - 1].text == "."
        following = words[at + 1].text if at + 1 < len(words) else ""
        if not word.is_name:
            continue
        if name in _TELLS_WITHOUT_PARENTHESES and not after_dot:
            said = f"`{name}` is another one at each run; a model tells the same of the same rows"
            yield Call(word.start, said)
        elif name == "using" and following[:1] == "'":
            yield Call(word.start, "`using '…'` would run a program")
        elif following[:1] == "'" and (problem := literal_problem(name, following[1:-1])):
            yield Call(word.start, problem)
        elif following == "(" and (after_dot or name not in _ALLOWED | _SYNTAX):
            yield Call(word.start, _message(name, after_dot=after_dot))


def _message(name: str, *, after_dot: bool) -> str:
    if after_dot:
        return f"`{name}(…)` is a function of some catalog; a model calls Spark's own only"
    why = _WHY.get(name)
    return f"a model cannot call `{name}`{f': {why}' if why else nearest(name, _ALLOWED, likeness=0.8)}"
