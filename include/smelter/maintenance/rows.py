"""Rows go when their time is up, where a contract or a model asks for it: `keep_rows`. No JVM.

Safe to kill and to repeat: see `retention`.
"""

from __future__ import annotations

from functools import partial

from smelter.maintenance.retention import due, retire_rows
from smelter.maintenance.steps import Done, Look, Step, Todo, Tools, View, counted


def look(view: View) -> Look:
    """Are there rows whose time is up?"""
    subject = view.subject
    if subject.contract is None:
        return Look()
    found = due(view.lake, str(subject), subject.contract, view.now, subject.keep_rows)
    if found is None:
        return Look()
    rows = counted(found.rows, "row")
    if found.waits_for:
        return Look(kept=(f"{rows} of {subject} are past their time ({found.keep}), but {found.waits_for}",))
    numbers = {"rows_past_their_time": found.rows}, {"rows_past_their_time": 0}
    return Look(Todo(Step.ROWS, f"kept for {found.keep}", f"{rows} go", partial(_act, view), *numbers))


def _act(view: View, tools: Tools) -> Done:
    subject = view.subject
    assert subject.contract is not None
    done = retire_rows(view.lake, str(subject), subject.contract, view.now, subject.keep_rows, tools.reach)
    return Done(f"{counted(done.rows, 'row')} are gone")
