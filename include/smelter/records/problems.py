"""What is wrong with one record? All of it, with the field, the rule and what was found.

This is the definition of a good record. It is only asked about records that the fast way did not take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from smelter.contracts import Contract, FieldRules
from smelter.contracts.types import Array, Map, Scalar, Struct, Type
from smelter.records.letters import Problem, Reason
from smelter.records.rules import Rules, describe, rules_of
from smelter.records.scalars import WRONG, scalar_reader, why_wrong
from smelter.records.shape import NumberText
from smelter.records.source import Limits
from smelter.records.tree import Repeated, clipped, kind_of, shown, tree_of

_MOST_PROBLEMS = 100
_SCALARS = {str, NumberText, int, bool}
Found = list[Problem]


class Where(msgspec.Struct, frozen=True, gc=False):
    """The record being judged: when it arrived, and the problems found so far."""

    arrived_at: int
    found: Found

    def report(self, problem: Problem) -> None:
        """Keep a problem; beyond the most that anybody reads, only the first of each further reason."""
        if len(self.found) < _MOST_PROBLEMS or all(problem.reason != other.reason for other in self.found):
            self.found.append(problem)


Check = Callable[[Any, str, Where], None]  # value, path, and where to report


class Inspector:
    """Lists the problems of records under one contract."""

    def __init__(self, contract: Contract, limits: Limits) -> None:
        self._limits = limits
        fields = [
            (contract.source_names[name], name, _checked(rules.kind, rules, contract), rules.required)
            for name, rules in contract.fields.items()
        ]
        self._check = _members(fields, forbid_unknown=contract.unknown_fields == "dead_letter")

    def problems_of(self, record: bytes, arrived_at: int) -> Found:
        """Everything that is wrong with a record; an empty list means that it is good."""
        tree = tree_of(record, self._limits)
        if isinstance(tree, Problem):
            return [tree]
        if not isinstance(tree, dict):
            message = f"a record is an object, and this is {kind_of(tree)}"
            return [Problem(Reason.NOT_AN_OBJECT, "object", "", shown(tree), message)]
        where = Where(arrived_at, [])
        self._check(tree, "", where)
        return where.found


def _checked(kind: Type, rules: FieldRules | None, contract: Contract) -> Check:
    """The check of one type, and of the rules where the type itself is right."""
    if isinstance(kind, Array):
        inner = _array(kind, contract)
    elif isinstance(kind, Map):
        inner = _text_map(kind) if kind.value == Scalar("string") else _map(kind, contract)
    elif isinstance(kind, Struct):
        inner = _struct(kind, contract)
    else:
        return _scalar(kind, rules)
    found_rules = rules_of(kind, rules)
    return _then_rules(inner, found_rules) if found_rules else inner


def _then_rules(inner: Check, rules: Rules) -> Check:
    def check(value: Any, path: str, where: Where) -> None:
        before = len(where.found)
        inner(value, path, where)
        if len(where.found) == before:
            _report_rules(rules, value, value, path, where)

    return check


def _report_rules(rules: Rules, value: Any, typed: Any, path: str, where: Where) -> None:
    arrived_at = where.arrived_at
    for rule, is_broken, message in rules:
        if is_broken(typed, arrived_at):
            found = shown(value)
            where.report(Problem(Reason.RULE_BROKEN, rule, path, found, f"`{path}` {message}: {found}"))


def _plain_string(value: Any, path: str, where: Where) -> None:
    """A string without rules, which is what most fields are."""
    if type(value) is not str:
        _wrong_type(value, "string", path, where)


def _scalar(kind: Type, rules: FieldRules | None) -> Check:
    if kind == Scalar("string") and not rules_of(kind, rules):
        return _plain_string
    read, found_rules, wanted = scalar_reader(kind, rules), rules_of(kind, rules), describe(kind, rules)
    why = why_wrong(kind, rules)
    listed = frozenset(rules.one_of or ()) if rules is not None and kind == Scalar("string") else frozenset()

    def check(value: Any, path: str, where: Where) -> None:
        if type(value) is str and value in listed:  # a listed text keeps the other rules too: the contract sees to it
            return
        typed = read(value)
        if typed is WRONG:
            _wrong_type(value, wanted, path, where, why(value))
        elif found_rules:
            _report_rules(found_rules, value, typed, path, where)

    return check


def _wrong_type(value: Any, wanted: str, path: str, where: Where, why: str = "") -> None:
    found = shown(value)
    is_plain = value is None or isinstance(value, list | dict)
    message = f"`{path}` should be {wanted} and is {found if is_plain else f'{kind_of(value)}: {found}'}"
    if why:
        message += f" ({why})"
    where.report(Problem(Reason.WRONG_TYPE, "type", path, found, message))
    _check_repeated_below(value, path, where)


def _array(kind: Array, contract: Contract) -> Check:
    element, wanted, inside = _checked(kind.element, None, contract), describe(kind, None), describe(kind.element, None)

    def check(value: Any, path: str, where: Where) -> None:
        if type(value) is not list:
            _wrong_type(value, wanted, path, where)
            return
        for index, item in enumerate(value):
            if item is None:
                _wrong_type(item, inside, f"{path}[{index}]", where)
            else:
                element(item, f"{path}[{index}]", where)

    return check


def _map(kind: Map, contract: Contract) -> Check:
    element, wanted, inside = _checked(kind.value, None, contract), describe(kind, None), describe(kind.value, None)

    def check(value: Any, path: str, where: Where) -> None:
        if not isinstance(value, dict):
            _wrong_type(value, wanted, path, where)
            return
        _report_repeated(value, path + ".", where)
        for key, item in value.items():
            if item is None:
                _wrong_type(item, inside, f"{path}.{clipped(key)}", where)
            else:
                element(item, f"{path}.{clipped(key)}", where)

    return check


def _text_map(kind: Map) -> Check:
    """Any scalar is a text here, but neither null nor an array nor an object."""
    wanted = describe(kind, None)

    def check(value: Any, path: str, where: Where) -> None:
        if not isinstance(value, dict):
            _wrong_type(value, wanted, path, where)
            return
        _report_repeated(value, path + ".", where)
        if set(map(type, value.values())) <= _SCALARS:
            return
        for key, item in value.items():
            if type(item) not in _SCALARS:
                _wrong_type(item, "string", f"{path}.{clipped(key)}", where)

    return check


def _struct(kind: Struct, contract: Contract) -> Check:
    members = [(m.name, m.name, _checked(m.type, None, contract), m.required) for m in kind.members]
    inner = _members(members, forbid_unknown=contract.unknown_fields == "dead_letter")
    wanted = describe(kind, None)

    def check(value: Any, path: str, where: Where) -> None:
        if isinstance(value, dict):
            inner(value, path + ".", where)
        else:
            _wrong_type(value, wanted, path, where)

    return check


def _members(fields: list[tuple[str, str, Check, bool]], *, forbid_unknown: bool) -> Check:
    known = {name for name, _, _, _ in fields}

    def check(members: Any, path: str, where: Where) -> None:
        _report_repeated(members, path, where)
        for name, column, check_field, required in fields:
            value = members.get(name)
            if value is not None:
                if type(value) is not str or check_field is not _plain_string:  # most fields: no call at all
                    check_field(value, path + name, where)
            elif required:
                _report_missing(path + name, column, name in members, where)
        if not members.keys() <= known:
            for name in members:
                if name not in known:
                    _check_unknown(members[name], path + clipped(name), forbid_unknown, where)

    return check


def _report_missing(path: str, column: str, is_null: bool, where: Where) -> None:
    state = "null" if is_null else "missing"
    alias = "" if path.endswith(column) else f" (column {column})"
    message = f"`{path}`{alias} is required and is {state}"
    where.report(Problem(Reason.MISSING_FIELD, "required", path, state, message))


def _check_unknown(value: Any, path: str, forbid: bool, where: Where) -> None:
    if forbid:
        message = f"`{path}` is not a field of the contract"
        where.report(Problem(Reason.UNKNOWN_FIELD, "unknown_fields", path, shown(value), message))
    _check_repeated_below(value, path, where)


def _report_repeated(tree: dict[str, Any], path: str, where: Where) -> None:
    if type(tree) is not Repeated:
        return
    seen: set[str] = set()
    for name, value in tree.pairs:
        if name in seen:
            place = path + clipped(name)
            message = f"`{place}` appears more than once"
            where.report(Problem(Reason.DUPLICATE_FIELD, "unique_fields", place, shown(value), message))
        seen.add(name)


def _check_repeated_below(value: Any, path: str, where: Where) -> None:
    """Repeated keys are refused at every level, also where nothing else is looked at."""
    if isinstance(value, dict):
        _report_repeated(value, path + ".", where)
        for name, item in value.pairs if isinstance(value, Repeated) else value.items():
            if isinstance(item, list | dict):
                _check_repeated_below(item, f"{path}.{clipped(name)}", where)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, list | dict):
                _check_repeated_below(item, f"{path}[{index}]", where)
