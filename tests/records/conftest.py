"""Contracts and judges that the tests of this room share."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from judging import CONTRACTS, judge_of

from smelter.contracts import Contract, load_contract
from smelter.records import Judge

# Seeded, so that a run on a busy machine finds what a run on a quiet one finds; no deadline, for the same reason.
settings.register_profile(
    "room", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("room")


@pytest.fixture(scope="session")
def events() -> Contract:
    return load_contract(CONTRACTS / "events.yaml")


@pytest.fixture(scope="session")
def judge(events: Contract) -> Judge:
    return Judge(events)


@pytest.fixture(scope="session")
def lenient() -> Judge:
    """A contract with one optional field that takes anything else in silence."""
    return judge_of("a: {type: long}", unknown_fields="ignore")
