"""A first contract from sample records, with every doubtful place marked `# ?`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Any

from smelter.contracts.guess import Guess, guess_of
from smelter.contracts.names import NAME, SQL_KEYWORDS
from smelter.contracts.observe import Seen
from smelter.contracts.values import source_name_problem
from smelter.errors import Refused

SCHEMA = "../smelter/contracts/contract.schema.json"
_FEW = 10
_MOST_DOUBTS = 5


def draft_contract(dataset: str, records: Iterable[dict[str, Any]], schema: str = SCHEMA) -> str:
    """The text of a contract under which the sample would pass, but for what the marks call dead letters."""
    seen = Seen()
    for record in records:
        seen.add(record)
    guesses = {source: _top_guess(source, member) for source, member in seen.members.items()}
    taken = {source: guess for source, guess in guesses.items() if guess.type}
    if not taken:
        why = next((guess.doubts[0] for guess in guesses.values()), "the records are empty")
        raise Refused(f"the sample has no field that a contract can name: {why}", data="nothing was written")
    names = legal_names(list(taken))
    lines = [
        f"# yaml-language-server: $schema={schema}",
        f"# Drafted from {_counted(seen.times)}. Look at every line with `# ?`, then take the mark away.",
        f"dataset: {dataset}",
        "version: 1",
        "about: One row per …  # ? what is one record",
        "fields:",
    ]
    lines += [
        _field(names[source], source, member, guesses[source], seen.times)
        if source in taken
        else f"  # ? {_quoted(source)} is left out, and ignored below: {'; '.join(guesses[source].doubts)}"
        for source, member in seen.members.items()
    ]
    unknown = "dead_letter" if len(taken) == len(guesses) else "ignore  # ? because of what is left out"
    lines += [f"unknown_fields: {unknown}", f"source: {{files: landing/{dataset}}}", *_silver(seen, taken, names)]
    return "\n".join(lines) + "\n"


def _top_guess(source: str, seen: Seen) -> Guess:
    problem = source_name_problem(source)
    return guess_of(seen) if problem is None else Guess("", (problem,))


def legal_names(sources: list[str], taken: Collection[str] = ()) -> dict[str, str]:
    """A legal and unique name for each key of the records; a key that is one already keeps it, unless it is taken."""
    legal = (source for source in sources if NAME.fullmatch(source) and source not in SQL_KEYWORDS)
    names = {source: source for source in legal if source not in taken}
    for source in sources:
        if source in names:
            continue
        words = unicodedata.normalize("NFKD", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", source))
        words = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", words.encode("ascii", "ignore").decode())
        name = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")[:50] or "field"
        if NAME.fullmatch(name) is None:
            name = f"f_{name}"
        if name in SQL_KEYWORDS:
            name = f"{name}_value"
        unique, number = name, 2
        while unique in names.values() or unique in taken:
            unique, number = f"{name}_{number}", number + 1
        names[source] = unique
    return names


def _field(name: str, source: str, seen: Seen, guess: Guess, records: int) -> str:
    is_required = seen.times == records and not seen.kinds["null"]
    parts = [f'type: "{guess.type}"' if re.search(r"[<,:]", guess.type) else f"type: {guess.type}"]
    if is_required:
        parts.append("required: true")
    if name != source:
        parts.append(f"from: {_quoted(source)}")
    if guess.extra:
        parts.append(guess.extra)
    doubts = [*guess.doubts[:_MOST_DOUBTS], *_listed(seen, guess)]
    if is_required:
        doubts.append(f"required: it was in all {_counted(records)}" if records > 1 else "required: there was 1 record")
    mark = f"  # ? {'; '.join(doubts)}" if doubts else ""
    return f"  {name}: {{{', '.join(parts)}}}{mark}"


def _listed(seen: Seen, guess: Guess) -> list[str]:
    if guess.type != "string" or seen.has_many_values or not 1 < len(seen.values) <= _FEW:
        return []
    if seen.times < _FEW * len(seen.values):
        return []
    return [f"one_of: [{', '.join(_quoted(value) for value in sorted(seen.values))}]"]


def _silver(seen: Seen, taken: dict[str, Guess], names: dict[str, str]) -> list[str]:
    keys = [
        names[source]
        for source, guess in taken.items()
        if seen.members[source].times == seen.times
        and seen.members[source].all_distinct
        and guess.type in ("string", "long")
        and not guess.is_lossy
    ]
    if not keys:
        return ["# silver: {key: [...]}  # ? no field alone was different in every record"]
    key = next((name for name in keys if name.endswith("id")), keys[0])
    times = [names[source] for source, guess in taken.items() if guess.type == "timestamp"]
    event_time = f", event_time: {times[0]}" if times else ""
    return [f"silver: {{key: [{key}], on_duplicate: keep_first{event_time}}}  # ? {key} was different in every record"]


def _counted(records: int) -> str:
    return f"{records:,} record{'' if records == 1 else 's'}"


def _quoted(text: str) -> str:
    """A text as YAML, in quotes if it could be read as anything else; one line, whatever it holds."""
    plain = re.fullmatch(r"[A-Za-z_]([A-Za-z0-9_ .-]*[A-Za-z0-9_.-])?", text)
    if plain and text.lower() not in ("true", "false", "null"):
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    return f"\\U{ord(character):08x}"
