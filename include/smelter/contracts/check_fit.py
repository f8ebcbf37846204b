"""Do the checks fit the fields? Columns that are not there, values of another type, names that are there twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from smelter.contracts.misfit import Misfit, nearest
from smelter.contracts.rules import COUNTABLE, LISTED, ORDERED, family, rule_value
from smelter.contracts.types import Type, parse_type

if TYPE_CHECKING:
    from smelter.contracts.checks import Check
    from smelter.contracts.model import Contract

_FAMILIES = {
    "in_set": LISTED,
    "between": ORDERED,
    "freshness": frozenset({"timestamp", "date"}),
    "regex": frozenset({"string"}),
    "unique": COUNTABLE,
    "exists_in": COUNTABLE,
}


def check_misfits(contract: Contract, platform: dict[str, str]) -> Iterator[Misfit]:
    """Everything about the checks that does not fit the rest of the contract."""
    if contract.quality and contract.silver is None:
        yield Misfit(("quality",), "`quality` has no meaning without `silver`: it is what silver is judged by")
        return
    kinds: dict[str, Type | None] = {name: field.kind for name, field in contract.fields.items()}
    kinds |= {name: parse_type(text) for name, text in platform.items()}
    kinds |= dict.fromkeys(contract.silver.columns if contract.silver else ())
    seen: set[str] = set()
    for place, check in enumerate(contract.quality):
        for path, message in _problems(check, kinds, contract.dataset):
            yield Misfit(("quality", place, *path), message)
        if check.name in seen:
            yield Misfit(("quality", place, "name"), f"there is a check `{check.name}` already")
        seen.add(check.name)


def _problems(check: Check, kinds: dict[str, Type | None], dataset: str) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for number, column in enumerate(check.columns_named):
        path = ("columns", number) if check.columns else ("column",)
        if column not in kinds:
            yield path, f"there is no column `{column}`{nearest(column, kinds)}"
        elif column in check.columns_named[:number]:
            yield path, f"`{column}` is named twice"
        elif (kind := kinds[column]) is not None and family(kind) not in _FAMILIES.get(check.check, {family(kind)}):
            yield path, f"{check.check} has no meaning for `{column}`, which is {kind}"
        else:
            yield from _value_problems(check, kind)
    if check.check == "row_count":
        yield from _bound_problems(check, parse_type("long"))
    if check.dataset == dataset:
        yield ("dataset",), f"`{dataset}` is the dataset itself; name another"
    if check.expression is not None:
        from smelter.contracts.clock import columns_of_no_text
        from smelter.contracts.expressions import expression_problem

        if problem := expression_problem(check.expression, kinds, columns_of_no_text(kinds)):
            yield ("expression",), problem


def _value_problems(check: Check, kind: Type | None) -> Iterator[tuple[tuple[str | int, ...], str]]:
    seen = set()
    for number, value in enumerate(check.values or ()):
        typed, problem = _typed(kind, value, "values")
        if problem:
            yield ("values", number), problem
        elif (type(typed), typed) in seen:
            yield ("values", number), f"`values: {value}` is listed twice"
        seen.add((type(typed), typed))
    yield from _bound_problems(check, kind)


def _bound_problems(check: Check, kind: Type | None) -> Iterator[tuple[tuple[str | int, ...], str]]:
    bounds = []
    for key in ("min", "max"):
        if (value := getattr(check, key)) is not None:
            typed, problem = _typed(kind, value, key)
            if problem is None and check.check == "row_count" and typed < 0:
                problem = f"`{key}: {value}` is less than no row"
            if problem:
                yield (key,), problem
            else:
                bounds.append(typed)
    if len(bounds) == 2 and type(bounds[0]) is type(bounds[1]) and bounds[0] > bounds[1]:
        yield ("min",), f"`min: {check.min}` is more than `max: {check.max}`: nothing could pass"


def _typed(kind: Type | None, value: Any, key: str) -> tuple[Any, str | None]:
    """The value as the column's type has it; as it is where the type is Spark's to say, and known to nobody here."""
    if kind is None:
        is_odd = isinstance(value, bool) and key in ("min", "max")
        return value, f"`{key}: {str(value).lower()}` has no order" if is_odd else None
    try:
        return rule_value(kind, value, key), None
    except ValueError as problem:
        return None, str(problem)
