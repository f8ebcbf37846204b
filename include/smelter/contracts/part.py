"""A part of a contract: frozen, without keys that nobody knows, and without guesses about types."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """What every part of a contract has in common."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
