"""A first contract from sample records, with every doubtful place marked `# ?`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from smelter.contracts.names import NAME, SQL_KEYWORDS
from smelter.contracts.observe import Seen

_TEXTS = frozenset({"string", "timestamp", "date", "local_time"})
_FEW = 10
_STABLE_SHARE = 0.8


@dataclass(frozen=True)
class _Guess:
    type: str
    doubt: str = ""
    extra: str = ""  # more keys of the field, such as zone and format


def draft_contract(dataset: str, records: Iterable[dict[str, Any]]) -> str:
    """The text of a contract under which the sample would pass."""
    seen = Seen()
    for record in records:
        seen.add(record)
    names = _names(list(seen.members))
    lines = [
        "# yaml-language-server: $schema=../smelter/contracts/contract.schema.json",
        f"# Drafted from {seen.times:,} records. Look at every line with `# ?`, then take the mark away.",
        f"dataset: {dataset}",
        "version: 1",
        "about: One row per …  # ? what is one record",
        "fields:",
    ]
    lines += [_field(names[source], source, member, seen.times) for source, member in seen.members.items()]
    lines += ["unknown_fields: dead_letter", f"source: {{files: landing/{dataset}}}", *_silver(seen, names)]
    return "\n".join(lines) + "\n"


def _names(sources: list[str]) -> dict[str, str]:
    """A legal and unique name for each key of the records."""
    names: dict[str, str] = {}
    for source in sources:
        words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", source)
        words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words)
        name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:50] or "field"
        if NAME.fullmatch(name) is None:
            name = f"f_{name}"
        if name in SQL_KEYWORDS:
            name = f"{name}_value"
        unique, number = name, 2
        while unique in names.values():
            unique, number = f"{name}_{number}", number + 1
        names[source] = unique
    return names


def _field(name: str, source: str, seen: Seen, records: int) -> str:
    guess = _guess(seen)
    required = seen.times == records and not seen.kinds["null"]
    parts = [f'type: "{guess.type}"' if re.search(r"[<,:]", guess.type) else f"type: {guess.type}"]
    if required:
        parts.append("required: true")
    if name != source:
        parts.append(f"from: {_quoted(source)}")
    if guess.extra:
        parts.append(guess.extra)
    doubts = [doubt for doubt in (guess.doubt, _listed(seen, guess)) if doubt]
    if required:
        doubts.append(f"required: it was in all {records:,}")
    mark = f"  # ? {'; '.join(doubts)}" if doubts else ""
    return f"  {name}: {{{', '.join(parts)}}}{mark}"


def _guess(seen: Seen) -> _Guess:
    kinds = seen.kinds.copy()
    nulls = kinds.pop("null", 0)
    if not kinds:
        return _Guess("string", f"it was null {nulls:,} times and nothing else")
    if set(kinds) <= {"long", "double"}:
        return _number(kinds.keys())
    if set(kinds) <= _TEXTS:
        return _text(set(kinds))
    if len(kinds) == 1:
        return _container(seen) if kinds.keys() & {"object", "array"} else _Guess(next(iter(kinds)))
    common, times = kinds.most_common(1)[0]
    others = ", ".join(f"{count:,} × {kind}" for kind, count in kinds.most_common()[1:])
    only = Seen(seen.times, kinds.__class__({common: times}), members=seen.members, elements=seen.elements)
    return _Guess(_guess(only).type, f"mixed: {times:,} × {common}, {others}; those would be dead letters")


def _number(kinds: Iterable[str]) -> _Guess:
    if "double" in kinds:
        return _Guess("double", "double is not exact; for money write decimal(10,2)")
    return _Guess("long")


def _text(kinds: set[str]) -> _Guess:
    if kinds == {"timestamp"}:
        return _Guess("timestamp")
    if kinds == {"date"}:
        return _Guess("date")
    if kinds == {"local_time"}:
        extra = 'format: "%Y-%m-%d %H:%M:%S", zone: UTC'
        return _Guess("timestamp", "zone: it is not in the data", extra)
    return _Guess("string", "some look like times, not all" if kinds != {"string"} else "")


def _container(seen: Seen) -> _Guess:
    if seen.elements is not None:
        inside = _guess(seen.elements)
        return _Guess(f"array<{_bare(inside)}>", inside.doubt)
    if not seen.members:
        return _Guess("map<string,string>", "the objects were empty")
    legal = all(NAME.fullmatch(name) and name not in SQL_KEYWORDS for name in seen.members)
    scalar = all(not member.kinds.keys() & {"object", "array", "null"} for member in seen.members.values())
    stable = min(member.times for member in seen.members.values()) >= _STABLE_SHARE * seen.times
    if scalar and not (stable and legal and len(seen.members) <= _FEW):
        return _Guess("map<string,string>", "the keys differ from record to record")
    if not legal:
        return _Guess("map<string,string>", "some keys are no names, and values are not all scalar: choose what to do")
    inside = ", ".join(f"{name}: {_bare(_guess(member))}" for name, member in seen.members.items())
    return _Guess(f"struct<{inside}>", "or map<string,string>, if keys may come and go")


def _bare(guess: _Guess) -> str:
    """A type inside another has no room for a format, so such a time stays a text."""
    return "string" if guess.extra else guess.type


def _listed(seen: Seen, guess: _Guess) -> str:
    if guess.type != "string" or seen.has_many_values or not 1 < len(seen.values) <= _FEW:
        return ""
    if seen.times < _FEW * len(seen.values):
        return ""
    return f"one_of: [{', '.join(_quoted(value) for value in sorted(seen.values))}]"


def _silver(seen: Seen, names: dict[str, str]) -> list[str]:
    keys = [
        names[source]
        for source, member in seen.members.items()
        if member.times == seen.times and member.all_distinct and _guess(member).type in ("string", "long")
    ]
    if not keys:
        return ["# silver: {key: [...]}  # ? no field alone was different in every record"]
    key = next((name for name in keys if name.endswith("id")), keys[0])
    times = [names[source] for source, member in seen.members.items() if _guess(member).type == "timestamp"]
    event_time = f", event_time: {times[0]}" if times else ""
    return [f"silver: {{key: [{key}], on_duplicate: keep_first{event_time}}}  # ? {key} was different in every record"]


def _quoted(text: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_ .-]*", text) and text.lower() not in ("true", "false", "null")
    return text if plain and text == text.strip() else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
