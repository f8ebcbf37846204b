"""Which type holds every value of another, without rewriting a file?"""

from __future__ import annotations

from smelter.contracts.types import Array, Decimal, Map, Scalar, Struct, Type

_WIDER = {("int", "long"), ("float", "double")}


def widening_problem(old: Type, new: Type) -> str | None:
    """Why a column of type `old` cannot become one of type `new`, or None if it can."""
    if old == new:
        return None
    if isinstance(old, Scalar) and isinstance(new, Scalar) and (old.name, new.name) in _WIDER:
        return None
    if isinstance(old, Decimal) and isinstance(new, Decimal):
        if new.scale != old.scale:
            return "the number of digits after the point cannot change"
        return None if new.precision > old.precision else "stored values may have more digits"
    if isinstance(old, Array) and isinstance(new, Array):
        return widening_problem(old.element, new.element)
    if isinstance(old, Map) and isinstance(new, Map):
        if Scalar("string") in (old.value, new.value):
            return "a map of strings keeps any scalar as its text; other maps do not"
        return widening_problem(old.value, new.value)
    if isinstance(old, Struct) and isinstance(new, Struct):
        return _struct_problem(old, new)
    return f"stored values of {old} are not values of {new}"


def _struct_problem(old: Struct, new: Struct) -> str | None:
    before = {member.name: member for member in old.members}
    after = {member.name: member for member in new.members}
    for name in before:
        if name not in after:
            return f"its member `{name}` would go, and stored values with it"
    for name, member in after.items():
        if name not in before:
            if member.required:
                return f"stored values have no member `{name}`, so it cannot be `not null`"
            continue
        if member.required and not before[name].required:
            return f"stored values may have null for `{name}`"
        problem = widening_problem(before[name].type, member.type)
        if problem is not None:
            return f"`{name}`: {problem}"
    return None
