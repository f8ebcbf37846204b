"""Old snapshots go: past their age, or beyond their number; never one that a stream, a consumer or a reader needs.

Safe to kill and to repeat: snapshots leave in one commit, and files that only they had are deleted after it. What a
kill leaves of these is nobody's, and goes with the orphans.
"""

from __future__ import annotations

from functools import partial

from smelter.lake.upkeep import expire_snapshots
from smelter.maintenance.holds import Expiry, Hold, expiry_of
from smelter.maintenance.steps import Done, Look, Step, Todo, Tools, View, counted, in_one_folder, sized

FEWEST_DUE = 10  # snapshots that are worth a commit of their own


def look(view: View) -> Look:
    """Are there snapshots that nobody needs any more?"""
    if view.subject.shares_with is not None:
        return Look(kept=(f"snapshots of {view.subject}: {in_one_folder(view)}",))
    found = expiry_of(view.table.metadata, view.subject, view.now)
    kept = tuple(_sentence(view, hold) for hold in found.holds)
    count = len(view.table.metadata.snapshots)
    if len(found.snapshots) < FEWEST_DUE and not found.freed_bytes:
        return Look(kept=kept)
    said = f"snapshots {count:,} → {found.kept:,}"
    why = f"{counted(len(found.snapshots), 'snapshot')} past their time"
    if found.freed_bytes:
        said += f", {sized(found.freed_bytes)} freed"
    act = partial(_act, view, found)
    return Look(Todo(Step.EXPIRE, why, said, act, {"snapshots": count}, {"snapshots": found.kept}), kept)


def _act(view: View, found: Expiry, tools: Tools) -> Done:
    tools.reach("before_expiry")
    files = expire_snapshots(tools.spark(), view.subject.namespace, view.subject.name, found.snapshots)
    tools.reach("expired")
    count = len(view.table.metadata.snapshots)
    said = f"snapshots {count:,} → {count - len(found.snapshots):,}, {counted(files, 'file')} deleted"
    return Done(said, found.freed_bytes)


def _sentence(view: View, hold: Hold) -> str:
    advice = f": {hold.advice}" if hold.advice else ""
    return f"snapshot {hold.snapshot} of {view.subject} and all after it: {hold.why}{advice}"
