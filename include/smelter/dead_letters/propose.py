"""Which change of the contract would bring letters home? Only changes that tables and readers survive are proposed."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smelter.contracts import Contract, ContractInvalid, parse_contract
from smelter.contracts.diff import compare
from smelter.contracts.draft import legal_names
from smelter.contracts.guess import guess_of
from smelter.contracts.observe import Seen
from smelter.contracts.types import Decimal, Scalar
from smelter.contracts.values import source_name_problem
from smelter.dead_letters.tally import Failing, Key, Sample
from smelter.records import Reason

_WIDER = {"int": "long", "float": "double"}
_MOST_DIGITS = 38
_MOST_NEW_VALUES = 10
_PLURALS = {"string": "strings", "long": "whole numbers", "double": "numbers", "boolean": "booleans"}


@dataclass(frozen=True)
class Proposal:
    """One change of the contract, and what it would do."""

    number: int
    what: str
    because: str
    field: str  # of the contract
    change: Mapping[str, Any]  # the keys of that field that it sets
    keys: frozenset[Key]
    loosens: bool = False  # a rule that refuses records today would take them
    letters: int = 0  # that have this problem, perhaps among others
    recovers: int = 0  # letters that pass with this change alone


def proposals_of(contract: Contract, found: Sample) -> list[Proposal]:
    """Every safe change that might help; whether it does is for the judge to say."""
    all_of_them = [*_added(contract, found), *_wider(contract, found), *_listed(contract, found)]
    all_of_them += _optional(contract, found)
    return [one for one in all_of_them if changed(contract, [one]) is not None]


def measured(
    proposals: Sequence[Proposal], failing: Mapping[Key, Failing], mended: Mapping[frozenset[Key], int]
) -> list[Proposal]:
    """Those that help at least one letter, numbered, with what they would recover, the most helpful first."""
    useful = (one for one in proposals if any(one.keys & problems for problems in mended))
    counted = [
        replace(
            one,
            letters=sum(failing[key].letters for key in one.keys if key in failing),
            recovers=recovered_by(one.keys, mended),
        )
        for one in useful
    ]
    ordered = sorted(counted, key=lambda one: (one.loosens, -one.letters, one.field))
    return [replace(one, number=number) for number, one in enumerate(ordered, 1)]


def changed(contract: Contract, proposals: Sequence[Proposal]) -> Contract | None:
    """The next version of the contract, with these changes; nothing if that is no safe change."""
    words = contract.model_dump(mode="json", by_alias=True, exclude_unset=True)
    words["version"] = contract.version + 1
    for one in proposals:
        words["fields"][one.field] = {**words["fields"].get(one.field, {}), **one.change}
    try:
        after = parse_contract(json.dumps(words), "the proposed contract")
    except ContractInvalid:
        return None
    changes = compare(contract, after)
    is_safe = changes and all(change.is_safe and not change.refuses_what_passed for change in changes)
    return after if is_safe else None


def recovered_by(keys: Collection[Key], mended: Mapping[frozenset[Key], int]) -> int:
    """Letters that another contract would take and that have no other problems than these."""
    return sum(letters for problems, letters in mended.items() if problems <= set(keys))


def _added(contract: Contract, found: Sample) -> Iterator[Proposal]:
    """Fields that records have and the contract does not: optional, with the type of what was seen."""
    seen = {name: one for name, one in found.unknown.items() if source_name_problem(name) is None}
    names = legal_names(sorted(seen), contract.fields)
    for source, name in names.items():
        guess = guess_of(seen[source])
        kind = "string" if guess.extra else guess.type  # a time without a zone is a text until somebody knows better
        keys = _keys(found, Reason.UNKNOWN_FIELD, source)
        if kind and keys:
            spelled = f"`{name}: {kind}`" + (f" from `{source}`" if name != source else "")
            change = {"type": kind, **({"from": source} if name != source else {})}
            because = f"unknown field `{source}`{_looks(seen[source], kind)}"
            yield Proposal(0, f"add optional {spelled}", because, name, change, keys)


def _wider(contract: Contract, found: Sample) -> Iterator[Proposal]:
    """Numbers that are too large for their type."""
    for name, rules in contract.fields.items():
        keys, kind = _keys(found, Reason.WRONG_TYPE, contract.source_names[name]), rules.kind
        wider = _WIDER.get(kind.name) if isinstance(kind, Scalar) else None
        if isinstance(kind, Decimal) and kind.precision < _MOST_DIGITS:
            wider = f"decimal({_MOST_DIGITS},{kind.scale})"
        if keys and wider:
            because = f"values of `{name}` that are no {rules.type}"
            what = f"make `{name}` a {wider}"
            yield Proposal(0, what, because, name, {"type": wider}, keys)


def _listed(contract: Contract, found: Sample) -> Iterator[Proposal]:
    """Texts that a list of allowed values does not have, if they are few."""
    for name, rules in contract.fields.items():
        keys = frozenset(
            key for key in _keys(found, Reason.RULE_BROKEN, contract.source_names[name]) if key[2] == "one_of"
        )
        texts = sorted(text for key in keys for text in found.values[key])
        if not keys or rules.one_of is None or rules.kind != Scalar("string") or len(texts) > _MOST_NEW_VALUES:
            continue
        new = [json.loads(text) for text in texts if "…" not in text]
        if new:
            what = f"allow {', '.join(f'`{one}`' for one in new)} in `{name}`"
            because = f"`{name}` is not one of {len(rules.one_of)} allowed values"
            change = {"one_of": [*rules.one_of, *new]}
            yield Proposal(0, what, because, name, change, keys, loosens=True)


def _optional(contract: Contract, found: Sample) -> Iterator[Proposal]:
    """Fields that must be there and are not; a key of silver stays required."""
    kept = contract.silver.key if contract.silver is not None else ()
    for name, rules in contract.fields.items():
        keys = _keys(found, Reason.MISSING_FIELD, contract.source_names[name])
        if keys and rules.required and name not in kept:
            because = f"`{name}` is required and is missing or null"
            change = {"required": False}
            yield Proposal(0, f"make `{name}` optional", because, name, change, keys, loosens=True)


def _keys(found: Sample, reason: Reason, path: str) -> frozenset[Key]:
    return frozenset(key for key in found.values if key[:2] == (reason, path))


def _looks(seen: Seen, kind: str) -> str:
    return f", all {_PLURALS[kind]}" if kind in _PLURALS and len(seen.kinds.keys() - {"null"}) == 1 else f", {kind}"
