"""Contracts as short texts, and what is said of those that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from smelter.contracts import Contract, ContractInvalid, parse_contract
from smelter.contracts.diff import Change, compare

SHIPPED = Path(__file__).resolve().parents[2] / "include" / "contracts"
MINIMAL = "dataset: things\nversion: 1\nsource: {files: landing/things}\nfields:\n  a: {type: string}\n"


def with_fields(*lines: str, version: int = 1, more: str = "") -> str:
    """A contract with these lines below `fields:`, the first of which is line 5."""
    head = f"dataset: things\nversion: {version}\nsource: {{files: landing/things}}\nfields:\n"
    return head + "".join(f"  {line}\n" for line in lines) + more


def with_field(rules: str) -> str:
    """A contract with one field `a`, in line 5."""
    return with_fields(f"a: {{{rules}}}")


def contract(text: str) -> Contract:
    return parse_contract(text, "things.yaml")


def faults_of(text: str) -> list[tuple[int, str]]:
    """The lines and messages of a contract that must be refused."""
    with pytest.raises(ContractInvalid) as refused:
        parse_contract(text, "things.yaml")
    assert all(fault.file == "things.yaml" for fault in refused.value.faults)
    return [(fault.line, fault.message) for fault in refused.value.faults]


def the_fault(text: str) -> tuple[int, str]:
    """The only fault of a contract that must be refused."""
    (fault,) = faults_of(text)
    return fault


def changes(
    old: str, new: str, *, more: str = "", more_new: str | None = None, dropped: tuple[str, ...] = ()
) -> list[Change]:
    """The changes from one list of fields (separated by ` | `) to another, with the next version."""
    before = contract(with_fields(*old.split(" | "), more=more))
    after = contract(with_fields(*new.split(" | "), version=2, more=more if more_new is None else more_new))
    return compare(before, after, dropped)


def the_change(old: str, new: str, **more: Any) -> Change:
    (change,) = changes(old, new, **more)
    return change
