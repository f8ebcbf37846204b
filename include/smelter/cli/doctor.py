"""`smelt doctor`: is this machine fit?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from smelter.cli.session import print_json, session_of
from smelter.errors import Unreachable


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("doctor")(doctor)


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Check Java, packages, jars, the lake, the disk and the contracts: one line each, with the fix."""
    from smelter.lake.doctor import examine

    checks = []
    for check in examine(session_of(context).settings):
        checks.append(check)
        if not as_json:
            fix = f" (fix: {check.fix})" if check.fix else ""
            print(f"{'ok' if check.ok else 'failed':<8}{check.name:<36}{check.found}{fix}", flush=True)
    healthy = all(check.ok for check in checks)
    if as_json:
        print_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    if not healthy:
        raise typer.Exit(Unreachable.exit_code)
