"""`smelt forget`: a person leaves bronze, dead letters, silver and gold; only identities stay."""

from __future__ import annotations

import shlex
import sys
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.building import Followed, follow, print_followed
from smelter.cli.moments import moment
from smelter.cli.session import Session, complete_dataset, counted, plain_values, print_json, session_of
from smelter.contracts.faults import printable
from smelter.errors import SmelterError, WrongUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from smelter.maintenance.forget import Forgotten, Hooks
    from smelter.maintenance.forget_found import Found
    from smelter.maintenance.forget_left import StillThere

_WAIT_SECONDS = 60.0
_MOST_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("forget")(forget)


def forget(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)],
    where: Annotated[
        str,
        typer.Option("--where", metavar="CONDITION", help="Whom: \"user_id = 'u17'\"; - reads it from standard input."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would leave, and what would stay.")] = False,
    because: Annotated[
        str, typer.Option("--because", metavar="TEXT", help="Why; kept beside the identities. Name nobody in it.")
    ] = "",
    build: Annotated[
        bool, typer.Option("--build/--no-build", help="Bring silver and gold up to date afterwards.")
    ] = True,
    wait: Annotated[
        float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for another who changes them.")
    ] = _WAIT_SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Forget a person: every record that the condition means leaves bronze, dead letters, silver and gold.

    Only identities stay, in ops.forgotten: reconcile stays balanced, and neither --recover nor a replay brings a record
    back. Lists what still holds the values, with the day it goes. Safe to kill and to repeat.
    """
    session = session_of(context)
    (name,) = session.ingested(dataset)
    where = _condition(where)
    if dry_run:
        found = _asked(session, name, where, build=build)
    else:
        found = _done(session, name, where, because, wait, build=build)
    if as_json:
        print_json(_as_dict(found, where, dry_run=dry_run))
    else:
        _print(found, where, dry_run=dry_run)
        _print_next(found, where, dry_run=dry_run)
    if found.problem is not None:
        raise found.problem
    found.followed.raise_failure()


@dataclass(frozen=True)
class _Outcome:
    """What one run did or would do, and what is left of the person."""

    done: Forgotten
    left: Sequence[StillThere]
    followed: Followed = field(default_factory=Followed)
    problem: SmelterError | None = None  # of silver: should it refuse, what has left is told all the same
    behind: Sequence[tuple[str, str]] = ()  # tables that have to follow still


def _asked(session: Session, name: str, where: str, *, build: bool) -> _Outcome:
    from smelter.maintenance.forget import would_forget
    from smelter.maintenance.forget_left import made_of_them, still_there

    lake = session.open_lake()
    done = would_forget(lake, name, where)
    return _Outcome(done, still_there(lake, done, [] if build else made_of_them(lake, done)))


def _done(session: Session, name: str, where: str, because: str, wait: float, *, build: bool) -> _Outcome:
    """Silver and gold follow this run, and an earlier one that they could not follow."""
    from smelter.maintenance.forget import forget as forget_person
    from smelter.maintenance.forget_behind import behind
    from smelter.maintenance.forget_left import still_there

    lake = session.open_lake()
    done = forget_person(lake, name, where, because, _hooks(), wait)
    before = behind(lake, name)
    followed, problem = Followed(), None
    if build and (done.run is not None or before):
        try:
            followed = follow(session, name, wait)
        except SmelterError as trouble:
            problem = trouble
    after = behind(lake, name) if before else before
    left = still_there(lake, done, after, [one for one in before if one not in after])
    return _Outcome(done, left, followed, problem, after)


def _condition(where: str) -> str:
    """As it was typed, or from standard input, where no other user of the machine can see whom it names."""
    if where != "-":
        return where
    if sys.stdin.isatty():
        raise _no_condition("standard input is a terminal")
    try:
        condition = sys.stdin.buffer.read().decode("utf-8").strip()
    except UnicodeDecodeError:
        raise _no_condition("what standard input has is not UTF-8") from None
    if not condition:
        raise _no_condition("standard input is empty")
    return condition


def _no_condition(why: str) -> WrongUsage:
    return WrongUsage(
        f"--where -: {why}",
        data="nothing was changed",
        next_step="smelt forget DATASET --where - < FILE, where the file holds the condition alone",
    )


def _hooks() -> Hooks:
    from smelter.maintenance.forget import Hooks

    return Hooks(say=lambda line: print(line, file=sys.stderr, flush=True))


def _as_dict(found: _Outcome, where: str, *, dry_run: bool) -> dict[str, Any]:
    from smelter.cli.gold import as_dict as gold_dict
    from smelter.cli.silver import as_dict as silver_dict

    done, followed = found.done, found.followed
    return {
        "dataset": done.dataset,
        "where": where,
        "run": done.run,
        "dry_run": dry_run,
        "found": _counts(done.found),
        "pages_removed": list(done.examples.pages),
        "still_there": [plain_values(asdict(one)) for one in found.left],
        "silver": None if followed.silver is None else silver_dict(followed.silver),
        "gold": [] if followed.gold is None else gold_dict(followed.gold)["tables"],
    }


def _counts(found: Found) -> dict[str, int]:
    return {one.name: getattr(found, one.name) for one in fields(found) if one.name not in ("identities", "emptied")}


def _print(outcome: _Outcome, where: str, *, dry_run: bool) -> None:
    if outcome.done.found.is_nobody:
        follows = outcome.followed != Followed()
        what = "silver and gold follow an earlier run" if follows else "nothing was changed"
        print(f"{outcome.done.dataset}: no record is so ({printable(where)}); {what}")
    else:
        _print_found(outcome.done, dry_run=dry_run)
    if unjudged := outcome.done.found.unjudged_letters:
        what = f"{counted(unjudged, 'unreadable letter')} could not be judged by this condition"
        print(f"  {what}: only = and IN name values to search for")
    print_followed(outcome.followed)
    _print_left(outcome.left)


def _print_found(done: Forgotten, *, dry_run: bool) -> None:
    found = done.found
    said = (
        f"{counted(found.bronze, 'row')} of bronze, {counted(found.dead_letters, 'dead letter')}, "
        f"{counted(found.resolutions, 'resolution')}, {counted(found.silver, 'row')} of silver"
    )
    print(f"{done.dataset}: {said} {'would leave' if dry_run else 'are forgotten'}")
    if found.unreadable_letters:
        print(f"  {found.unreadable_letters:,} of the letters could only be searched for the values that are named")
    if found.letters_emptied:
        print(f"  letters emptied: {found.letters_emptied:,}; they stay, because they are about files and not a record")
    for page in done.examples.pages:
        print(f"  removed, because it named one of them: {printable(page)}")


def _print_left(left: Sequence[StillThere]) -> None:
    """Things that are alike in one line; `--json` names each of them."""
    if left:
        print("still holds values:")
    alike: dict[tuple[str, str], list[StillThere]] = {}
    for one in left:
        goes = f"goes after {moment(one.goes)}" if one.goes is not None else "stays"
        alike.setdefault((one.what, f"{goes} ({one.why})"), []).append(one)
    for (what, fate), those in alike.items():
        if len(those) > _MOST_SHOWN:
            print(f"  {counted(len(those), what.removesuffix('s'))}, such as {printable(those[0].where)}: {fate}")
            continue
        for one in those:
            print(f"  {what} {printable(one.where)}: {fate}")


def _print_next(outcome: _Outcome, where: str, *, dry_run: bool) -> None:
    done = outcome.done
    if done.run is not None:
        print(f"run: {done.run}")
    if dry_run and not done.found.is_nobody:
        print(f"next: smelt forget {done.dataset} --where {shlex.quote(where)}")
    elif outcome.behind:
        print(f"next: smelt silver {done.dataset}, then smelt gold {done.dataset}")
    else:
        print(f"next: smelt reconcile {done.dataset}")
