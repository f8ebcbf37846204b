"""`smelt bench maintain`: a thousand small commits, before and after maintenance."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from smelter.cli.session import print_json, print_table, session_of


def maintain(
    context: typer.Context,
    commits: Annotated[int, typer.Option(min=10, help="How many commits of one small file.")] = 1_000,
    tables: Annotated[int, typer.Option(min=2, help="About how many healthy tables are looked at.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Also write maintain.md and maintain.json here.")
    ] = None,
) -> None:
    """Questions before and after care of many small commits, and a look at healthy tables. About four minutes."""
    from smelter.bench.maintenance import bench_maintenance
    from smelter.cli.bench import write_page
    from smelter.lake.home import Lake

    settings = session_of(context).settings
    with tempfile.TemporaryDirectory(prefix="smelter-bench-") as scratch:
        lakes = [
            Lake.at(settings.model_copy(update={"lake": Path(scratch) / name, "catalog": None}))
            for name in ("busy", "healthy")
        ]
        tell = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
        found = bench_maintenance(lakes[0], lakes[1], commits, tables, tell)
    if output is not None:
        write_page(output, "maintain", found)
    if as_json:
        print_json(found.as_json())
        return
    print(", ".join(f"{name} {value}" for name, value in found.machine.items()))
    print_table(("what", "before", "after"), found.rows(), right=("before", "after"))
    print_table(("measure", "found", "wanted"), [ratio.cells() for ratio in found.ratios], right=("found",))
