"""`smelt sql --serve` and `--init`: the lake for a DuckDB of one's own, in a shell or a notebook."""

from __future__ import annotations

import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from smelter.cli.answers import whole_file
from smelter.cli.session import Session, counted
from smelter.contracts.faults import printable

if TYPE_CHECKING:
    from smelter.explore.script import Script

_HEAD = """\
-- The lake {lake}, for DuckDB {version}: {what}.
-- In a shell: save it as lake.sql, and start `duckdb -init lake.sql`. In a notebook: duckdb.connect().execute(text).
"""


def serve(session: Session, at: str | None, output: Path | None) -> None:
    """Print the script, and serve the catalog to whoever has it, until Ctrl-C or SIGTERM."""
    import duckdb

    from smelter.explore.script import served_script
    from smelter.explore.service import serve as service_of

    asked_to_end = threading.Event()

    def end(_number: int, _frame: FrameType | None) -> None:
        asked_to_end.set()

    with service_of(session.settings, at) as service:
        then = f"as it was at {service.as_of}" if service.as_of else "always at the newest snapshots"
        what = f"{then}, as long as `smelt sql --serve` runs. It has a password in it; keep it to yourself"
        head = _HEAD.format(lake=session.settings.lake, version=duckdb.__version__, what=what)
        _tell(head, served_script(service, session.settings.lake, locked=False), output)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, end)
        print(f"serving {service.facade.address} to this machine; Ctrl-C ends it", file=sys.stderr, flush=True)
        asked_to_end.wait()
    print("not served any more", file=sys.stderr)


def init(session: Session, output: Path | None) -> None:
    """Print a script that needs nobody to serve it: the files that are the newest now are named in it."""
    import duckdb

    from smelter.explore.script import pinned_script
    from smelter.explore.service import serve as service_of

    with service_of(session.settings) as service:
        script = pinned_script(service)
        now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        what = f"its snapshots of {now}, and none that come later; maintenance may remove their files in time"
        _tell(_HEAD.format(lake=session.settings.lake, version=duckdb.__version__, what=what), script, output)
        tables = counted(len(service.catalog.tables()) - len(script.left_out), "table")
        print(f"{tables}, pinned at the snapshots of {now}; smelt sql --serve follows the lake", file=sys.stderr)


def _tell(head: str, script: Script, output: Path | None) -> None:
    """Print the script, or write it into a file that only its owner may read; and name what is not in it."""
    if output is None:
        print(f"{head}\n{script.text()}", end="", flush=True)
    else:
        with whole_file(output.resolve(), is_secret=True) as file:
            file.write(f"{head}\n{script.text()}")
    for table in script.left_out:
        print(f"note: the table {printable(str(table))} cannot be opened, and is not in the script", file=sys.stderr)
