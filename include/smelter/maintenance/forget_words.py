"""A condition that somebody typed becomes one that we understand: comparisons of fields with literals, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from smelter.contracts import Contract
from smelter.contracts.faults import printable
from smelter.contracts.misfit import nearest
from smelter.contracts.model import FieldRules
from smelter.contracts.rules import family
from smelter.errors import WrongUsage
from smelter.maintenance.forget_numbers import BOUNDS, number_of
from smelter.maintenance.person import OPPOSITE, Comparison, Condition, Every, Op, Some, Value, comparisons, decide

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 20_000
_ALLOWED = (
    "a field and a literal with = <> < <= > >=, IN (…), BETWEEN … AND …, LIKE, IS NULL or IS NOT NULL, "
    "joined by AND, OR and NOT"
)
_EXAMPLE = "--where \"user_id = 'u17'\""
_WHOLE, _FRACTIONS = tuple(BOUNDS), ("float", "double", "decimal")
_MOST_TRIES = 100_000
_COMPARED = {"EQ": Op.EQUAL, "NEQ": Op.UNEQUAL, "LT": Op.LESS, "LTE": Op.AT_MOST, "GT": Op.MORE, "GTE": Op.AT_LEAST}
_TURNED = {Op.LESS: Op.MORE, Op.MORE: Op.LESS, Op.AT_MOST: Op.AT_LEAST, Op.AT_LEAST: Op.AT_MOST}
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


def read_condition(text: str, contract: Contract) -> Condition:
    """The condition; whatever is not a plain comparison, or is true of every record, is refused."""
    try:
        condition = _Reader(contract).read(_parsed(text), is_so=True)
        is_everybody = _is_always_true(condition, contract)
    except RecursionError:
        raise _wrong("it is nested too deep; IN (…) takes many values at once") from None
    if is_everybody:
        raise _wrong("every record is so: say whom you mean")
    return condition


def _parsed(text: str) -> exp.Expr:
    from sqlglot import parse
    from sqlglot.errors import SqlglotError

    if len(text) > LONGEST:
        raise _wrong(f"it is longer than {LONGEST:,} characters")
    try:
        found = parse(text, read="duckdb")
    except SqlglotError as problem:
        raise _wrong(f"`{printable(text[:200])}` is not a condition") from problem
    if len(found) != 1 or found[0] is None:
        raise _wrong("it is not one condition: say whom you mean")
    if any(node.comments for node in found[0].walk()):
        raise _wrong("a comment cannot stand in it")
    return found[0]


class _Reader:
    """Reads one condition over the fields of a contract. NOT is moved to the comparisons, so that none is left."""

    def __init__(self, contract: Contract) -> None:
        self._fields = contract.fields

    def read(self, node: exp.Expr, *, is_so: bool) -> Condition:
        from sqlglot import exp

        if isinstance(node, exp.Paren):
            return self.read(_only(node, "this"), is_so=is_so)
        if isinstance(node, exp.Not):
            return self.read(_only(node, "this"), is_so=not is_so)
        if isinstance(node, exp.And | exp.Or):
            _only(node, "this", "expression")
            parts = tuple(self.read(part, is_so=is_so) for part in (node.this, node.expression))
            return Every(parts) if isinstance(node, exp.And) == is_so else Some(parts)
        if isinstance(node, exp.Between):
            _only(node, "this", "low", "high")
            low, high = (self._comparison(node.this, op, [node.args[name]]) for op, name in _ENDS)
            return Every((low, high)) if is_so else Some((_negated(low), _negated(high)))
        found = self._plain(node)
        return found if is_so else _negated(found)

    def _plain(self, node: exp.Expr) -> Comparison:
        from sqlglot import exp

        if isinstance(node, exp.In):
            _only(node, "this", "expressions")
            return self._comparison(node.this, Op.IN, node.expressions)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return self._comparison(_only(node, "this", "expression"), Op.IS_NULL, [])
        if isinstance(node, exp.Like):
            _only(node, "this", "expression", "negate")
            found = self._comparison(node.this, Op.LIKE, [node.expression])
            return _negated(found) if node.args.get("negate") else found
        op = _COMPARED.get(type(node).__name__)
        if op is None:
            raise _wrong(f"`{_shown(node)}` is not a comparison")
        _only(node, "this", "expression")
        if isinstance(node.expression, exp.Column) and not isinstance(node.this, exp.Column):
            return self._comparison(node.expression, _TURNED.get(op, op), [node.this])
        return self._comparison(node.this, op, [node.expression])

    def _comparison(self, column: exp.Expr, op: Op, literals: list[Any]) -> Comparison:
        from sqlglot import exp

        if not isinstance(column, exp.Column):
            raise _wrong(f"`{_shown(column)}` is not a field: say whom you mean")
        if len(column.parts) > 1:
            raise _wrong(f"`{_shown(column)}`: name the field alone")
        name = column.name
        if name not in self._fields:
            raise _wrong(f"there is no field `{printable(name)}`{nearest(name, self._fields)}")
        if op is Op.IN and not literals:
            raise _wrong("IN needs one value at least")
        rules = self._fields[name]
        if op is Op.LIKE and rules.type != "string":
            raise _wrong(f"LIKE is for texts, and `{name}` is {rules.type}")
        return Comparison(name, op, tuple(_value(name, rules, one) for one in literals))


_ENDS = ((Op.AT_LEAST, "low"), (Op.AT_MOST, "high"))


def _only(node: exp.Expr, *known: str) -> Any:
    """The node's main part, if it says nothing that we would pass over."""
    if any(value for name, value in node.args.items() if name not in known):
        raise _wrong(f"`{_shown(node)}` is not a plain comparison")
    return node.this


