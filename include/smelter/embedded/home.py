"""Where the embedded Airflow lives: one folder in the lake, which its owner alone can enter."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from smelter.errors import Refused, WrongUsage
from smelter.run_folders import airflow_home

MOST_PATH_BYTES = 480  # SQLite opens no path of more than 512, and adds `-journal` to it
_NOT_IN_A_SETTING = "$\n\r\t"  # Airflow puts variables in for `$`, and a line of its settings ends with the line


@dataclass(frozen=True)
class Home:
    """The folder and what is in it; nothing outside of it belongs to Airflow."""

    root: Path

    @classmethod
    def at(cls, lake: Path) -> Home:
        """The home of a lake's Airflow."""
        return cls(airflow_home(lake))

    @property
    def lake(self) -> Path:
        """The lake that it lies in."""
        return self.root.parent.parent

    @property
    def configuration(self) -> Path:
        """What Airflow reads when it knows nothing but its home."""
        return self.root / "airflow.cfg"

    @property
    def database(self) -> Path:
        """Airflow's own database."""
        return self.root / "airflow.db"

    @property
    def keys(self) -> Path:
        """The keys that Airflow signs and encrypts with."""
        return self.root / "keys.json"

    @property
    def passwords(self) -> Path:
        """The passwords of the people who may enter."""
        return self.root / "passwords.json"

    @property
    def standing(self) -> Path:
        """What runs, as its keeper last wrote it."""
        return self.root / "processes.json"

    @property
    def migrated(self) -> Path:
        """Which Airflow the database was made for; not there until that is done."""
        return self.root / "migrated"

    @property
    def opened(self) -> Path:
        """There once a first start has un-paused its DAGs: from then on a pause is a person's."""
        return self.root / "opened"

    @property
    def sample(self) -> Path:
        """There while somebody wants sample records."""
        return self.root / "sample"

    @property
    def logs(self) -> Path:
        """One log per component, beside the logs of tasks."""
        return self.root / "logs"

    def log_of(self, name: str) -> Path:
        """What a component says."""
        return self.logs / f"{name}.log"

    def make(self) -> None:
        """Make the folder; one that others may enter is closed."""
        refuse_name(self.database)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)
        self.logs.mkdir(exist_ok=True)


def refuse_name(path: Path) -> None:
    """A path that SQLite could not open, or that Airflow would take for another, is refused before anything starts."""
    size = len(os.fsencode(path))
    if size > MOST_PATH_BYTES:
        what = f"the path is too long for Airflow's database: {size} bytes, and {MOST_PATH_BYTES} is the most"
    elif any(character in str(path) for character in _NOT_IN_A_SETTING):
        what = "the path has a character that Airflow's settings cannot hold: $ or the end of a line"
    else:
        return
    raise WrongUsage(
        what, where=repr(str(path)), data="nothing was started", next_step="name another lake with --lake DIR"
    )


def write_private(path: Path, text: str) -> None:
    """Replace a file that its owner alone can read; killed at any time, there is the old one or the new one."""
    fresh = path.with_name(f".{path.name}-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def kept_secrets(path: Path, makers: Mapping[str, Callable[[], str]]) -> dict[str, str]:
    """The secrets of a file; what is missing is made once, and what is there is never changed."""
    found = _read_secrets(path)
    missing = {name: make() for name, make in makers.items() if name not in found}
    if missing:
        found |= missing
        write_private(path, json.dumps(found, indent=1) + "\n")
    path.chmod(0o600)
    return found


def _read_secrets(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Refused(
            "a file of secrets cannot be read: it is not JSON, or not names with texts",  # nothing of it is repeated
            where=str(path),
            data="nothing was started",
            next_step="mend it, or bring it back from a backup; without it stored connections cannot be read",
        )
    return found
