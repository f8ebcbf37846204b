"""`smelt bench`: measurements beside the alternatives, as ratios from one run."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from smelter.cli import bench_explore, bench_maintain
from smelter.cli.session import print_json, print_table, session_of

if TYPE_CHECKING:
    from smelter.bench.bronze_result import BronzeBench
    from smelter.bench.judge import JudgeBench


class Page(Protocol):
    """What a bench found."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""

    def as_markdown(self) -> str:
        """The page."""


benches = typer.Typer(name="bench", help="Measure, beside the alternatives, in one run.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
    benches.command("maintain")(bench_maintain.maintain)
    benches.command("explore")(bench_explore.explore)
    app.add_typer(benches)


@benches.command("judge")
def judge(
    context: typer.Context,
    events: Annotated[int, typer.Option(min=10_000, help="How many events.")] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Also write judge.md and judge.json here.")
    ] = None,
) -> None:
    """Bytes to Arrow, everything checked, beside DuckDB's read_json and json.loads. Takes about three minutes."""
    from smelter.bench.judge import bench_judge

    contract_file = session_of(context).settings.contracts / "events.yaml"
    with tempfile.TemporaryDirectory(prefix="smelter-bench-") as scratch:
        found = bench_judge(contract_file, Path(scratch), events, lambda line: print(line, file=sys.stderr, flush=True))
    if output is not None:
        write_page(output, "judge", found)
    if as_json:
        print_json(found.as_json())
    else:
        _print(found)


@benches.command("bronze")
def bronze(
    context: typer.Context,
    events: Annotated[int, typer.Option(min=1_000, help="How many events.")] = 1_000_000,
    batches: Annotated[int, typer.Option(min=2, help="How many small batches.")] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Also write bronze.md, bronze.json and bronze.png here."),
    ] = None,
) -> None:
    """Files to tables, beside DuckDB, PyIceberg and a plain Spark job. Takes about eight minutes and 4 GB of disk."""
    from smelter.bench.bronze import Place, bench_bronze
    from smelter.bench.bronze_plot import plot_bronze, require_matplotlib

    settings = session_of(context).settings
    if output is not None:
        require_matplotlib()
    with tempfile.TemporaryDirectory(prefix="smelter-bench-") as scratch:
        place = Place(settings.contracts / "events.yaml", settings.jars, Path(scratch))
        found = bench_bronze(place, events, batches, lambda line: print(line, file=sys.stderr, flush=True))
    if output is not None:
        write_page(output, "bronze", found)
        plot_bronze(found, output / "bronze.png")
    if as_json:
        print_json(found.as_json())
    else:
        _print_bronze(found)


@benches.command("silver")
def silver(
    context: typer.Context,
    small: Annotated[int, typer.Option(min=1_000, help="Rows of the smaller table, and of the run with checks.")] = (
        1_000_000
    ),
    large: Annotated[int, typer.Option(min=1_000, help="Rows of the larger table.")] = 10_000_000,
    increment: Annotated[int, typer.Option(min=100, help="Rows of an increment.")] = 50_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Also write silver.md and silver.json here.")
    ] = None,
) -> None:
    """An increment into a small table and a large one, and a run with twenty checks. Takes about fifteen minutes."""
    from smelter.bench.silver import bench_silver
    from smelter.contracts import load_contract
    from smelter.lake.home import Lake

    settings = session_of(context).settings
    contract = load_contract(settings.contracts / "events.yaml")
    with tempfile.TemporaryDirectory(prefix="smelter-bench-") as scratch:
        lake = Lake.at(settings.model_copy(update={"lake": Path(scratch) / "lake", "catalog": None}))
        tell = lambda line: print(line, file=sys.stderr, flush=True)  # noqa: E731
        found = bench_silver(lake, contract, (small, large), increment, tell)
    if output is not None:
        write_page(output, "silver", found)
    if as_json:
        print_json(found.as_json())
        return
    print(", ".join(f"{name} {value}" for name, value in found.machine.items()))
    print_table(("run", "every round, s", "every round, CPU-s"), found.rows())
    print_table(("ratio", "found", "wanted"), [ratio.cells() for ratio in found.ratios], right=("found",))


