"""Files that belong to nobody go to the trash, at their second sighting. No JVM.

Safe to kill and to repeat: what is in the trash is listed there before it moves, and `restore` puts it back.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from smelter.maintenance.sightings import remember, seen_before
from smelter.maintenance.steps import Done, Look, Step, Todo, Tools, View, counted, in_one_folder, sized
from smelter.maintenance.strays import Stray, strays_of
from smelter.maintenance.trash import move_to_trash


def look(view: View) -> Look:
    """Are there files that nothing names?"""
    if view.subject.shares_with is not None:
        return Look(kept=(f"strays of {view.subject}: {in_one_folder(view)}",))
    found = strays_of(view.lake, view.table, view.subject, view.now.timestamp())
    held = f"{counted(found.held, 'file')} of {view.subject} in no snapshot: a batch or a writer may need what it wrote"
    kept = (held,) if found.held else ()
    if not found.free:
        return Look(kept=kept)
    seen = seen_before(view.lake, view.subject, found.free)
    size = sized(sum(one.size for one in seen))
    why = f"{counted(len(found.free), 'file')} ({sized(found.bytes)}) belong to nobody"
    new = len(found.free) - len(seen)
    said = f"{counted(len(seen), 'file')} to the trash, {size}" if seen else "nothing yet"
    if new:
        said += f"; {counted(new, 'file')} seen for the first time, and only marked"
    act = partial(_act, view, found.free, seen)
    return Look(Todo(Step.ORPHANS, why, said, act, {"orphans": len(found.free)}, {"orphans": new}), kept)


def _act(view: View, old: tuple[Stray, ...], seen: list[Stray], tools: Tools) -> Done:
    tools.reach("before_trash")
    keep = timedelta(seconds=view.subject.policy.trash_seconds)
    moved = move_to_trash(view.lake, tools.run, str(view.subject), seen, keep) if seen else []
    tools.reach("in_trash")
    gone = {one.path for one in moved}
    left = [one for one in old if one.path not in gone]
    remember(view.lake, view.subject, left)
    freed = sum(one.size for one in moved)
    marked = f"; {counted(len(left), 'file')} marked" if left else ""
    return Done(f"{counted(len(moved), 'file')} moved to the trash, {sized(freed)}{marked}")  # on the disk still
