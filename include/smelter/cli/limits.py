"""The judge as the settings want it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from smelter.records import Judge, Limits
    from smelter.settings import Settings

from smelter.contracts import Contract


def limits_of(settings: Settings) -> Limits:
    """The limits of the settings; they have the same names."""
    from smelter.records import Limits

    return Limits(**{limit.name: getattr(settings, limit.name) for limit in fields(Limits)})


def judge_of(contract: Contract, settings: Settings) -> Judge:
    """The judge of a contract under the settings' limits."""
    from smelter.records import Judge

    return Judge(contract, limits_of(settings))
