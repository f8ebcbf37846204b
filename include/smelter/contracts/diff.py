"""Which change to a contract is safe? Each difference, whether tables and readers survive it, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from smelter.contracts.model import Contract, FieldRules, Silver
from smelter.contracts.rules import rule_value
from smelter.contracts.times import seconds_of
from smelter.contracts.widening import widening_problem

_ASIDE = "add a new optional field beside it and fill both until nobody needs the old one"
_LOOSER = "looser: every stored value is still right"
_STRICTER = "stricter: for new records only, what is stored stays as it is"
_OTHER = "another rule: for new records only, what is stored stays as it is"
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
        changes.insert(
            0, _refused("version", what, "a change has the next version", f"write version: {old.version + 1}")
        )
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
            continue
        if origin != name:
            yield _renamed(origin, name, old, new)
        elif old.source_names[name] != new.source_names[name]:
            yield _read_elsewhere(name, old.source_names[name], new.source_names[name])
        yield from _field(f"fields.{name}", old.fields[origin], rules)
    for name in old.fields:
        if name not in origins.values():
            why = "stored values would be out of reach, and records that still have it would become dead letters"
            way_out = f"keep it, as an optional field; if it has a new name, say `was: {name}` there"
            yield _refused(f"fields.{name}", "removed", why, way_out)
    kept = [name for name in old.fields if name in origins.values()]
    if kept != [origin for origin in origins.values() if origin is not None]:
        yield _safe("fields", "another order", "only the order of the columns")


def _renamed(origin: str, name: str, old: Contract, new: Contract) -> Change:
    """A renamed column keeps its values; whether records keep theirs depends on the name that they use."""
    where, what = f"fields.{name}", f"renamed from {origin}"
    before, after = old.source_names[origin], new.source_names[name]
    if before == after:
        return _safe(where, what, f"the column keeps its values, and records go on saying `{before}`")
    if (before, after) != (origin, name):
        return _read_elsewhere(name, before, after)
    if new.unknown_fields == "ignore":
        why = f"records that still say `{origin}` would lose the value in silence, because unknown fields are ignored"
        return _refused(where, what, why, f"say `from: {origin}` too")
    why = f"the column keeps its values; records must say `{name}` from now on, or the contract `from: {origin}`"
    return _safe(where, what, why)


def _read_elsewhere(name: str, before: str, after: str) -> Change:
    why = "records that still say the old name would become dead letters, or lose the value in silence"
    return _refused(f"fields.{name}", f"read from {before} → {after}", why, _ASIDE)


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


def _field(where: str, old: FieldRules, new: FieldRules) -> Iterator[Change]:
    problem = widening_problem(old.kind, new.kind)
    if problem is not None:
        yield _refused(where, f"type {old.type} → {new.type}", problem, _ASIDE)
    elif old.type != new.type:
        yield _safe(where, f"type {old.type} → {new.type}", "wider: every stored value is still right")
    if old.required and not new.required:
        yield _safe(where, "required → optional", _LOOSER)
    if new.required and not old.required:
        yield _refused(where, "optional → required", "stored rows may hold null", "check for null in silver instead")
    if old.about != new.about:
        yield _safe(where, "about changed", "only the comment of the column")
    if problem is None:  # rules of two types that have nothing in common cannot be compared
        yield from _times(where, old, new)
        yield from _rules(where, old, new)


def _times(where: str, old: FieldRules, new: FieldRules) -> Iterator[Change]:
    for rule in ("zone", "format"):
        before, after = getattr(old, rule), getattr(new, rule)
        if before != after:
            why = "times before and after the change would not mean the same"
            yield _refused(where, f"{rule} {_shown(before)} → {_shown(after)}", why, _ASIDE)


def _rules(where: str, old: FieldRules, new: FieldRules) -> Iterator[Change]:
    for rule in ("one_of", "min", "max", "pattern", "min_length", "max_length", "not_after_arrival"):
        before, after = getattr(old, rule), getattr(new, rule)
        if before != after:
            yield _safe(where, f"{rule} {_shown(before)} → {_shown(after)}", _direction(rule, old, new))


def _direction(rule: str, old: FieldRules, new: FieldRules) -> str:
    before, after = getattr(old, rule), getattr(new, rule)
    if after is None or before is None:
        return _LOOSER if after is None else _STRICTER
    if rule == "pattern":
        return _OTHER
    if rule == "one_of":
        left, right = ({rule_value(f.kind, v, rule) for v in f.one_of or ()} for f in (old, new))
        return _LOOSER if left <= right else _STRICTER if right <= left else _OTHER
    if rule in ("min", "max"):
        before, after = rule_value(old.kind, before, rule), rule_value(new.kind, after, rule)
    elif rule == "not_after_arrival":
        before, after = seconds_of(before), seconds_of(after)
    is_floor = rule.startswith("min")
    return _LOOSER if (after <= before if is_floor else after >= before) else _STRICTER


def _sections(old: Contract, new: Contract) -> Iterator[Change]:
    if old.unknown_fields != new.unknown_fields:
        why = "looser: fewer dead letters" if new.unknown_fields == "ignore" else _STRICTER
        yield _safe("unknown_fields", f"{old.unknown_fields} → {new.unknown_fields}", why)
    if old.source.after_commit != new.source.after_commit:
        what = f"{old.source.after_commit} → {new.source.after_commit}"
        yield _safe("source.after_commit", what, "for files from the next batch on, and those still there")
    if old.source.files != new.source.files:
        why = "the stream's checkpoint and every record's identity belong to the old source"
        yield _refused(
            "source", f"{old.source.files} → {new.source.files}", why, "make a new dataset for the new source"
        )
    if old.bronze != new.bronze:
        what = f"partition_by {_shown(old.bronze.partition_by)} → {_shown(new.bronze.partition_by)}"
        yield _safe("bronze", what, "new files only; old ones stay where they are")
    yield from _silver(old, new)
    if old.maintenance != new.maintenance:
        yield _safe("maintenance", "changed", "from the next maintenance on")


def _silver(old: Contract, new: Contract) -> Iterator[Change]:
    if old.silver is None and new.silver is not None:
        yield _safe("silver", "added", "silver begins with the first row of bronze")
    elif old.silver is not None and _renamed_silver(old, new) != new.silver:
        if new.silver is None:
            yield _safe("silver", "removed", "silver is no longer built; its rows stay as they are")
            return
        changed = [key for key in _SILVER_KEYS if getattr(old.silver, key) != getattr(new.silver, key)]
        yield _safe("silver", f"{', '.join(changed)} changed", "silver must be rebuilt once, from bronze")


def _renamed_silver(old: Contract, new: Contract) -> Silver | None:
    """Silver as it was, with the names that its fields have now."""
    assert old.silver is not None
    names = {rules.was: name for name, rules in new.fields.items() if rules.was in old.fields}
    words = old.silver.model_dump()
    words["key"] = tuple(names.get(name, name) for name in old.silver.key)
    words.update({key: names.get(words[key], words[key]) for key in ("order_by", "event_time")})
    return Silver.model_validate(words)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
