"""Which change to a contract is safe? Each difference, whether tables and readers survive it, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from smelter.contracts.model import Contract, DeadLetters, FieldRules, Silver
from smelter.contracts.strictness import RULES, Direction, direction
from smelter.contracts.widening import widening_problem

_ASIDE = "add a new optional field beside it and fill both until nobody needs the old one"
_SILVER_KEYS = ("key", "on_duplicate", "order_by", "event_time", "event_time_stable", "columns")
_LETTERS_KEYS = {"pause_at": "batch", "over": "batch", "keep": "night", "auto_replay": "night"}
_NEXT_RUN = "from the next silver run on"
_NEXT_CARE = "from the next maintenance on"


@dataclass(frozen=True)
class Change:
    """One difference between two contracts."""

    where: str
    what: str
    is_safe: bool
    why: str
    way_out: str = ""
    refuses_what_passed: bool = False  # records that were taken until now may become dead letters


def compare(old: Contract, new: Contract, dropped: Collection[str] = ()) -> list[Change]:
    """Every difference from `old` to `new`; nothing if they mean the same. Only fields named in `dropped` may go."""
    changes = [*_identity(old, new), *_fields(old, new, dropped), *_sections(old, new)]
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


def origins_of(old: Contract, new: Contract) -> dict[str, str | None]:
    """For each field of the new contract the field of the old one that it was; nothing if it is new."""
    return {name: _origin(name, rules, old) for name, rules in new.fields.items()}


def _fields(old: Contract, new: Contract, dropped: Collection[str]) -> Iterator[Change]:
    origins = origins_of(old, new)
    for name, rules in new.fields.items():
        origin = origins[name]
        if origin is None:
            yield from _added(name, rules, old)
            continue
        if origin != name:
            yield _renamed(origin, name, old, new)
        elif rules.was in old.fields:
            why = f"it says `was: {rules.was}`, and `{name}` is there already, with values of its own"
            yield _refused(
                f"fields.{name}", f"renamed from {rules.was}", why, f"drop {name} in a version of its own first"
            )
        elif old.source_names[name] != new.source_names[name]:
            yield _read_elsewhere(name, old.source_names[name], new.source_names[name])
        yield from _field(f"fields.{name}", old.fields[origin], rules, ignored=old.unknown_fields == "ignore")
    for name in old.fields:
        if name not in origins.values():
            yield _removed(name, new, is_meant=name in dropped)
    kept = [name for name in old.fields if name in origins.values()]
    if kept != [origin for origin in origins.values() if origin is not None]:
        yield _safe("fields", "another order", "only the order of the columns")


def _removed(name: str, new: Contract, *, is_meant: bool) -> Change:
    """Only by name: a field that was forgotten in a file looks the same."""
    fate = "become dead letters" if new.unknown_fields == "dead_letter" else "lose it in silence"
    why = f"stored values are out of reach from then on, and records that still have it {fate}"
    if is_meant:
        return _safe(f"fields.{name}", "dropped", why)
    way_out = f"keep it, as an optional field; or say `was: {name}` at its new name; or --drop {name}"
    return _refused(f"fields.{name}", "removed", why, way_out)


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


def _added(name: str, rules: FieldRules, old: Contract) -> Iterator[Change]:
    where = f"fields.{name}"
    if rules.was is not None:
        why = f"it says `was: {rules.was}`, and there is no such field"
        yield _refused(where, "added", why, "take `was` out, or name the field that it was")
    elif rules.required:
        why = "rows that are already stored have no value for it"
        yield _refused(where, "added as required", why, "add it as optional, and check for null in silver")
    elif old.unknown_fields == "ignore":
        why = "old rows have null; records that were taken with another value under this name are refused from now on"
        yield Change(where, f"added, {rules.type}", True, why, refuses_what_passed=True)
    else:
        yield _safe(where, f"added, {rules.type}", "old rows have null")


def _field(where: str, old: FieldRules, new: FieldRules, *, ignored: bool) -> Iterator[Change]:
    problem = widening_problem(old.kind, new.kind)
    if problem is not None:
        yield _refused(where, f"type {old.type} → {new.type}", problem, _ASIDE)
    elif old.type != new.type:
        has_members = ignored and "struct<" in new.type  # one that is new was ignored until now, whatever it held
        why = "wider: every stored value is still right"
        yield Change(where, f"type {old.type} → {new.type}", True, why, refuses_what_passed=has_members)
    if old.required and not new.required:
        yield _safe(where, "required → optional", Direction.LOOSER)
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
    for rule in RULES:
        before, after = getattr(old, rule), getattr(new, rule)
        if before != after:
            yield _safe(where, f"{rule} {_shown(before)} → {_shown(after)}", direction(rule, old, new))


def _sections(old: Contract, new: Contract) -> Iterator[Change]:
    if old.unknown_fields != new.unknown_fields:
        why = "looser: fewer dead letters" if new.unknown_fields == "ignore" else Direction.STRICTER
        yield _safe("unknown_fields", f"{old.unknown_fields} → {new.unknown_fields}", why)
    if old.source.every != new.source.every:
        why = "a stream that runs on and on" if new.source.every is None else "drained on this timetable, and no stream"
        yield _safe("source.every", f"{_shown(old.source.every)} → {_shown(new.source.every)}", why)
    if old.source.after_commit != new.source.after_commit:
        what = f"{old.source.after_commit} → {new.source.after_commit}"
        yield _safe("source.after_commit", what, "for files from the next batch on, and those still there")
    if old.source.files != new.source.files:
        why = "the stream's checkpoint and every record's identity belong to the old source"
        yield _refused(
            "source", f"{old.source.files} → {new.source.files}", why, "make a new dataset for the new source"
        )
    if old.bronze.partition_by != new.bronze.partition_by:
        what = f"partition_by {_shown(old.bronze.partition_by)} → {_shown(new.bronze.partition_by)}"
        yield _safe("bronze", what, "new files only; old ones stay where they are")
    yield from _silver(old, new)
    yield from _retention(old, new)
    if old.quality != new.quality:
        yield _safe("quality", "changed", _NEXT_RUN)
    yield from _letters(old.dead_letters, new.dead_letters)
    if old.maintenance != new.maintenance:
        yield _safe("maintenance", "changed", _NEXT_CARE)


def _silver(old: Contract, new: Contract) -> Iterator[Change]:
    if old.silver is None and new.silver is not None:
        yield _safe("silver", "added", "silver begins with the first row of bronze")
    elif old.silver is not None and (before := _renamed_silver(old, new)) != new.silver:
        if new.silver is None:
            yield _safe("silver", "removed", "silver is no longer built; its rows stay as they are")
            return
        changed = [key for key in _SILVER_KEYS if getattr(before, key) != getattr(new.silver, key)]
        if not changed:
            return
        rebuild = f"silver must be rebuilt once, from bronze: smelt silver {new.dataset} --rebuild"
        why = _NEXT_RUN if changed == ["event_time_stable"] else rebuild
        yield _safe("silver", f"{', '.join(changed)} changed", why)


def _retention(old: Contract, new: Contract) -> Iterator[Change]:
    """How long rows are kept says nothing about what they are."""
    parts = (("bronze", old.bronze, new.bronze), ("silver", old.silver, new.silver))
    for where, was, now in parts:
        before, after = (one.keep_rows if one is not None else None for one in (was, now))
        if was is not None and now is not None and before != after:
            yield _safe(where, f"keep_rows {_shown(before)} → {_shown(after)}", _NEXT_CARE)


def _letters(old: DeadLetters, new: DeadLetters) -> Iterator[Change]:
    changed = {key: when for key, when in _LETTERS_KEYS.items() if getattr(old, key) != getattr(new, key)}
    if changed:
        whens = " and ".join(f"from the next {when} on" for when in dict.fromkeys(changed.values()))
        yield _safe("dead_letters", f"{', '.join(changed)} changed", whens)


def _renamed_silver(old: Contract, new: Contract) -> Silver:
    """Silver as it was, with the names that its fields have now."""
    assert old.silver is not None
    names = {rules.was: name for name, rules in new.fields.items() if rules.was in old.fields}
    words = old.silver.model_dump()
    words["key"] = tuple(names.get(name, name) for name in old.silver.key)
    words.update({key: names.get(words[key], words[key]) for key in ("order_by", "event_time")})
    if words["columns"] and names:
        from smelter.contracts.expressions import renamed

        words["columns"] = {name: renamed(text, names) for name, text in words["columns"].items()}
    return Silver.model_validate(words)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
