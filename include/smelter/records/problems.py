"""What is wrong with one record? All of it, with the field, the rule and what was found.

This is the definition of a good record. It is only asked about records that the fast way did not take.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

import msgspec

from smelter.contracts import Contract, FieldRules
from smelter.contracts.rules import INTEGERS, family, rule_value
from smelter.contracts.times import seconds_of
from smelter.contracts.types import Array, Decimal, Map, Member, Scalar, Struct, Type
from smelter.records.columns import exact_decimal, latest_moment, moment_number
from smelter.records.letters import Problem, Reason
from smelter.records.scan import Outcome, scan_value
from smelter.records.shape import FLOAT32_OVERFLOW, whole_text
from smelter.records.source import Limits
from smelter.records.times import TimeReader

SHOWN = 80
_MOST_PROBLEMS = 100


class Number(str):
    """The exact text of a JSON number."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of a JSON object in the order of the text, repeated keys and all."""

    __slots__ = ()


_read_tree = json.JSONDecoder(object_pairs_hook=Members, parse_float=Number, parse_int=Number).decode
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def tree_of(record: bytes, limits: Limits) -> Any | Problem:
    """The record as a tree that keeps repeated keys and the text of numbers, or why it is not JSON."""
    if len(record) > limits.max_record_bytes:
        return too_large(limits)
    try:
        text = record.decode("utf-8")
    except UnicodeDecodeError as problem:
        found = repr(record[problem.start : problem.start + 8])[2:-1]
        message = f"the record is not UTF-8: byte {problem.start} is {found}"
        return Problem(Reason.BAD_ENCODING, "utf8", "", found, message)
    if record.count(b"{") + record.count(b"[") > limits.max_depth:
        scan = scan_value(record, 0, limits.max_depth)
        if scan.outcome is Outcome.BROKEN and scan_value(record, 0, len(record)).end > scan.end:
            return _too_deep(limits)
    try:
        _decode_raw(record)
        return _read_tree(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return not_json(record, limits)


def not_json(record: bytes, limits: Limits) -> Problem:
    """Why a record is not JSON, with the place."""
    scan = scan_value(record, 0, limits.max_depth)
    if scan.outcome is Outcome.WHOLE and not record[scan.end :].strip():
        found, message = "a lone surrogate", "not JSON: a \\u escape is half of a pair"
        return Problem(Reason.NOT_JSON, "json", "", found, message)
    if scan.outcome is Outcome.OPEN:
        return Problem(Reason.NOT_JSON, "json", "", "the end", "not JSON: the record ends before it is complete")
    rest = record[scan.end :].lstrip(b" \t\r\n")
    found = shown(rest[:40].decode("utf-8", "replace"))
    message = f"not JSON: at byte {len(record) - len(rest)} found {found}" if rest else "not JSON: there is nothing"
    return Problem(Reason.NOT_JSON, "json", "", found, message)


def too_large(limits: Limits) -> Problem:
    """The problem of a record that is too long."""
    limit = f"{limits.max_record_bytes:,} bytes"
    message = f"the record is longer than {limit}; only its beginning is kept here"
    return Problem(Reason.RECORD_TOO_LARGE, "max_record_bytes", "", f"more than {limit}", message)


def _too_deep(limits: Limits) -> Problem:
    found = f"more than {limits.max_depth} levels"
    return Problem(Reason.RECORD_TOO_LARGE, "max_depth", "", found, f"the record is nested {found} deep")


def shown(value: Any) -> str:
    """What was found, short enough for a line."""
    if isinstance(value, Members):
        return f"an object with {len(value)} fields"
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    text = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return text if isinstance(value, Number) else json.dumps(text, ensure_ascii=False)


def _kind_of(value: Any) -> str:
    if isinstance(value, Members):
        return "an object"
    if isinstance(value, Number):
        return "a number"
    if isinstance(value, bool):
        return "a boolean"
    return {list: "an array", str: "a string"}.get(type(value), "null")


class Inspector:
    """Lists the problems of records under one contract."""

    def __init__(self, contract: Contract, limits: Limits) -> None:
        self._limits = limits
        self._forbid = contract.unknown_fields == "dead_letter"
        self._fields = {
            contract.source_names[name]: (rules.kind, rules.required, rules) for name, rules in contract.fields.items()
        }
        self._columns = {contract.source_names[name]: name for name in contract.fields}
        self._readers: dict[tuple[str | None, str | None, bool], TimeReader] = {}
        self._arrived_at = 0

    def problems_of(self, record: bytes, arrived_at: int) -> tuple[Any, list[Problem]]:
        """The record's tree and everything that is wrong with it; an empty list means that it is good."""
        tree = tree_of(record, self._limits)
        if isinstance(tree, Problem):
            return None, [tree]
        if not isinstance(tree, Members):
            message = f"a record is an object, and this is {_kind_of(tree)}"
            return tree, [Problem(Reason.NOT_AN_OBJECT, "object", "", shown(tree), message)]
        self._arrived_at = arrived_at
        found: list[Problem] = []
        self._check_members(tree, self._fields, "", found)
        return tree, found[:_MOST_PROBLEMS]

    def _check_members(
        self, tree: Members, fields: dict[str, tuple[Type, bool, FieldRules | None]], path: str, found: list[Problem]
    ) -> None:
        members = dict(tree)
        if len(members) != len(tree):
            _report_repeated(tree, path, found)
        for name, (kind, required, rules) in fields.items():
            value = members.get(name)
            where = path + name
            if value is not None:
                self._check(value, kind, rules, where, found)
            elif required:
                state = "null" if name in members else "missing"
                message = f"`{where}`{self._column(where)} is required and is {state}"
                found.append(Problem(Reason.MISSING_FIELD, "required", where, state, message))
        for name, value in members.items():
            if name not in fields:
                self._check_unknown(name, value, path, found)

    def _column(self, where: str) -> str:
        column = self._columns.get(where)
        return "" if column is None or column == where else f" (column {column})"

    def _check_unknown(self, name: str, value: Any, path: str, found: list[Problem]) -> None:
        where = path + (name if len(name) <= SHOWN else name[: SHOWN - 1] + "…")
        if self._forbid:
            message = f"`{where}` is not a field of the contract"
            found.append(Problem(Reason.UNKNOWN_FIELD, "unknown_fields", where, shown(value), message))
        _check_repeated_below(value, where, found)

    def _check(self, value: Any, kind: Type, rules: FieldRules | None, where: str, found: list[Problem]) -> None:
        before = len(found)
        if isinstance(kind, Array):
            self._check_array(value, kind, where, found)
        elif isinstance(kind, Map):
            self._check_map(value, kind, where, found)
        elif isinstance(kind, Struct):
            self._check_struct(value, kind, where, found)
        elif not self._is_scalar(value, kind, rules):
            self._wrong_type(value, kind, rules, where, found)
        if rules is not None and len(found) == before:
            self._check_rules(value, kind, rules, where, found)

    def _wrong_type(self, value: Any, kind: Type, rules: FieldRules | None, where: str, found: list[Problem]) -> None:
        message = f"`{where}` should be {_described(kind, rules)} and is {_kind_of(value)}: {shown(value)}"
        found.append(Problem(Reason.WRONG_TYPE, "type", where, shown(value), message))
        _check_repeated_below(value, where, found)

    def _check_array(self, value: Any, kind: Array, where: str, found: list[Problem]) -> None:
        if type(value) is not list:
            self._wrong_type(value, kind, None, where, found)
            return
        for index, item in enumerate(value):
            self._check_inside(item, kind.element, f"{where}[{index}]", found)

    def _check_map(self, value: Any, kind: Map, where: str, found: list[Problem]) -> None:
        if not isinstance(value, Members):
            self._wrong_type(value, kind, None, where, found)
            return
        if len(dict(value)) != len(value):
            _report_repeated(value, where + ".", found)
        for key, item in value:
            place = f"{where}.{key if len(key) <= SHOWN else key[: SHOWN - 1] + '…'}"
            if kind.value == Scalar("string"):
                if item is None or isinstance(item, list):
                    self._wrong_type(item, kind.value, None, place, found)
            else:
                self._check_inside(item, kind.value, place, found)

    def _check_inside(self, item: Any, kind: Type, where: str, found: list[Problem]) -> None:
        if item is None:
            self._wrong_type(item, kind, None, where, found)
        else:
            self._check(item, kind, None, where, found)

    def _check_struct(self, value: Any, kind: Struct, where: str, found: list[Problem]) -> None:
        if not isinstance(value, Members):
            self._wrong_type(value, kind, None, where, found)
            return
        fields = {member.name: _as_field(member) for member in kind.members}
        self._check_members(value, fields, where + ".", found)

    def _is_scalar(self, value: Any, kind: Type, rules: FieldRules | None) -> bool:
        if isinstance(kind, Decimal):
            return isinstance(value, Number) and exact_decimal(value, kind) is not None
        assert isinstance(kind, Scalar)
        if kind.name in ("date", "timestamp"):
            return type(value) is str and self._moment(value, kind, rules) is not None
        return _IS_SCALAR[kind.name](value)

    def _moment(self, value: str, kind: Scalar, rules: FieldRules | None) -> int | None:
        key = (rules.format if rules else None, rules.zone if rules else None, kind.name == "date")
        if key not in self._readers:
            self._readers[key] = TimeReader(*key)
        return self._readers[key].read(value)

    def _check_rules(self, value: Any, kind: Type, rules: FieldRules, where: str, found: list[Problem]) -> None:
        def broken(rule: str, message: str) -> None:
            message = f"`{where}` {message}: {shown(value)}"
            found.append(Problem(Reason.RULE_BROKEN, rule, where, shown(value), message))

        size = _size(value, kind)
        if rules.min_length is not None and size < rules.min_length:
            broken("min_length", f"has a length of {size}, less than {rules.min_length}")
        if rules.max_length is not None and size > rules.max_length:
            broken("max_length", f"has a length of {size}, more than {rules.max_length}")
        if rules.pattern is not None and re.search(whole_text(rules.pattern), value) is None:
            broken("pattern", f"does not match {rules.pattern}")
        if not {rules.min, rules.max, rules.one_of, rules.not_after_arrival} - {None}:
            return
        typed = self._typed(value, kind, rules)
        if rules.one_of is not None and typed not in {_comparable(kind, v) for v in rules.one_of}:
            broken("one_of", f"is not one of {shown(', '.join(map(str, rules.one_of)))}")
        if rules.min is not None and typed < _comparable(kind, rules.min):
            broken("min", f"is less than {rules.min}")
        if rules.max is not None and typed > _comparable(kind, rules.max):
            broken("max", f"is more than {rules.max}")
        if rules.not_after_arrival is not None:
            lead = seconds_of(rules.not_after_arrival)
            if typed > latest_moment(self._arrived_at, lead, is_date=kind == Scalar("date")):
                broken("not_after_arrival", f"is more than {rules.not_after_arrival} after the arrival of its file")

    def _typed(self, value: Any, kind: Type, rules: FieldRules) -> Any:
        if isinstance(kind, Decimal):
            return exact_decimal(value, kind)
        name = family(kind)
        if name in ("date", "timestamp"):
            assert isinstance(kind, Scalar)
            return self._moment(value, kind, rules)
        if name in INTEGERS:
            return int(value)
        return float(value) if name in ("float", "double") else value


def _as_field(member: Member) -> tuple[Type, bool, FieldRules | None]:
    return member.type, member.required, None


def _comparable(kind: Type, value: Any) -> Any:
    typed = rule_value(kind, value, "rule")
    return moment_number(typed) if family(kind) in ("date", "timestamp") else typed


def _size(value: Any, kind: Type) -> int:
    if kind == Scalar("binary"):
        return len(msgspec.convert(value, bytes))
    return len(value) if isinstance(value, str | list) else 0


def _is_integer(name: str) -> Callable[[Any], bool]:
    low, high = INTEGERS[name]

    def check(value: Any) -> bool:
        if not isinstance(value, Number) or not value.lstrip("-").isdecimal() or len(value) > 20:
            return False
        return low <= int(value) <= high

    return check


def _is_float(value: Any) -> bool:
    return isinstance(value, Number) and math.isfinite(float(value))


def _is_binary(value: Any) -> bool:
    try:
        return type(value) is str and msgspec.convert(value, bytes) is not None
    except msgspec.ValidationError:
        return False


_IS_SCALAR: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "int": _is_integer("int"),
    "long": _is_integer("long"),
    "float": lambda value: _is_float(value) and abs(float(value)) < FLOAT32_OVERFLOW,
    "double": _is_float,
    "binary": _is_binary,
}


def _described(kind: Type, rules: FieldRules | None) -> str:
    name = family(kind)
    if name in ("date", "timestamp") and rules is not None and rules.format is not None:
        where = f" in {rules.zone}" if rules.zone else ""
        return f"a {name} written {rules.format}{where}"
    if name == "timestamp":
        return "a timestamp such as 2026-01-31T12:00:00Z"
    if name == "binary":
        return "bytes in base64"
    return f"{kind}"


def _report_repeated(tree: Members, path: str, found: list[Problem]) -> None:
    seen: set[str] = set()
    for name, value in tree:
        if name in seen:
            where = path + (name if len(name) <= SHOWN else name[: SHOWN - 1] + "…")
            message = f"`{where}` appears more than once"
            found.append(Problem(Reason.DUPLICATE_FIELD, "unique_fields", where, shown(value), message))
        seen.add(name)


def _check_repeated_below(value: Any, where: str, found: list[Problem]) -> None:
    """Repeated keys are refused at every level, also where nothing else is looked at."""
    if isinstance(value, Members):
        if len(dict(value)) != len(value):
            _report_repeated(value, where + ".", found)
        for name, item in value:
            _check_repeated_below(item, f"{where}.{name}", found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_repeated_below(item, f"{where}[{index}]", found)
