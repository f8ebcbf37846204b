"""`smelt maintain rollback`: a table becomes what it was; what a stream wrote is read again."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.building import build_again
from smelter.cli.limits import limits_of
from smelter.cli.session import Session, counted, plain_values, print_json, session_of
from smelter.contracts.faults import printable
from smelter.errors import Refused, WrongUsage

if TYPE_CHECKING:
    from datetime import datetime

    from smelter.bronze.recovery import Recovered
    from smelter.maintenance.rollback import RolledBack
    from smelter.maintenance.subjects import Subject

_MOST_NAMED = 10


def register(maintain: typer.Typer) -> None:
    """Add the command to `smelt maintain`."""
    maintain.command("rollback")(rollback)


def rollback(
    context: typer.Context,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Such as silver.events.")],
    to: Annotated[str, typer.Option("--to", metavar="SNAPSHOT|TIME", help="A snapshot's number, or a time in UTC.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would leave.")] = False,
    and_reingest: Annotated[
        bool,
        typer.Option(
            "--and-reingest",
            help="For bronze and dead letters, with the stream stopped: what leaves is read again from its files, and "
            "silver and gold are rebuilt.",
        ),
    ] = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for whoever changes it.")
    ] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a table what it was at a snapshot or at a time. Safe to kill and to repeat."""
    from smelter.maintenance.rollback import as_it_is, is_done, refuse_unless_derived, what_would_be
    from smelter.maintenance.subjects import subjects_of

    session = session_of(context)
    lake = session.open_lake()
    target = _target(to)
    (subject,) = subjects_of(lake, [table])
    refuse_unless_derived(subject, reingest=and_reingest)
    back = _finish_begun(session, subject, dry_run=dry_run) if and_reingest else None
    if back is not None and is_done(lake, subject, target):
        _print_finished(session, as_it_is(lake, subject), back, wait, as_json=as_json)
        return
    found = what_would_be(lake, subject, target)
    report: dict[str, Any] = {"leaves": {"rows": max(0, found.rows_before - found.rows_after)}, "reingested": None}
    if and_reingest:
        report |= _rewound(session, subject, found, wait, dry_run=dry_run, as_json=as_json)
    elif not dry_run:
        found = _rolled_back(session, subject, target, wait)
    _print(found, report, dry_run=dry_run, as_json=as_json)


def _target(text: str) -> int | datetime:
    from smelter.lake.rollback import parse_target

    found = parse_target(text)
    if found is None:
        raise WrongUsage(
            f"`{printable(text)}` is neither a snapshot's number nor a time such as 2026-01-31T12:00:00Z",
            next_step="smelt maintain snapshots TABLE lists them",
        )
    return found


def _finish_begun(session: Session, subject: Subject, *, dry_run: bool) -> Recovered | None:
    """A rollback of the stream's tables that somebody killed has left a recovery that has to end before all else."""
    from smelter.bronze.recovery import recover
    from smelter.lake.recoveries import is_recovering

    lake, contract = session.open_lake(), subject.contract
    assert contract is not None
    if not is_recovering(lake, contract.dataset):
        return None
    if dry_run:
        raise Refused(
            f"a rollback or a recovery of {contract.dataset} was begun and not finished",
            data="nothing was changed; records of the stream may be in no table until it is finished",
            next_step=f"smelt ingest {contract.dataset} --recover, or run this without --dry-run: it does so first",
        )
    return recover(lake, contract, limits_of(session.settings))


def _print_finished(session: Session, found: RolledBack, back: Recovered, wait: float, *, as_json: bool) -> None:
    """An earlier attempt had rolled the table back, and what was left to do is done."""
    namespace, _, dataset = found.table.partition(".")
    if namespace == "bronze":
        build_again(session, dataset, wait, rebuild=True, as_json=as_json)
    leaves = {"rows": 0, "sources": 0, "batches": []}
    _print(found, {"leaves": leaves, "reingested": asdict(back)}, dry_run=False, as_json=as_json)


def _rolled_back(session: Session, subject: Subject, target: int | datetime, wait: float) -> RolledBack:
    from smelter.maintenance.rollback import rollback as roll_back

    return roll_back(session.open_lake(), subject, target, _new_run(), wait, _say)


def _rewound(
    session: Session, subject: Subject, found: RolledBack, wait: float, *, dry_run: bool, as_json: bool
) -> dict[str, Any]:
    """Roll back and read again; then silver and gold are made anew, because bronze has other rows by identity."""
    from smelter.bronze.rewind import rehearse, rewind
    from smelter.lake.home import BRONZE
    from smelter.maintenance.rollback import note

    lake, contract = session.open_lake(), subject.contract
    assert contract is not None
    if dry_run:
        leaving = rehearse(lake, subject.namespace, contract.dataset, found.to_snapshot)
        return {"leaves": {"rows": leaving.rows, "sources": len(leaving.sources), "batches": list(leaving.batches)}}
    limits = limits_of(session.settings)
    leaving, back = rewind(lake, contract, limits, subject.namespace, found.to_snapshot, wait_seconds=wait)
    note(lake, _new_run(), found, 0.0)
    if subject.namespace == BRONZE:
        build_again(session, contract.dataset, wait, rebuild=True, as_json=as_json)
    return {
        "leaves": {"rows": leaving.rows, "sources": len(leaving.sources), "batches": list(leaving.batches)},
        "reingested": asdict(back),
    }


def _print(found: RolledBack, report: dict[str, Any], *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json({**plain_values(asdict(found)), "dry_run": dry_run, **report})
        return
    would = "would be" if dry_run else "is"
    print(
        f"{found.table} {would} as it was at {found.to_time:%Y-%m-%d %H:%M:%SZ} (snapshot {found.to_snapshot}): "
        f"{counted(found.rows_after, 'row')} instead of {found.rows_before:,}"
    )
    leaves = report["leaves"]
    if "batches" in leaves:
        print(f"{counted(leaves['rows'], 'row')} of {counted(leaves['sources'], 'file')} leave, in these batches:")
        for token in leaves["batches"][:_MOST_NAMED]:
            print(f"  {token}")
        if len(leaves["batches"]) > _MOST_NAMED:
            print(f"  and {len(leaves['batches']) - _MOST_NAMED:,} more")
    if report["reingested"] is not None:
        print(f"{counted(report['reingested']['written'], 'record')} were read again and are in their place")
        print(f"next: smelt reconcile {found.table.partition('.')[2]}")
    elif dry_run:
        again = " --and-reingest" if "batches" in leaves else ""
        print(f"next: smelt maintain rollback {found.table} --to {found.to_snapshot}{again}")
    else:
        print(f"next: {found.next}")


def _new_run() -> str:
    from datetime import UTC, datetime

    from smelter.maintenance.care import new_run

    return new_run(datetime.now(UTC))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
