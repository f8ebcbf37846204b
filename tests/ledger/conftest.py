"""How this room's property tests run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Seeded, so that a run on a busy machine finds what a run on a quiet one finds; no deadline, for the same reason.
settings.register_profile(
    "room", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("room")
