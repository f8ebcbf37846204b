"""`smelt prove`: does the promise hold? One fault after another on a scratch lake, each record accounted for."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.session import counted, print_json, session_of

if TYPE_CHECKING:
    from smelter.prove.proof import Proof
    from smelter.prove.rounds import Outcome

_INTERRUPTED = 130
_MOST_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("prove")(prove)


def prove(
    context: typer.Context,
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=1, metavar="N", help="How many rounds; every point once if not said.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, metavar="S", help="Where chance begins; another each time.")
    ] = None,
    only: Annotated[str | None, typer.Option("--only", metavar="POINT", help="This fault and no other.")] = None,
    list_points: Annotated[bool, typer.Option("--list", help="Print every point with a sentence, and stop.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the scratch lake also if all is well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Kill, lose, fill, change and meddle on a scratch lake, and account for every record after each restart.

    Your own lake is not touched. Exit code 1 if a round failed: its lake is kept, with the command that repeats it.
    """
    from smelter.prove.points import POINTS, point_named

    if list_points:
        _list({point.name: point.about for point in POINTS}, as_json=as_json)
        return
    from smelter.prove.proof import run_proof
    from smelter.prove.rounds import schedule

    point = point_named(only) if only is not None else None
    planned = schedule(rounds, secrets.randbelow(10**6) if seed is None else seed, point)
    proof = run_proof(session_of(context).settings, planned, keep=keep, tell=lambda one: _tell(one, len(planned)))
    print_json(_as_json(proof)) if as_json else _print(proof)
    raise typer.Exit(_code(proof))


def _list(points: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json(points)
    else:
        for line in _aligned(list(points.items()), "<<"):
            print(line)


def _code(proof: Proof) -> int:
    from smelter.errors import Unreachable
    from smelter.prove.rounds import State

    if proof.of(State.FAILED):
        return 1
    if proof.was_interrupted:
        return _INTERRUPTED
    return 0 if proof.of(State.HELD) else Unreachable.exit_code


def _tell(one: Outcome, of: int) -> None:
    """One line per round, and what is wrong with it."""
    account = one.account
    print(
        f"{one.round.number}/{of} {one.round.point.name}: {one.state}, {counted(account.files, 'file')}, "
        f"{counted(account.records, 'record')}, {one.seconds:.1f} s",
        file=sys.stderr,
    )
    for line in one.why[:_MOST_SHOWN]:
        print(f"    {line}", file=sys.stderr)
    sys.stderr.flush()


def _print(proof: Proof) -> None:
    from smelter.prove.proof import tallies
    from smelter.prove.rounds import State

    names = ("rounds", "files", "records", "bronze", "dead_letters", "lost", "doubled")
    columns = ("point", "rounds", "files", "records", "in bronze", "dead letters", "lost", "doubled", "outcome")
    rows = [(one.point, *(f"{getattr(one, name):,}" for name in names), one.outcome) for one in tallies(proof)]
    for line in _aligned([columns, *rows], "<>>>>>>><"):
        print(line)
    for one in proof.of(State.FAILED):
        print(f"round {one.round.number} FAILED: {one.why[0]}\n  lake: {proof.kept}/lake, dataset {one.round.dataset}")
        print(f"  again: {one.round.command}")
    for why in sorted({why for one in proof.of(State.NOT_RUN) for why in one.why}):
        print(f"not run: {why}")
    if proof.kept is not None and not proof.of(State.FAILED):
        print(f"kept: {proof.kept}/lake")
    if proof.was_interrupted:
        print(f"stopped after {len(proof.outcomes)} of {proof.asked} rounds")
    print(f"seed {proof.seed}")
    print(proof.sentence)


def _aligned(rows: Sequence[Sequence[str]], sides: str) -> Iterator[str]:
    """A table whose lines are never folded: a name of a point is there to be copied."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()


def _as_json(proof: Proof) -> dict[str, Any]:
    from smelter.prove.proof import tallies
    from smelter.prove.rounds import State

    return {
        "seed": proof.seed,
        "asked": proof.asked,
        "rounds": len(proof.outcomes),
        "held": len(proof.of(State.HELD)),
        "failed": len(proof.of(State.FAILED)),
        "not_run": len(proof.of(State.NOT_RUN)),
        "lost": proof.total("lost"),
        "doubled": proof.total("doubled"),
        "unexplained": proof.total("unexplained"),
        "interrupted": proof.was_interrupted,
        "lake": f"{proof.kept}/lake" if proof.kept else None,
        "points": [asdict(one) for one in tallies(proof)],
        "not_held": [
            {
                "round": one.round.number,
                "point": one.round.point.name,
                "dataset": one.round.dataset,
                "outcome": one.state,
                "why": one.why,
                "again": one.round.command,
            }
            for one in proof.outcomes
            if one.state is not State.HELD
        ],
    }
