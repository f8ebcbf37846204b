"""How many letters would come home, why would the others not, and what change of the contract would help?

Judges and writes nothing, without a JVM: a million letters are a matter of seconds for two processes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smelter.contracts import Contract
from smelter.dead_letters.files import FileAgain, rehearse_files
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters
from smelter.dead_letters.propose import Proposal, changed, proposals_of, recovered_by
from smelter.dead_letters.run import Runs
from smelter.dead_letters.tally import Failing, Key, Question, Tally, tally_of
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import active_contract, load_table
from smelter.records import Limits

_WORTH_PROCESSES = 50_000  # letters; fewer are judged before others have started


@dataclass(frozen=True)
class Plan:
    """What a replay would do with letters, under the active contract or another."""

    dataset: str
    contract: str
    letters: int
    would_pass: dict[str, int]  # by the reason that they have
    would_fail: dict[str, int]  # by the reason that they would have
    failing: tuple[tuple[Key, Failing], ...]  # ways to fail, the most frequent first
    files: tuple[FileAgain, ...]  # that would be read again
    proposals: tuple[Proposal, ...] = ()
    mended: Mapping[frozenset[Key], int] = field(default_factory=dict)  # what all proposals together would recover

    def recovers(self, numbers: Collection[int]) -> int:
        """Letters that would pass with these proposals."""
        keys = {key for one in self.proposals if one.number in numbers for key in one.keys}
        return recovered_by(keys, self.mended)

    @property
    def passing(self) -> int:
        """How many letters would be in bronze."""
        return sum(self.would_pass.values())


def plan(lake: Lake, dataset: str, filters: Filters, limits: Limits, contract: Contract | None = None) -> Plan:
    """Judge the letters under a contract, or under the active one, and then also look for changes that would help."""
    active = active_contract(load_table(lake, BRONZE, dataset))
    with Letters(lake, dataset) as letters:
        whole, from_files = letters.count(filters)
        processes = (os.cpu_count() or 1) if whole > _WORTH_PROCESSES else 0
        question = Question(_text(contract or active), limits, looks_closely=contract is None)
        found = tally_of(question, letters.whole(filters), processes=processes)
        proposals, mended = list[Proposal](), Tally()
        if contract is None and found.failing:
            proposals, mended = _measured(active, found, question, letters, filters, processes)
        again = _files(lake, dataset, question, letters.from_files(filters)) if from_files else ()
    passing = [one for one in again if not one.problem]
    failing = sorted(found.failing.items(), key=lambda item: -item[1].letters)
    would_pass, would_fail = dict(found.passing.most_common()), dict(found.reasons.most_common())
    for counts, files in ((would_pass, passing), (would_fail, [one for one in again if one.problem])):
        for one in files:
            counts[one.reason] = counts.get(one.reason, 0) + one.letters
    label = (contract or active).label
    return Plan(
        dataset,
        label,
        whole + from_files,
        would_pass,
        would_fail,
        tuple(failing),
        tuple(again),
        tuple(proposals),
        mended.mended,
    )


def _files(lake: Lake, dataset: str, question: Question, letters: list[dict[str, Any]]) -> tuple[FileAgain, ...]:
    runs = Runs(lake, dataset, question.limits)
    return rehearse_files(runs, replace(runs.new("plan"), contract=question.contract), letters)


def proposed_contract(lake: Lake, found: Plan, numbers: Sequence[int]) -> Contract:
    """The next version of the active contract, with the proposals of these numbers."""
    chosen = [one for one in found.proposals if one.number in numbers]
    after = changed(active_contract(load_table(lake, BRONZE, found.dataset)), chosen)
    assert after is not None  # each was safe, and together they change different fields
    return after


def _measured(
    active: Contract, found: Tally, question: Question, letters: Letters, filters: Filters, processes: int
) -> tuple[list[Proposal], Tally]:
    """What each proposal would recover, by the judge's own word; one that helps no letter is none."""
    proposals = proposals_of(active, found)
    all_of_them = changed(active, proposals)
    if all_of_them is None:
        return [], Tally()
    again = replace(question, instead=_text(all_of_them), looks_closely=False)
    mended = tally_of(again, letters.whole(filters), processes=processes)
    measured = [replace(one, recovers=recovered_by(one.keys, mended.mended)) for one in proposals]
    useful = [one for one in measured if any(one.keys & problems for problems in mended.mended)]
    return [replace(one, number=number) for number, one in enumerate(useful, 1)], mended


def _text(contract: Contract) -> str:
    return contract.model_dump_json(by_alias=True, exclude_unset=True)
