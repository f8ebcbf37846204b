"""A proposed contract as a text that people can read, compare and save."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from smelter.contracts import Contract, ContractInvalid, parse_contract
from smelter.contracts.rewrite import rewritten
from smelter.contracts.write import contract_text
from smelter.dead_letters.propose import Proposal
from smelter.errors import Refused


@dataclass(frozen=True)
class NextContract:
    """The next version of a contract, beside the one that it comes from."""

    contract: Contract
    before: str
    text: str
    is_in_place: bool  # the text is that of the contract's own file, with the changes in it

    @property
    def diff(self) -> list[str]:
        """What changes, line by line."""
        old, new = f"version {self.contract.version - 1}", f"version {self.contract.version}"
        lines = difflib.unified_diff(self.before.splitlines(), self.text.splitlines(), old, new, n=1, lineterm="")
        return list(lines)

    def save(self, file: Path, own: Path) -> None:
        """Write it down; over the dataset's own contract file only, and only if that says what is active."""
        if file.exists() and not (self.is_in_place and file.resolve() == own.resolve() and _read(file) == self.before):
            why = "is there already"
            if file.resolve() == own.resolve():
                why = "does not say what is active, or not so that it could be changed without losing its comments"
            raise Refused(
                f"{file} {why}",
                data="nothing was written",
                next_step=f"smelt dlq plan {self.contract.dataset} --write FILE, with a FILE that is not there yet",
            )
        file.write_bytes(self.text.encode())


def next_contract(active: Contract, after: Contract, proposals: Sequence[Proposal], own: Path) -> NextContract:
    """In the words of the contract's own file, where that is what is active; otherwise written down anew."""
    said = _read(own)
    if said is not None and _means(said, active):
        changes: dict[str, dict[str, object]] = {}
        for one in proposals:
            changes.setdefault(one.field, {}).update(one.change)
        text = rewritten(said, after.version, changes)
        if text is not None and _means(text, after):
            return NextContract(after, said, text, is_in_place=True)
    return NextContract(after, contract_text(active), contract_text(after), is_in_place=False)


def _read(path: Path) -> str | None:
    """The text of a file as it is, with its own line ends."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _means(text: str, contract: Contract) -> bool:
    try:
        return parse_contract(text, "the contract file") == contract
    except ContractInvalid:
        return False