def _negated(one: Comparison) -> Comparison:
    return Comparison(one.field, OPPOSITE[one.op], one.values)


def _value(name: str, rules: FieldRules, node: exp.Expr) -> Value:
    """A literal as a value of the field's own type; one of another type is refused, with what to write."""
    from sqlglot import exp

    kind = family(rules.kind)
    if isinstance(node, exp.Boolean) and kind == "boolean":
        return bool(node.this)
    sign = -1 if isinstance(node, exp.Neg) else 1
    literal = node.this if isinstance(node, exp.Neg) else node
    if isinstance(literal, exp.Literal):
        try:
            if not literal.is_string and kind in (*_WHOLE, *_FRACTIONS):
                number = Decimal(literal.this)  # arithmetic would round it to 28 digits
                return number_of(number if sign == 1 else number.copy_negate(), kind)
            if literal.is_string and sign == 1 and kind in _TEXTS:
                return _TEXTS[kind](literal.this)
        except (ValueError, ArithmeticError):
            pass
    raise _wrong(f"`{_shown(node)}` is not a value of `{name}`, which is {rules.type}; {_hint(kind)}")


def moment_in(text: str) -> datetime:
    """A time as ISO 8601 writes it, in UTC unless it names an offset."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_TEXTS: dict[str, Callable[[str], Value]] = {"string": str, "timestamp": moment_in, "date": date.fromisoformat}


def _hint(kind: str) -> str:
    hints = {"string": "write 'text' in single quotes", "boolean": "write true or false", "date": "write '2026-11-18'"}
    hints |= {"timestamp": "write '2026-11-18T09:00:00Z'"} | dict.fromkeys((*_WHOLE, *_FRACTIONS), "write a number")
    hints |= {kind: f"write a number from {low} to {high}" for kind, (low, high) in BOUNDS.items()}
    return hints.get(kind, "of such a field only IS NULL and IS NOT NULL can be asked")


def _is_always_true(condition: Condition, contract: Contract) -> bool:
    """Is it so for every record that the contract allows? Tried with values at and around all that it names."""
    named: dict[str, list[Value]] = {}
    for one in comparisons(condition):
        named.setdefault(one.field, []).extend(one.values)
    samples = [list(_samples(contract.fields[name], values)) for name, values in named.items()]
    for values in islice(product(*samples), _MOST_TRIES):
        record = dict(zip(named, values, strict=True))
        if decide(condition, lambda one: bool(one.holds(record[one.field]))) is not True:  # noqa: B023
            return False
    return True


def _samples(rules: FieldRules, values: list[Value]) -> Iterator[Any]:
    if not rules.required:
        yield None
    if rules.one_of is not None and rules.type == "string":
        yield from rules.one_of
        return
    kind = family(rules.kind)
    yield from {"string": ("", "\U0010ffff"), "boolean": (True, False), "date": (date.min, date.max)}.get(kind, ())
    yield from {"timestamp": (_FIRST, _LAST), **dict.fromkeys(_FRACTIONS, (-(10**40), 10**40)), **BOUNDS}.get(kind, ())
    if kind not in _TEXTS and kind not in (*_WHOLE, *_FRACTIONS, "boolean"):
        yield "something"
    low, high = BOUNDS.get(kind, (0, 0))
    for value in values:
        yield from (one for one in _around(value) if kind not in BOUNDS or low <= one <= high)


def _around(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, str):
        yield value + "\x00"
    elif isinstance(value, datetime) or not isinstance(value, date | bool):
        step = timedelta(microseconds=1) if isinstance(value, datetime) else type(value)(1)
        with suppress(OverflowError):  # at the ends of time
            yield from (value - step, value + step)
    elif isinstance(value, date) and date.min < value < date.max:
        yield from (value - timedelta(days=1), value + timedelta(days=1))


def _shown(node: exp.Expr) -> str:
    return printable(node.sql(dialect="duckdb")[:100])


def _wrong(what: str) -> WrongUsage:
    return WrongUsage(f"--where: {what}", where=f"allowed: {_ALLOWED}", data="nothing was changed", next_step=_EXAMPLE)
