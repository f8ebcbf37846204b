"""Manifests are packed when there are many small ones: each has to be opened by whoever asks a question.

Safe to kill and to repeat: one commit, and no data file is touched.
"""

from __future__ import annotations

from functools import partial
from math import ceil

from smelter.lake.upkeep import pack_manifests
from smelter.maintenance.steps import Done, Look, Step, Todo, Tools, View, counted, sized

MOST_MANIFESTS = 8  # that a small table may have
_TARGET_BYTES = "commit.manifest.target-size-bytes"
_ICEBERGS_OWN = 8 * 1024 * 1024


def look(view: View) -> Look:
    """Does planning a question open more manifests than it need?"""
    found = view.survey
    after = max(1, ceil(found.manifest_bytes / int(view.table.properties.get(_TARGET_BYTES, _ICEBERGS_OWN))))
    if found.manifests <= MOST_MANIFESTS or found.manifests < 4 * after:
        return Look()
    why = f"{counted(found.manifests, 'manifest')} of {sized(found.manifest_bytes / found.manifests)} each"
    said = f"manifests {found.manifests:,} → {after:,}"
    act = partial(_act, view)
    return Look(Todo(Step.MANIFESTS, why, said, act, {"manifests": found.manifests}, {"manifests": after}))


def _act(view: View, tools: Tools) -> Done:
    tools.reach("before_manifests")
    before, after = pack_manifests(tools.spark(), view.subject.namespace, view.subject.name)
    return Done(f"manifests {before:,} → {after:,}")
