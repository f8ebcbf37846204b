"""The SQL of a model: one SELECT over `source`, whose rows for a window come from the rows of that window alone.

This is what makes the same text right for everything and for a few windows: each step hands on the keys of its window
unchanged, groups by them, and looks neither at other windows nor at other tables.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse
from sqlglot.errors import ParseError, TokenError

from smelter.contracts.misfit import nearest
from smelter.contracts.names import name_problem
from smelter.gold.functions import AGGREGATES, refused_calls
from smelter.gold.shapes import Sessions, Window
from smelter.gold.text import Text, Unreadable, read_text

SOURCE = "source"
WINDOW_START = "window_start"
WINDOW_END = "window_end"
_NO_ORDER = ("order", "sort", "cluster", "distribute", "limit", "offset")
_NO_FILTER = ("where", "having", "qualify")
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it tells its own log what it stumbles over: ours is a flaw


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong with a model, with its line."""

    line: int
    message: str


@dataclass(frozen=True)
class Statement:
    """A statement that could be read: its columns, in order, and its text, which is what Spark gets."""

    columns: tuple[str, ...]
    text: Text


def read_statement(text: str, first_line: int, window: Window) -> tuple[Statement | None, list[Flaw]]:
    """Read a model's SQL; everything that is wrong with it, and the statement if it is one at all."""
    try:
        read = read_text(text)
        parsed = [one for one in parse(read.sql, dialect="spark") if one is not None]
    except Unreadable as problem:
        return None, [Flaw(problem.line, str(problem))]
    except ParseError as problem:
        said = problem.errors[0]
        near = f", at `{said['highlight']}`" if said.get("highlight") else ""
        return None, [Flaw(int(said.get("line") or first_line), f"this is not SQL{near}: {said['description']}")]
    except (TokenError, RecursionError) as problem:
        return None, [Flaw(first_line, f"this is not SQL: {str(problem).splitlines()[0]}")]
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Query):
        return None, [Flaw(first_line, "a model is one SELECT statement")]
    query = parsed[0]
    flaws = [*_reach(query, first_line), *_columns(query, first_line), *_order(query, first_line)]
    flaws += [Flaw(read.line_of(call.place), call.message) for call in refused_calls(read.words)]
    if window is not None:
        flaws += _locality(query, window, first_line)
    if isinstance(window, Sessions):
        flaws += _every_session(query, first_line)
    return Statement(tuple(query.named_selects), read), flaws


def keys_of(window: Window) -> tuple[str, ...]:
    """The columns that tell one window from another."""
    if window is None:
        return ()
    return (WINDOW_START, *window.by) if isinstance(window, Sessions) else (WINDOW_START,)


def handed_on(window: Window) -> tuple[str, ...]:
    """The columns that every step must keep as they are; gold finds a session again by its end too."""
    return (*keys_of(window), WINDOW_END) if isinstance(window, Sessions) else keys_of(window)


def _line(node: exp.Expr, first_line: int) -> int:
    """The line of the first word in a node; sqlglot keeps none for keywords."""
    return min((int(one.meta["line"]) for one in node.walk() if "line" in one.meta), default=first_line)


def _reach(query: exp.Query, first_line: int) -> Iterator[Flaw]:
    """The only table is `source`; a step that a `with` names may be read too."""
    for listed in query.find_all(exp.Values):
        yield Flaw(_line(listed, first_line), f"the rows of a model come from `{SOURCE}`, not from a list")
    for alias in query.find_all(exp.TableAlias):
        if alias.args.get("columns"):
            said = "a step's columns are named where they are computed: … as NAME"
            yield Flaw(_line(alias, first_line), said)
    steps = {cte.alias_or_name.lower() for cte in query.find_all(exp.CTE)}
    if SOURCE in steps:
        yield Flaw(first_line, f"`{SOURCE}` is the name of silver's rows here; call the step something else")
    tables = list(query.find_all(exp.Table))
    for table in tables:
        name = table.name.lower()
        if table.db or name not in steps | {SOURCE}:
            shown = table.sql(dialect="spark", comments=False)
            hint = nearest(name, {*steps, SOURCE}) or f"; its rows come from `{SOURCE}`"
            yield Flaw(_line(table, first_line), f"a model has one table, and `{shown}` is another{hint}")
    if not any(table.name.lower() == SOURCE and not table.db for table in tables):
        yield Flaw(first_line, f"a model reads `{SOURCE}`, and this one does not")


def _columns(query: exp.Query, first_line: int) -> Iterator[Flaw]:
    seen: set[str] = set()
    for item in query.selects:
        name = item.alias_or_name if isinstance(item, exp.Alias | exp.Column) else ""
        line = _line(item, first_line)
        if item.is_star:
            yield Flaw(line, "name the columns of the table, one by one: `*` would change it with silver")
        elif not name:
            yield Flaw(line, f"`{item.sql(dialect='spark', comments=False)}` needs a name: … as NAME")
        elif problem := name_problem(name):
            yield Flaw(line, problem)
        elif name in seen:
            yield Flaw(line, f"there are two columns `{name}`")
        seen.add(name)

    for star in query.find_all(exp.Star):
        parent = star.parent.parent if isinstance(star.parent, exp.Column) else star.parent
        if not isinstance(parent, exp.Select | exp.Count):
            yield Flaw(first_line, "name the columns of a call, one by one: with `*` it would change with silver")


def _order(query: exp.Query, first_line: int) -> Iterator[Flaw]:
    for select in query.find_all(exp.Query):
        if any(select.args.get(word) for word in _NO_ORDER):
            yield Flaw(_line(select, first_line), "a table has no order: `order by` and `limit` belong to questions")
    for frame in query.find_all(exp.WindowSpec):
        if str(frame.args.get("kind")).lower() == "rows":
            said = "`rows between …` depends on the order of equal rows; `range between …` does not"
            yield Flaw(_line(frame.parent or frame, first_line), said)


