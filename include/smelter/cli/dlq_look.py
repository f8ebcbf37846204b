"""`smelt dlq ls`, `show`, `runs`: what lies among the dead letters, one of them whole, and what was done to them."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.dlq_options import AsJson, Chosen, Dataset, choosing, refuse_strange_id
from smelter.cli.moments import ago, moment
from smelter.cli.session import complete_dataset, counted, plain_values, print_json, print_table, session_of
from smelter.contracts.faults import printable

if TYPE_CHECKING:
    from smelter.dead_letters.look import Event, Group, OneLetter

_MOST_GROUPS = 30
_MOST_TEXT = 2000


def register(letters: typer.Typer) -> None:
    """Add the commands to `smelt dlq`."""
    letters.command("ls")(choosing(ls))
    letters.command("show")(show)
    letters.command("runs")(runs)


def ls(
    context: typer.Context,
    dataset: Dataset,
    status: Annotated[
        str, typer.Option("--status", metavar="WORD", help="open, replayed, edited, discarded or all.")
    ] = "open",
    as_json: AsJson = False,
    *,
    chosen: Chosen,
) -> None:
    """List letters in groups: the same thing wrong at the same field, with counts, ages and an example."""
    from smelter.dead_letters.look import groups, statuses

    session = session_of(context)
    filters = chosen.filters(status)
    (name,) = session.ingested(dataset)
    lake = session.open_lake()
    found, standing = groups(lake, name, filters), statuses(lake, name)
    if as_json:
        print_json({"dataset": name, "statuses": standing, "groups": [plain_values(asdict(one)) for one in found]})
        return
    _print_groups(found)
    total = sum(one.letters for one in found)
    words = "of any status" if status == "all" else status
    others = ", ".join(f"{count:,} {word}" for word, count in sorted(standing.items()) if word != status)
    print(f"{name}: {counted(total, 'letter')} {words}{f' ({others})' if others and status != 'all' else ''}")
    if found:
        print(f"next: smelt dlq show {found[0].example}")
        print(f"      smelt dlq plan {name}{chosen.words(for_plan=True)}")
    else:
        print(f"next: smelt dlq ls {name} --status all")


def _print_groups(found: list[Group]) -> None:
    """Two lines for each, which fit any terminal: what is wrong, then since when, and an example."""
    now = datetime.now(UTC)
    width = max((len(f"{one.letters:,}") for one in found), default=0)
    for one in found[:_MOST_GROUPS]:
        field = f"`{printable(one.field)}` " if one.field else ""
        print(f"{one.letters:>{width},}  {one.reason}  {field}{_found(one)}")
        tries = f", tried up to {counted(one.attempts, 'time')}" if one.attempts else ""
        seen = f"seen {moment(one.first_seen)} to {moment(one.last_seen)}"
        oldest = ago((now - one.first_seen).total_seconds())
        print(f"{'':>{width}}    oldest {oldest}; {seen}{tries}; example {one.example}")
    if len(found) > _MOST_GROUPS:
        print(f"… {len(found) - _MOST_GROUPS:,} more groups; --json has all, --reason and --field narrow it down")


def _found(one: Group) -> str:
    if one.found is not None:
        return printable(one.found)
    return f"{one.kinds:,} different, such as {printable(one.such_as)}"


def show(
    context: typer.Context,
    letter: Annotated[str, typer.Argument(metavar="ID", help="The id of a letter, or the beginning of it.")],
    as_json: AsJson = False,
) -> None:
    """Print one letter: its text with the place of each problem, where it came from, and what was done with it."""
    from smelter.dead_letters.look import find_letter

    refuse_strange_id(letter)
    session = session_of(context)
    found = find_letter(session.open_lake(), session.ingested(None, at_least_one=True), letter)
    if as_json:
        history = [plain_values(asdict(event)) for event in found.history]
        print_json({"dataset": found.dataset, **plain_values(found.row), "history": history})
        return
    _print_letter(found)


def _print_letter(found: OneLetter) -> None:
    row = found.row
    tries = f", tried {counted(row['attempts'], 'time')}" if row["attempts"] else ""
    print(f"{row['_id']}  {found.dataset}  {row['reason']}  {row['status']}{tries}")
    print(f"  from        {printable(row['_source'])}:{row['_position']}")
    print(f"  arrived     {moment(row['_arrived_at'])}, a letter since {moment(row['_ingested_at'])}")
    print(f"  batch       {row['_batch']}")
    print(f"  judged by   {row['judged_by']}")
    print()
    for error in row["errors"]:
        _print_error(row["raw"], error)
    text = row["raw"] if len(row["raw"]) <= _MOST_TEXT else row["raw"][: _MOST_TEXT - 1] + "…"
    print("  text")
    for line in text.splitlines() or [""]:
        print(f"    {printable(line)}")
    for event in found.history:
        _print_event(event)
    print(_next(found))


def _print_error(text: str, error: dict[str, str]) -> None:
    from smelter.dead_letters.marks import excerpt, places_of

    print(f"  ✗ {printable(error['message'])}")
    for place in places_of(text, error["field"], error["message"]):
        shown = excerpt(text, place)
        print(f"    {shown.line}")
        print(f"    {' ' * shown.start}{'^' * shown.length}")


def _print_event(event: Event) -> None:
    why = f": {printable(event.because)}" if event.because else ""
    print(f"  {moment(event.at)}  {event.outcome} by {printable(event.who)} under {event.contract}, {event.run}{why}")
    for error in event.errors or ():
        print(f"      {printable(error['message'])}")
    if event.raw is not None and event.outcome == "edited":
        print(f"      as {printable(event.raw[:_MOST_TEXT])}")


def _next(found: OneLetter) -> str:
    row = found.row
    if row["status"] != "open":
        return f"next: smelt dlq undo {row['run']}"
    letter = f"--id {row['_id']}"
    return (
        f"next: smelt dlq plan {found.dataset} {letter}\n"
        f"      smelt dlq edit {row['_id']}\n"
        f"      smelt dlq discard {found.dataset} {letter} --because TEXT"
    )


def runs(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)] = None,
    most: Annotated[int, typer.Option("--most", "-n", min=1, metavar="N", help="How many of the newest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List what was done to dead letters, the newest first: replays, edits, discards and undoings."""
    from smelter.dead_letters.look import past_runs

    session = session_of(context)
    session.ingested(dataset)
    found = past_runs(session.open_lake(), dataset, most)
    if as_json:
        print_json([plain_values(asdict(one)) for one in found])
        return
    rows = [
        (one.run, one.dataset, moment(one.at), f"{one.done:,}", f"{one.failed:,}", one.who, one.because or "")
        for one in found
    ]
    if not rows:
        print("nothing was done to dead letters yet; smelt dlq ls DATASET shows what there is")
        return
    print_table(("run", "dataset", "when", "letters", "failed", "by", "because"), rows, right=("letters", "failed"))
    print("next: smelt dlq undo RUN takes one back")