@benches.command("replay")
def replay(
    context: typer.Context,
    letters: Annotated[int, typer.Option(min=1_000, help="How many open letters.")] = 1_000_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Also write replay.md and replay.json here.")
    ] = None,
) -> None:
    """Look at many dead letters, plan, and bring them home, beside bronze. Takes about six minutes and 4 GB of disk."""
    from smelter.bench.replay import bench_replay
    from smelter.contracts import load_contract
    from smelter.lake.home import Lake

    settings = session_of(context).settings
    contract = load_contract(settings.contracts / "events.yaml")
    with tempfile.TemporaryDirectory(prefix="smelter-bench-") as scratch:
        lake = Lake.at(settings.model_copy(update={"lake": Path(scratch) / "lake", "catalog": None}))
        found = bench_replay(lake, contract, letters, lambda line: print(line, file=sys.stderr, flush=True))
    if output is not None:
        write_page(output, "replay", found)
    if as_json:
        print_json(found.as_json())
        return
    print(", ".join(f"{name} {value}" for name, value in found.machine.items()))
    print_table(("what", "rows/s", "every round, s", "every round, CPU-s"), found.rows(), right=("rows/s",))
    print_table(("measure", "found", "wanted"), [ratio.cells() for ratio in found.ratios], right=("found",))


@benches.command("stream")
def stream(
    context: typer.Context,
    few: Annotated[int, typer.Option(min=1, help="Files seen before the first measurement.")] = 100,
    many: Annotated[int, typer.Option(min=2, help="Files seen before the second.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """One new file of 100 records, from arrival to commit, after few files and after many. Takes about a minute."""
    from smelter.bench.stream import bench_stream
    from smelter.contracts import load_contract
    from smelter.lake.home import Lake

    settings = session_of(context).settings
    contract = load_contract(settings.contracts / "events.yaml")
    with tempfile.TemporaryDirectory(prefix="smelter-bench-") as scratch:
        lake = Lake.at(settings.model_copy(update={"lake": Path(scratch) / "lake", "catalog": None}))
        found = bench_stream(lake, contract, (few, many), lambda line: print(line, file=sys.stderr, flush=True))
    if as_json:
        print_json(found.as_json())
        return
    rows = [
        (f"{row.files:,}", f"{row.cpu_seconds:.2f}", f"{row.seconds:.2f}", f"{row.commit_seconds:.2f}")
        for row in found.rows
    ]
    columns = ("files seen", "CPU-s", "s to commit", "of which plan to commit")
    print_table(columns, rows, right=columns)
    print_table(("ratio, many against few", "×"), [(n, f"{x:.2f}") for n, x in found.ratios.items()], right=("×",))


def write_page(output: Path, name: str, found: Page) -> None:
    """What a bench found, for people and for programs."""
    output.mkdir(parents=True, exist_ok=True)
    (output / f"{name}.json").write_text(json.dumps(found.as_json(), indent=2, ensure_ascii=False) + "\n", "utf-8")
    (output / f"{name}.md").write_text(found.as_markdown(), "utf-8")


def _print_bronze(found: BronzeBench) -> None:
    from smelter.bench.bronze_result import COLUMNS

    print(", ".join(f"{name} {value}" for name, value in found.machine.items()))
    shown = COLUMNS[:5]  # the raw rounds are for the page and for programs
    print_table(shown, [one.cells()[:5] for one in (*found.figures, *found.spread, *found.sizes)], right=shown[2:])
    print_table(
        ("contender", "s to first commit, cold"), found.first_commit_cells(), right=("s to first commit, cold",)
    )
    print_table(("ratio", "found", "wanted"), [ratio.cells() for ratio in found.ratios], right=("found",))


def _print(found: JudgeBench) -> None:
    print(", ".join(f"{name} {value}" for name, value in found.machine.items()))
    rows = [
        (
            row.files,
            row.contender,
            f"{row.records:,}",
            f"{row.cpu_seconds:.2f}",
            f"{row.microseconds_per_record:.2f}",
            f"{row.peak_mb:.0f}",
            " ".join(f"{seconds:.2f}" for seconds in row.rounds),
        )
        for row in found.rows
    ]
    columns = ("files", "contender", "records", "CPU-s", "µs each", "peak MB", "rounds, CPU-s")
    print_table(columns, rows, right=columns[2:6])
    print_table(
        ("ratio of CPU per record", "×"), [(name, f"{x:.2f}") for name, x in found.ratios.items()], right=("×",)
    )