def _locality(query: exp.Query, window: Window, first_line: int) -> Iterator[Flaw]:
    keys = keys_of(window)
    for operation in query.find_all(exp.SetOperation):
        yield Flaw(_line(operation, first_line), "union, except and intersect need `window: none`")
    for select in query.find_all(exp.Select):
        line = _line(select, first_line)
        yield from (Flaw(line, message) for message in _step(select, keys, handed_on(window)))
    for call in query.find_all(exp.Window):
        missing = _missing(keys, call.args.get("partition_by") or (), call.find_ancestor(exp.Select))
        if missing:
            yield Flaw(_line(call, first_line), f"`over (…)` must be `partition by {', '.join(keys)}`: {_ONE_WINDOW}")


_ONE_WINDOW = "a row tells of one window, or the others would have to be computed again with it"


def _step(select: exp.Select, keys: tuple[str, ...], kept: tuple[str, ...]) -> Iterator[str]:
    """What one SELECT must keep so that its rows for a window come from that window's rows."""
    parent = select.parent
    in_from = isinstance(parent, exp.Subquery) and isinstance(parent.parent, exp.From)
    if not (parent is None or isinstance(parent, exp.CTE | exp.SetOperation) or in_from):
        yield "a query inside an expression needs `window: none`: it looks at other windows"
    if select.args.get("joins") or select.args.get("laterals") or select.args.get("from_") is None:
        yield "a step of a windowed model reads one thing: `source`, or a step before it; joins need `window: none`"
    if select.args.get("windows") or select.args.get("pivots"):
        yield "named windows and pivots are not used in models; write `over (…)` and `count_if(…)`"
    if not _has_plain_star(select, kept):
        missing = _missing(kept, select.selects, select)
        if missing:
            yield f"it must hand on {_ticked(missing)} as it is: {_ONE_WINDOW}"
    yield from _grouping(select, keys)


def _grouping(select: exp.Select, keys: tuple[str, ...]) -> Iterator[str]:
    group = select.args.get("group")
    if group is None:
        if select.args.get("having") or any(_is_aggregate(node) for node in _own_nodes(select)):
            yield f"it counts over all windows at once; add `group by {', '.join(keys)}`"
        return
    if any(group.args.get(word) for word in ("rollup", "cube", "grouping_sets", "totals")):
        yield "rollup, cube and grouping sets need `window: none`: their sums are of many windows"
    if group.args.get("all"):  # all columns that are not aggregates: the keys, since they must be handed on
        return
    named = [_by_place(select, item) for item in group.expressions]
    missing = _missing(keys, named, select)
    if missing:
        yield f"`group by` must name {_ticked(missing)}: {_ONE_WINDOW}"


def _every_session(query: exp.Query, first_line: int) -> Iterator[Flaw]:
    """A session that gold does not show would be forgotten, and a late row could not join it."""
    for select in query.find_all(exp.Select):
        if any(select.args.get(word) for word in _NO_FILTER):
            yield Flaw(
                _line(select, first_line),
                "a model of sessions keeps every session, so it has no where, having or qualify; "
                "count with count_if(…) or count(*) filter (where …)",
            )


def _own_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    """What stands in a SELECT itself, not in one inside it, nor in what it reads."""
    for item in (*select.selects, select.args.get("qualify")):
        if item is not None:
            yield from (node for node in item.walk() if node.find_ancestor(exp.Select) is select)


def _is_aggregate(node: exp.Expr) -> bool:
    named = isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES
    above = node.parent.parent if isinstance(node.parent, exp.Filter | exp.WithinGroup) else node.parent
    return (named or isinstance(node, exp.AggFunc)) and not isinstance(above, exp.Window)


def _by_place(select: exp.Select, item: exp.Expr) -> exp.Expr:
    """`group by 1` names the first column, and `(a)` is `a`."""
    item = item.unnest()
    if isinstance(item, exp.Literal) and item.is_int and 0 < int(item.this) <= len(select.selects):
        return select.selects[int(item.this) - 1]
    return item


def _missing(keys: tuple[str, ...], items: Sequence[exp.Expr], select: exp.Select | None) -> list[str]:
    """The keys that are not among the items as bare columns under their own name."""
    kept = {
        item.alias_or_name.lower()
        for item in items
        if isinstance(column := item.unalias(), exp.Column)
        and _is_of(column, select)
        and column.name.lower() == item.alias_or_name.lower()
    }
    return [key for key in keys if key not in kept]


def _is_of(column: exp.Column, select: exp.Select | None) -> bool:
    """Is it a column of what the step reads? With another word before its name it is a member of a map or a struct."""
    read = select.args.get("from_") if select is not None else None
    qualifiers = [part.name.lower() for part in column.parts[:-1]]
    return not qualifiers or (read is not None and qualifiers == [read.alias_or_name.lower()])


def _has_plain_star(select: exp.Select, kept: tuple[str, ...]) -> bool:
    stars = [item for item in select.selects if item.is_star]
    names = {item.alias_or_name.lower() for item in select.selects if not item.is_star}
    are_whole = all(not isinstance(item, exp.Column) or _is_of(item, select) for item in stars)
    return bool(stars) and are_whole and not names & set(kept) and not any(_is_cut(item) for item in stars)


def _is_cut(star: exp.Expr) -> bool:
    return any(node.args.get(word) for node in star.walk() for word in ("except_", "replace", "rename"))


def _ticked(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
