"""`smelt bench explore`: questions of a lake's table, beside plain DuckDB on the same files."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from smelter.cli.session import print_json, print_table, session_of
from smelter.errors import WrongUsage


def explore(
    context: typer.Context,
    rows: Annotated[int, typer.Option(min=1_000, help="How many rows.")] = 5_000_000,
    files: Annotated[int, typer.Option(min=1, help="How many data files they are in.")] = 200,
    rounds: Annotated[int, typer.Option(min=2, help="How often each is asked; the first does not count.")] = 11,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Also write explore.md and explore.json here.")
    ] = None,
) -> None:
    """Four questions of a table, beside plain DuckDB on the bare files. Takes about a minute and a half."""
    if files > rows:
        raise WrongUsage(f"{rows:,} rows cannot be in {files:,} files", next_step="ask for fewer --files")
    from smelter.bench.explore import COLUMNS, bench_explore
    from smelter.cli.bench import write_page
    from smelter.contracts import load_contract
    from smelter.lake.home import Lake

    settings = session_of(context).settings
    contract = load_contract(settings.contracts / "events.yaml")
    with tempfile.TemporaryDirectory(prefix="smelter-bench-") as scratch:
        lake = Lake.at(settings.model_copy(update={"lake": Path(scratch) / "lake", "catalog": None}))
        tell = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
        found = bench_explore(lake, contract, (rows, files), rounds, tell)
    if output is not None:
        write_page(output, "explore", found)
    if as_json:
        print_json(found.as_json())
        return
    print(", ".join(f"{name} {value}" for name, value in found.machine.items()))
    print(found.about())
    print_table(COLUMNS, found.table(), right=COLUMNS[1:3])
    print_table(("measure", "found", "wanted"), [ratio.cells() for ratio in found.ratios], right=("found",))
