"""A decoded record from its tree, for the few good ones whose exact text the fast decoder does not keep.

Those are `-0`, which it reads as 0, and integers with thousands of digits, in a `map<string,string>`.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from smelter.contracts import Contract
from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type
from smelter.records.shape import ABSENT, member_attribute


def revive(tree: dict[str, Any], contract: Contract) -> SimpleNamespace:
    """What the decoder would have made of a good record, with every text exact."""
    return _members(tree, [(contract.source_names[name], rules.kind) for name, rules in contract.fields.items()])


def _members(members: dict[str, Any], kinds: list[tuple[str, Type]]) -> SimpleNamespace:
    values = {
        member_attribute(index): _value(members[name], kind) if name in members else ABSENT
        for index, (name, kind) in enumerate(kinds)
    }
    return SimpleNamespace(**values)


def _value(value: Any, kind: Type) -> Any:
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_value(item, kind.element) for item in value]
    if isinstance(kind, Map):
        if kind.value == Scalar("string"):
            return value
        return {key: _value(item, kind.value) for key, item in value.items()}
    if isinstance(kind, Struct):
        return _members(value, [(member.name, member.type) for member in kind.members])
    return _scalar(value, kind)


def _scalar(value: Any, kind: Scalar | Decimal) -> Any:
    if isinstance(kind, Decimal):
        return value
    if kind.name in ("int", "long"):
        return int(value)
    if kind.name in ("float", "double"):
        return float(value)
    return msgspec.convert(value, bytes) if kind.name == "binary" else value
