"""Which change to a contract is safe? Each difference, whether tables and readers survive it, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from smelter.contracts.model import Contract, FieldRules
from smelter.contracts.rules import rule_value
from smelter.contracts.widening import widening_problem

_ASIDE = "add a new optional field beside it and fill both until nobody needs the old one"
_NEW_RECORDS = "stricter: for new records only, what is stored stays as it is"
_SILVER_KEYS = ("key", "on_duplicate", "order_by", "event_time", "event_time_stable")


@dataclass(frozen=True)
class Change:
    """One difference between two contracts."""

    where: str
    what: str
    is_safe: bool
    why: str
    way_out: str = ""


def compare(old: Contract, new: Contract) -> list[Change]:
    """Every difference from `old` to `new`; nothing if they mean the same."""
    changes = [*_identity(old, new), *_fields(old, new), *_sections(old, new)]
    if changes and new.version != old.version + 1:
        what = f"version {old.version} → {new.version}"
        changes.insert(0, _refused("version", what, "a change has the next version", f"write version: {old.version + 1}"))
    if not changes and new.version != old.version:
        what = f"version {old.version} → {new.version}"
        changes.append(_refused("version", what, "nothing else changed", f"write version: {old.version}"))
    return changes


def _safe(where: str, what: str, why: str) -> Change:
    return Change(where, what, True, why)


def _refused(where: str, what: str, why: str, way_out: str) -> Change:
    return Change(where, what, False, why, way_out)


def _identity(old: Contract, new: Contract) -> Iterator[Change]:
    if old.dataset != new.dataset:
        why = "tables, checkpoints and receipts belong to the old name"
        yield _refused("dataset", f"{old.dataset} → {new.dataset}", why, "make a new contract for the new dataset")
    if old.about != new.about:
        yield _safe("about", "changed", "only the comment of the tables")


def _fields(old: Contract, new: Contract) -> Iterator[Change]:
    origins = {name: _origin(name, rules, old) for name, rules in new.fields.items()}
    for name, rules in new.fields.items():
        origin = origins[name]
        if origin is None:
            yield from _added(name, rules, new)
        else:
            if origin != name:
                yield _safe(f"fields.{name}", f"renamed from {origin}", "the column keeps its id and its values")
            yield from _field(name, old.fields[origin], rules, old.source_names[origin], new.source_names[name])
    for name in old.fields:
        if name not in origins.values():
            why = "stored values would be out of reach, and records that still have it would become dead letters"
            yield _refused(f"fields.{name}", "removed", why, "keep it, as an optional field")
    kept = [name for name in old.fields if name in origins.values()]
    if kept != [origin for origin in origins.values() if origin is not None]:
        yield _safe("fields", "another order", "only the order of the columns")


def _origin(name: str, rules: FieldRules, old: Contract) -> str | None:
    if name in old.fields:
        return name
    return rules.was if rules.was in old.fields else None


def _added(name: str, rules: FieldRules, new: Contract) -> Iterator[Change]:
    where = f"fields.{name}"
    if rules.was is not None:
        why = f"it says `was: {rules.was}`, and there is no such field"
        yield _refused(where, "added", why, "take `was` out, or name the field that it was")
    elif rules.required:
        why = "rows that are already stored have no value for it"
        yield _refused(where, "added as required", why, "add it as optional, and check for null in silver")
    elif new.unknown_fields == "ignore":
        why = "old rows have null; records that were taken with another value under this name are refused from now on"
        yield _safe(where, f"added, {rules.type}", why)
    else:
        yield _safe(where, f"added, {rules.type}", "old rows have null")


def _field(name: str, old: FieldRules, new: FieldRules, old_source: str, new_source: str) -> Iterator[Change]:
    where = f"fields.{name}"
    if str(old.kind) != str(new.kind):
        problem = widening_problem(old.kind, new.kind)
        what = f"type {old.type} → {new.type}"
        if problem is None:
            yield _safe(where, what, "wider: every stored value is still right")
        else:
            yield _refused(where, what, problem, _ASIDE)
    if old.required and not new.required:
        yield _safe(where, "required → optional", "looser: every stored value is still right")
    if new.required and not old.required:
        yield _refused(where, "optional → required", "stored rows may hold null", "check for null in silver instead")
    if old_source != new_source:
        why = "records that still say the old name would become dead letters, or lose the value in silence"
        yield _refused(where, f"read from {old_source} → {new_source}", why, _ASIDE)
    for rule in ("zone", "format"):
        before, after = getattr(old, rule), getattr(new, rule)
        if before != after and old.kind == new.kind:
            why = "times before and after the change would not mean the same"
            yield _refused(where, f"{rule} {_shown(before)} → {_shown(after)}", why, _ASIDE)
    if old.about != new.about:
        yield _safe(where, "about changed", "only the comment of the column")
    yield from _rules(where, old, new)


def _rules(where: str, old: FieldRules, new: FieldRules) -> Iterator[Change]:
    for rule in ("one_of", "min", "max", "pattern", "min_length", "max_length", "not_after_arrival"):
        before, after = getattr(old, rule), getattr(new, rule)
        if before != after:
            why = "looser: every stored value is still right" if _is_looser(rule, old, new) else _NEW_RECORDS
            yield _safe(where, f"{rule} {_shown(before)} → {_shown(after)}", why)


def _is_looser(rule: str, old: FieldRules, new: FieldRules) -> bool:
    before, after = getattr(old, rule), getattr(new, rule)
    if after is None or before is None:
        return after is None
    if rule == "one_of":
        return set(before) <= set(after)
    if rule in ("min", "max"):
        low, high = rule_value(old.kind, before, rule), rule_value(new.kind, after, rule)
        return bool(high <= low if rule == "min" else high >= low)
    if rule in ("min_length", "max_length"):
        return bool(after <= before if rule == "min_length" else after >= before)
    return False


def _sections(old: Contract, new: Contract) -> Iterator[Change]:
    if old.unknown_fields != new.unknown_fields:
        why = "looser: fewer dead letters" if new.unknown_fields == "ignore" else _NEW_RECORDS
        yield _safe("unknown_fields", f"{old.unknown_fields} → {new.unknown_fields}", why)
    if old.source != new.source:
        why = "the stream's checkpoint and every record's identity belong to the old source"
        yield _refused("source", f"{old.source.files} → {new.source.files}", why, "make a new dataset for the new source")
    if old.bronze != new.bronze:
        what = f"partition_by {_shown(old.bronze.partition_by)} → {_shown(new.bronze.partition_by)}"
        yield _safe("bronze", what, "new files only; old ones stay where they are")
    if old.silver != new.silver:
        changed = [k for k in _SILVER_KEYS if getattr(old.silver, k, None) != getattr(new.silver, k, None)]
        yield _safe("silver", f"{', '.join(changed)} changed", "silver must be rebuilt once")
    if old.maintenance != new.maintenance:
        yield _safe("maintenance", "changed", "from the next maintenance on")


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
