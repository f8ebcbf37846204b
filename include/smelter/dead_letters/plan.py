"""How many letters would come home, why would the others not, and what change of the contract would help?

Judges and writes nothing, without a JVM: a million letters are a matter of seconds for two processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smelter.contracts import Contract
from smelter.dead_letters.files import NO_FILES, FileAgain, FilesAgain, rehearse_files
from smelter.dead_letters.filters import Filters
from smelter.dead_letters.letters import Letters
from smelter.dead_letters.propose import Proposal, changed, measured, proposals_of, recovered_by
from smelter.dead_letters.run import Runs
from smelter.dead_letters.tally import Failing, Key, Question, Tally, Task, sample_of, tally_of, tally_share
from smelter.dead_letters.workers import cores, each_in_a_process
from smelter.lake.home import BRONZE, Lake
from smelter.lake.tables import active_contract, load_table
from smelter.records import Limits

_WORTH_PROCESSES = 100_000  # letters; fewer are judged before others have started


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
    question = Question(_text(contract or active), limits)
    with Letters(lake, dataset) as letters:
        whole, from_files = letters.count(filters)
        ideas = _ideas(active, question, letters, filters) if whole and contract is None else []
        together = changed(active, ideas) if ideas else None
        question = replace(question, instead=None if together is None else _text(together))
        found = _tally(lake, dataset, question, letters, filters, whole)
        again = _files(lake, dataset, question, letters.from_files(filters)) if from_files else NO_FILES
    failing = found.failing
    passing = found.passing + Counter(again.replayed.passed)
    return Plan(
        dataset,
        (contract or active).label,
        whole + from_files,
        dict(passing.most_common()),
        dict((found.reasons + Counter(again.replayed.failed)).most_common()),
        tuple(failing.items()),
        again.files,
        tuple(measured(ideas, failing, found.mended)),
        found.mended,
    )


def _ideas(active: Contract, question: Question, letters: Letters, filters: Filters) -> list[Proposal]:
    """Changes that a few letters of each kind suggest."""
    sample = letters.sample(filters)
    return proposals_of(active, sample_of(question, sample)) if sample is not None else []


def _tally(lake: Lake, dataset: str, question: Question, letters: Letters, filters: Filters, count: int) -> Tally:
    """In this process, or in several where there are many."""
    if count <= _WORTH_PROCESSES:
        return tally_of(question, letters.whole(filters))
    place = Lake(lake.root, lake.jars, lake.address)  # without what it has open
    tasks = [Task(question, place, dataset, filters, share) for share in letters.shares(cores())]
    found = Tally()
    for one in each_in_a_process(tally_share, tasks):
        found.merge(one)
    return found


def _files(lake: Lake, dataset: str, question: Question, letters: list[dict[str, Any]]) -> FilesAgain:
    runs = Runs(lake, dataset, question.limits)
    return rehearse_files(runs, replace(runs.new("plan"), contract=question.contract), letters)


def proposed_contract(lake: Lake, found: Plan, numbers: Sequence[int]) -> Contract:
    """The next version of the active contract, with the proposals of these numbers."""
    chosen = [one for one in found.proposals if one.number in numbers]
    after = changed(active_contract(load_table(lake, BRONZE, found.dataset)), chosen)
    assert after is not None  # each was safe, and together they change different fields
    return after


def _text(contract: Contract) -> str:
    return contract.model_dump_json(by_alias=True, exclude_unset=True)
