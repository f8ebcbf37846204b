"""Which type takes what was seen in one place? With every doubt about it, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from smelter.contracts.names import name_problem
from smelter.contracts.observe import Seen
from smelter.contracts.types import MAX_NESTING

_TEXTS = frozenset({"string", "timestamp", "date", "local_time", "local_moment"})
_NUMBERS = frozenset({"long", "huge", "double"})
_FEW = 10
_SHOWN = 40
_STABLE_SHARE = 0.8
_LOST = "those would be dead letters"
_CALLED = {"local_time": "time without a zone", "local_moment": "time without a zone", "too_large": "too large number"}


@dataclass(frozen=True)
class Guess:
    """A type, or none if no type takes what was seen."""

    type: str
    doubts: tuple[str, ...] = ()
    extra: str = ""  # more keys of the field, such as zone and format
    is_lossy: bool = False  # some records of the sample would be dead letters


def guess_of(seen: Seen, room: int = MAX_NESTING) -> Guess:
    """The type for one place of the records; `room` is how many levels of nesting are left."""
    kinds = Counter({kind: count for kind, count in seen.kinds.items() if kind != "null"})
    if not kinds:
        return Guess("string", (f"it was null {seen.kinds['null']:,} times and nothing else",))
    if kinds.keys() <= _NUMBERS:
        return _number(kinds)
    if kinds.keys() <= _TEXTS:
        return _text(kinds)
    if kinds.keys() == {"too_large"}:
        return Guess("", ("its numbers are too large for any type",))
    if len(kinds) > 1:
        return _mixed(seen, kinds, room)
    if "array" in kinds:
        return _array(seen, room)
    return _object(seen, room) if "object" in kinds else Guess("boolean")


def _number(kinds: Counter[str]) -> Guess:
    if "double" in kinds:
        return Guess("double", ("double is not exact; for money write decimal(10,2)",))
    return Guess("decimal(38,0)", ("some are larger than a long",)) if "huge" in kinds else Guess("long")


def _text(kinds: Counter[str]) -> Guess:
    if len(kinds) > 1:
        return Guess("string", ("some look like times, not all in one way",))
    kind = next(iter(kinds))
    if kind == "local_time":
        return Guess("timestamp", ("zone: it is not in the data",), 'format: "%Y-%m-%d %H:%M:%S", zone: UTC')
    if kind == "local_moment":
        return Guess("timestamp", ("zone: it is not in the data",), "zone: UTC")
    return Guess(kind)


def _mixed(seen: Seen, kinds: Counter[str], room: int) -> Guess:
    groups = {kind: "text" if kind in _TEXTS else "number" if kind in _NUMBERS else kind for kind in kinds}
    counts: Counter[str] = Counter()
    for kind, count in kinds.items():
        counts[groups[kind]] += count
    common = next(group for group, _ in counts.most_common() if group != "too_large")
    only = Counter({kind: count for kind, count in kinds.items() if groups[kind] == common})
    inside = guess_of(Seen(seen.times, only, members=seen.members, elements=seen.elements), room)
    said = ", ".join(f"{count:,} × {_CALLED.get(group, group)}" for group, count in counts.most_common())
    doubt = f"mixed: {said}; all but the {_CALLED.get(common, common)}s would be dead letters"
    return Guess(inside.type, (doubt, *inside.doubts), inside.extra, is_lossy=True)


def _array(seen: Seen, room: int) -> Guess:
    elements = seen.elements
    if elements is None or not elements.times:
        return Guess("array<string>", ("the arrays were empty",)) if room else _too_deep()
    inside = _inner(elements, room)
    if not inside.type:
        return inside
    nulls = elements.kinds["null"]
    lost = (f"{nulls:,} × null in the arrays; {_LOST}",) if nulls else ()
    return Guess(f"array<{inside.type}>", lost + inside.doubts, is_lossy=inside.is_lossy or bool(nulls))


def _object(seen: Seen, room: int) -> Guess:
    if not room:
        return _too_deep()
    members = seen.members
    if not members:
        return Guess("map<string,string>", ("the objects were empty",))
    is_legal = all(name_problem(name) is None for name in members)
    is_scalar = all(not member.kinds.keys() & {"object", "array", "null"} for member in members.values())
    is_stable = min(member.times for member in members.values()) >= _STABLE_SHARE * seen.kinds["object"]
    if is_scalar and not (is_stable and is_legal and len(members) <= _FEW):
        why = "the keys differ from record to record" if is_legal else _strange(seen)
        return Guess("map<string,string>", (why,))
    inside = {name: _inner(member, room) for name, member in members.items()}
    return _struct(inside) if is_legal else _uniform_map(seen, inside)


def _struct(inside: dict[str, Guess]) -> Guess:
    for name, guess in inside.items():
        if not guess.type:
            return Guess("", tuple(f"{name}: {doubt}" for doubt in guess.doubts))
    doubts = tuple(f"{name}: {doubt}" for name, guess in inside.items() for doubt in guess.doubts)
    type_ = f"struct<{', '.join(f'{name}: {guess.type}' for name, guess in inside.items())}>"
    is_lossy = any(guess.is_lossy for guess in inside.values())
    return Guess(type_, ("or map<string,string>, if keys may come and go", *doubts), is_lossy=is_lossy)


def _uniform_map(seen: Seen, inside: dict[str, Guess]) -> Guess:
    """Keys that are no names can only be keys of a map, and a map has one type of values, and no null."""
    has_null = any(member.kinds["null"] for member in seen.members.values())
    guess, *others = set(inside.values())
    if others or has_null or not guess.type or guess.is_lossy:
        return Guess("", (f"{_strange(seen)}, and the values are of several types",))
    return Guess(f"map<string,{guess.type}>", (_strange(seen), *guess.doubts))


def _strange(seen: Seen) -> str:
    """Which key cannot be the name of a struct's member: members have no `from:`."""
    key = next(name for name in seen.members if name_problem(name) is not None)
    shown = key if key.isprintable() and len(key) <= _SHOWN else "…"
    return f"`{shown}` cannot be a member's name"


def _inner(seen: Seen, room: int) -> Guess:
    """A type inside another has no room for a format, so such a time stays a text."""
    guess = guess_of(seen, room - 1) if room else _too_deep()
    return Guess("string", (), "", guess.is_lossy) if guess.extra else guess


def _too_deep() -> Guess:
    return Guess("", (f"it is nested more than {MAX_NESTING} levels deep",))
