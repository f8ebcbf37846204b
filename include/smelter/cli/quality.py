"""`smelt quality`: what must hold of silver, whether it does, and how it has fared."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.session import complete_dataset, counted, print_json, print_table, session_of
from smelter.contracts.faults import printable
from smelter.errors import Refused

if TYPE_CHECKING:
    from smelter.quality.trends import Trend
    from smelter.quality.verdict import Result, Verdict

Dataset = Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_SHOWN_EXAMPLES = 5


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
    group = typer.Typer(help="What must hold of silver, whether it does, and how it has fared.", no_args_is_help=True)
    for command in (run, docs, history):
        group.command(command.__name__)(command)
    app.add_typer(group, name="quality")


def run(context: typer.Context, dataset: Dataset, as_json: AsJson = False) -> None:
    """Check all of a silver table: the contract's checks, and that there is one row per key. Exit 1 if one stops."""
    from smelter.quality.whole_table import run_checks

    session = session_of(context)
    (name,) = session.ingested(dataset)
    verdict = run_checks(session.open_lake(), name)
    if as_json:
        print_json({"dataset": name, "rows": verdict.rows, "checks": [asdict(one) for one in verdict.results]})
    else:
        _print(name, verdict)
    raise typer.Exit(1 if verdict.stopped else 0)


def docs(
    context: typer.Context,
    open_it: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
) -> None:
    """Make the report of all checks (Great Expectations' Data Docs) and print where it is."""
    import webbrowser

    from smelter.quality.report import build_report, newest_pages

    lake = session_of(context).open_lake()
    pages = newest_pages(lake)
    if not pages:
        raise Refused(
            "there is nothing to report: no check has been done yet",
            where=str(lake.quality),
            data="nothing was changed",
            next_step="smelt silver DATASET, or: smelt quality run DATASET",
        )
    first = build_report(lake)
    print(first)
    for name, page in sorted(pages.items()):
        print(f"  {name}: {page}")
    if open_it:
        webbrowser.open(first.as_uri())


def history(
    context: typer.Context,
    dataset: Dataset,
    check: Annotated[str | None, typer.Option("--check", metavar="NAME", help="Only this check.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many of the last runs.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show how each check has fared in the last runs; needs no Spark."""
    from smelter.quality.trends import trends_of

    session = session_of(context)
    (name,) = session.ingested(dataset)
    trends = trends_of(session.open_lake(), name, check, limit)
    if as_json:
        print_json([_plain(trend) for trend in trends])
    elif not trends:
        print(f"no check of {name} has been done yet; smelt quality run {name}")
    else:
        print_table(("check", "of", "last runs", "last", "last failure"), [_line(trend) for trend in trends])


def _print(dataset: str, verdict: Verdict) -> None:
    from smelter.quality.words import shown

    rows = [(one.name, _mark(one), shown(one.check, one.found), one.wanted) for one in verdict.results]
    print_table(("check", "", "found", "wanted"), rows, right=("found",))
    for one in (*verdict.stopped, *verdict.warned):
        print(f"{printable(one.sentence)}")
        for example in one.examples[:_SHOWN_EXAMPLES]:
            print(f"  {printable(example.source)}:{example.position}  {printable(example.found)}")
    stopped, warned = len(verdict.stopped), len(verdict.warned)
    print(f"{dataset}: {counted(verdict.rows, 'row')}, {counted(len(verdict.results), 'check')}, ", end="")
    print(f"{stopped} would stop silver, {warned} warned" if stopped or warned else "all hold")


def _mark(result: Result) -> str:
    return "holds" if result.ok else ("FAILS" if result.on_failure == "stop" else "warns")


def _line(trend: Trend) -> tuple[str, ...]:
    from smelter.quality.words import shown

    last, failure = trend.last.result, trend.last_failure
    failed = "" if failure is None else f"{failure.at:%Y-%m-%d %H:%MZ}: {shown(last.check, failure.result.found)}"
    return trend.name, trend.scope, trend.bars, shown(last.check, last.found), failed


def _plain(trend: Trend) -> dict[str, Any]:
    runs = [
        {
            "run": one.run,
            "at": one.at.isoformat(),
            "contract": one.contract,
            "decision": one.decision.value,
            "reason": one.reason,
            **asdict(one.result),
        }
        for one in trend.past
    ]
    return {"check": trend.name, "scope": trend.scope, "runs": runs}
