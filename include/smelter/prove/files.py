"""Files that change while a task reads them: as they were, or one letter, never a mix."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from smelter.bronze.stream import Hooks
from smelter.prove.scene import CHANGED, LONG_AGO, Scene


@dataclass(frozen=True)
class Meddle:
    """Changes a file once, in the task that has it open; it travels to the task."""

    how: str
    path: Path
    mark: Path

    def __call__(self, _point: str) -> None:
        """Called by the task after each part of a file."""
        if self.mark.exists():
            return
        self.mark.touch()
        if self.how == "replaced":  # another file under the same name: the one that is open stays as it was
            aside = self.path.with_name(f".{self.path.name}.new")
            aside.write_bytes(b'{"id": 0}\n')
            aside.rename(self.path)
        elif self.how == "deleted":
            self.path.unlink()
        else:
            self._write_in_place()

    def _write_in_place(self) -> None:
        with self.path.open("r+b") as file:
            if self.how == "cut":
                file.truncate(7)
            elif self.how == "overwritten":
                file.write(b'{"id": 0}')
            else:
                file.seek(0, os.SEEK_END)
                file.write(b'{"id": 0}\n')


def change_file(scenes: Sequence[Scene]) -> None:
    """One file, alone in its batch, changes between the judge's last record and the end of its task."""
    (scene,) = scenes
    how = scene.point.removeprefix("file_")
    path = scene.arrive("changing.json", scene.mine.file(good=30, bad=5), modified=LONG_AGO)
    for number in range(2):
        scene.arrive(f"{number}.json")
    mark = scene.folder / "mark"
    scene.drain(Hooks(task_reach=Meddle(how, path, mark)), max_files=1)
    if not mark.exists():
        raise AssertionError("no task came to its point")
    if how in ("cut", "overwritten", "appended"):
        scene.expect_letter(path, CHANGED)
