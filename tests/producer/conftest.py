"""Contracts, and a way to run the producer on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs import CONTRACTS, EVERYTHING, Run

from smelter.contracts import Contract, load_contract, parse_contract
from smelter.producer import Faults, Plan, produce


@pytest.fixture(scope="session")
def events() -> Contract:
    return load_contract(CONTRACTS / "events.yaml")


@pytest.fixture(scope="session")
def taxi_trips() -> Contract:
    return load_contract(CONTRACTS / "taxi_trips.yaml")


@pytest.fixture(scope="session")
def everything() -> Contract:
    return parse_contract(EVERYTHING, "everything.yaml")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Run]:
    """Runs the producer into a fresh folder; faults are given by name, other words go to the plan."""

    def make(contract: Contract, count: int = 100, *, faults: dict[str, float] | None = None, **plan: Any) -> Run:
        folder = tmp_path / f"run{len(list(tmp_path.iterdir()))}"
        truth = folder / "truth.ndjson"
        plan = {"seed": 7, "truth": truth, "to": folder / "data", **plan}
        done = produce(contract, Plan(count=count, faults=Faults(**(faults or {})), **plan))
        return Run(done, [json.loads(line) for line in truth.read_text("utf-8").split("\n")[:-1]])

    return make
