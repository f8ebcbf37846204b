"""A contract as a decoder: one msgspec struct that takes what the contract's types take, and nothing else.

What the decoder cannot say (times, decimals, scalars kept as text) it leaves to the columns, which check it for
thousands of records at once. Whoever refuses, the list of problems is made in `problems`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa
from msgspec import Meta

from smelter.contracts import Contract, FieldRules
from smelter.contracts.rules import INTEGERS, rule_value
from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type

# A member that is not there. It differs from None (a null that is there), and Arrow reads both as null.
ABSENT = float("nan")
FLOAT32_OVERFLOW = 3.4028235677973366e38  # the least number that rounds to infinity in 32 bits


class NumberText(str):
    """A number as the exact text of the source. One without point or exponent may also be decoded as an int."""

    __slots__ = ()


_Member = tuple[Type, bool, str, FieldRules | None]  # type, required, name in the source, rules


def decoder_of(contract: Contract) -> tuple[msgspec.json.Decoder[Any], msgspec.json.Decoder[list[Any]]]:
    """The decoder for single records or documents in a row, and the one for arrays."""
    members: list[_Member] = [
        (rules.kind, rules.required, contract.source_names[name], rules) for name, rules in contract.fields.items()
    ]
    struct = _struct(contract.dataset, members, forbid_unknown=contract.unknown_fields == "dead_letter")
    one = msgspec.json.Decoder(struct, float_hook=NumberText)
    many = msgspec.json.Decoder(list[struct], float_hook=NumberText)  # type: ignore[valid-type]
    return one, many


def _struct(name: str, members: list[_Member], *, forbid_unknown: bool) -> Any:
    fields: list[Any] = []
    for index, (kind, required, source_name, rules) in enumerate(members):
        annotation = _annotation(kind, rules, forbid_unknown)
        if required:
            fields.append((f"f{index}", annotation, msgspec.field(name=source_name)))
        else:
            optional = annotation if annotation is msgspec.Raw else annotation | None  # Raw takes null too
            fields.append((f"f{index}", optional, msgspec.field(name=source_name, default=ABSENT)))
    required_first = sorted(fields, key=lambda f: f[2].default is ABSENT)
    return msgspec.defstruct(name, required_first, forbid_unknown_fields=forbid_unknown, gc=False, kw_only=True)


def member_attribute(index: int) -> str:
    """The struct's attribute for the contract's field, or the struct's member, of that number."""
    return f"f{index}"


def _annotation(kind: Type, rules: FieldRules | None, forbid_unknown: bool) -> Any:
    if isinstance(kind, Array):
        return _with(list[_annotation(kind.element, None, forbid_unknown)], _lengths(rules))  # type: ignore[misc]
    if isinstance(kind, Map):
        if kind.value == Scalar("string"):
            return _with(dict[str, Any], _lengths(rules)) if _lengths(rules) else msgspec.Raw
        return _with(dict[str, _annotation(kind.value, None, forbid_unknown)], _lengths(rules))  # type: ignore[misc]
    if isinstance(kind, Struct):
        members: list[_Member] = [(m.type, m.required, m.name, None) for m in kind.members]
        return _struct("nested", members, forbid_unknown=forbid_unknown)
    if isinstance(kind, Decimal):
        return Any
    return _scalar(kind, rules)


def _scalar(kind: Scalar, rules: FieldRules | None) -> Any:
    if rules is not None and rules.one_of is not None and kind.name in ("string", *INTEGERS):
        return Literal[rules.one_of]
    if kind.name == "string":
        pattern = rules.pattern if rules is not None else None
        whole = {} if pattern is None else {"pattern": whole_text(pattern)}
        return _with(str, {**_lengths(rules), **whole})
    if kind.name in INTEGERS:
        low, high = INTEGERS[kind.name]
        return Annotated[int, Meta(ge=_rule(kind, rules, "min", low), le=_rule(kind, rules, "max", high))]
    if kind.name in ("float", "double"):
        return _with(float, _float_bounds(kind, rules))
    if kind.name == "binary":
        return _with(bytes, _lengths(rules))
    return bool if kind.name == "boolean" else str


def _with(annotation: Any, constraints: Mapping[str, Any]) -> Any:
    return Annotated[annotation, Meta(**constraints)] if constraints else annotation


def _lengths(rules: FieldRules | None) -> dict[str, int]:
    if rules is None:
        return {}
    given = {"min_length": rules.min_length, "max_length": rules.max_length}
    return {name: value for name, value in given.items() if value is not None}


def _rule(kind: Type, rules: FieldRules | None, rule: str, otherwise: Any) -> Any:
    value = getattr(rules, rule, None)
    return otherwise if value is None else rule_value(kind, value, rule)


def _float_bounds(kind: Scalar, rules: FieldRules | None) -> dict[str, float]:
    low, high = _rule(kind, rules, "min", None), _rule(kind, rules, "max", None)
    overflow = FLOAT32_OVERFLOW if kind.name == "float" else math.inf
    bounds: dict[str, float] = {}
    if low is not None and low > -overflow:
        bounds["ge"] = low
    elif kind.name == "float":
        bounds["gt"] = -overflow
    if high is not None and high < overflow:
        bounds["le"] = high
    elif kind.name == "float":
        bounds["lt"] = overflow
    return bounds


_ARROW = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "binary": pa.binary(),
}


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a contract's type."""
    if isinstance(kind, Decimal):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, Array):
        return pa.list_(pa.field("element", arrow_type(kind.element), nullable=False))
    if isinstance(kind, Map):
        return pa.map_(pa.string(), pa.field("value", arrow_type(kind.value), nullable=False))
    if isinstance(kind, Struct):
        return pa.struct([pa.field(m.name, arrow_type(m.type), nullable=not m.required) for m in kind.members])
    return _ARROW[kind.name]


def row_schema(contract: Contract) -> pa.Schema:
    """The columns of good records: the contract's fields, then where and when each record arrived."""
    fields = [pa.field(name, arrow_type(f.kind), nullable=not f.required) for name, f in contract.fields.items()]
    return pa.schema(
        [
            *fields,
            pa.field("_source", pa.string(), nullable=False),
            pa.field("_position", pa.int64(), nullable=False),
            pa.field("_arrived_at", pa.timestamp("us", "UTC"), nullable=False),
        ]
    )


def whole_text(pattern: str) -> str:
    """A contract's pattern as one that the whole text must match."""
    return rf"\A(?:{pattern})\Z"
