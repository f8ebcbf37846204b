"""`smelt maintain history`, `snapshots`, `retry` and `restore`: what was done to a table, and how it goes on."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from smelter.cli.session import counted, plain_values, print_json, print_table, session_of

Table = Annotated[str, typer.Argument(metavar="TABLE", help="Such as silver.events.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(maintain: typer.Typer) -> None:
    """Add the commands to `smelt maintain`."""
    maintain.command("history")(history)
    maintain.command("snapshots")(snapshots)
    maintain.command("retry")(retry)
    maintain.command("restore")(restore)


def history(context: typer.Context, table: Table, as_json: AsJson = False) -> None:
    """What was done to a table: each step with its reason, its gain and its seconds, and what was not touched."""
    from smelter.maintenance.journal import history as past
    from smelter.maintenance.subjects import subjects_of

    lake = session_of(context).open_lake()
    (subject,) = subjects_of(lake, [table])
    entries = past(lake, str(subject))
    if as_json:
        print_json([plain_values(asdict(one)) for one in entries])
        return
    rows = [
        (f"{one.at:%Y-%m-%d %H:%M:%SZ}", one.run, step.step, step.outcome, step.said, f"{step.seconds:.1f}")
        for one in entries
        for step in one.steps
    ]
    rows += [(f"{one.at:%Y-%m-%d %H:%M:%SZ}", one.run, "", one.outcome, "", "") for one in entries if not one.steps]
    if rows:
        print_table(("when", "run", "step", "outcome", "what", "s"), sorted(rows), right=("s",))
    else:
        print(f"nothing was done to {subject} yet\nnext: smelt maintain plan {subject}")


def snapshots(context: typer.Context, table: Table, as_json: AsJson = False) -> None:
    """The snapshots of a table that are still there, newest first: what a rollback can go to."""
    from smelter.lake.commits import ancestors, told
    from smelter.maintenance.rollback import moment_of
    from smelter.maintenance.subjects import subjects_of

    lake = session_of(context).open_lake()
    (subject,) = subjects_of(lake, [table])
    past = list(ancestors(subject.open(lake).metadata))
    found = [
        {
            "snapshot": one.snapshot_id,
            "at": moment_of(one).isoformat(timespec="seconds"),
            "operation": one.summary.operation.value if one.summary is not None else "",
            "rows": int(told(one, "total-records") or 0),
            "added": int(told(one, "added-records") or 0),
            "removed": int(told(one, "deleted-records") or 0),
        }
        for one in past
    ]
    if as_json:
        print_json(found)
    elif found:
        columns = tuple(found[0])
        rows = [tuple(f"{cell:,}" if name in columns[3:] else str(cell) for name, cell in one.items()) for one in found]
        print_table(columns, rows, right=columns[3:])
        print(f"next: smelt maintain rollback {subject} --to SNAPSHOT --dry-run")
    else:
        print(f"{subject} has no snapshots yet")


def retry(
    context: typer.Context,
    tables: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE]…", help="All that are set aside without one.")
    ] = None,
) -> None:
    """Look after tables again that were set aside because they failed again and again."""
    from datetime import UTC, datetime

    from smelter.maintenance.care import new_run
    from smelter.maintenance.journal import retry as retry_table
    from smelter.maintenance.journal import tables_aside
    from smelter.maintenance.subjects import subjects_of

    lake = session_of(context).open_lake()
    aside = tables_aside(lake)
    wanted = [str(subject) for subject in subjects_of(lake, tables)] if tables else sorted(aside)
    run = new_run(datetime.now(UTC))
    for name in wanted:
        if name in aside:
            retry_table(lake, name, run)
            print(f"{name} is looked after again\nnext: smelt maintain run {name}")
        else:
            print(f"{name} is not set aside; nothing was changed\nnext: smelt maintain plan {name}")
    if not wanted:
        print("no table is set aside; nothing was changed\nnext: smelt maintain plan")


def restore(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="As smelt maintain run prints it, and history lists.")],
    as_json: AsJson = False,
) -> None:
    """Put files back from the trash, where they were, byte for byte."""
    from smelter.errors import Refused
    from smelter.maintenance.trash import restore as put_back

    done = put_back(session_of(context).open_lake(), run)
    if as_json:
        print_json(asdict(done))
    else:
        print(f"{counted(done.files, 'file')} put back, {done.bytes:,} bytes")
        if done.gone:
            print(f"{counted(done.gone, 'file')} neither in the trash nor in place: somebody removed them")
    if done.taken:
        raise Refused(
            f"{counted(len(done.taken), 'file')} stay in the trash: another file is in their place",
            where=done.taken[0],
            data="the others are back where they were",
            next_step=f"move those away, then: smelt maintain restore {run}",
        )
