"""A contract as a person would write it down."""

from __future__ import annotations

import yaml

from smelter.contracts.model import Contract


def contract_text(contract: Contract) -> str:
    """YAML that means the same contract, with what was never said left out."""
    words = contract.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return yaml.safe_dump(words, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
