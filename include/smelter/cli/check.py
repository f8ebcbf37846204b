"""`smelt check`: judge files without writing anything."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.limits import judge_of
from smelter.cli.session import complete_dataset, counted, print_table, session_of
from smelter.contracts.faults import printable
from smelter.errors import Unreachable

if TYPE_CHECKING:
    from smelter.records import DeadLetter, Judge, Source, Survey

_SHOWN_TO_PEOPLE = 5
_SHOWN_TEXT = 160
_MOST_ROWS = 20


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("check")(check)


def check(
    context: typer.Context,
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or - for standard input.")],
    dataset: Annotated[
        str,
        typer.Option(
            "--dataset", "-d", metavar="DATASET", help="The contract to judge by.", autocompletion=complete_dataset
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; it holds every letter.")] = False,
    letters: Annotated[
        int | None,
        typer.Option("--letters", min=0, metavar="N", help="Show this many dead letters; 5 for people, all in JSON."),
    ] = None,
) -> None:
    """Judge records and say which are good, and why the others are not. Writes nothing; exit 1 if any is bad."""
    session = session_of(context)
    judge = judge_of(session.contract(dataset), session.settings)
    sources = _sources(paths)
    if as_json:
        found = _check_for_programs(judge, sources, letters)
    else:
        found = _check_for_people(judge, sources, _SHOWN_TO_PEOPLE if letters is None else letters)
    raise typer.Exit(1 if found.dead else 0)


def _sources(paths: list[str]) -> Iterator[Source]:
    from smelter.records import Source, files_under

    for path in paths:
        if path != "-" and not os.path.lexists(path):
            raise Unreachable(f"there is no file or folder {path}", data="nothing was judged")
    for path in paths:
        if path == "-":
            yield Source("-", sys.maxsize, datetime.now(UTC), lambda: open(0, "rb", buffering=0, closefd=False))  # noqa: SIM115
        else:
            yield from (Source.of_file(file) for file in files_under(Path(path)))


def _check_for_programs(judge: Judge, sources: Iterator[Source], most: int | None) -> Survey:
    """One JSON document, written as letters are found, so that millions of them need no memory."""
    from smelter.records import survey

    written = 0

    def write(letter: DeadLetter) -> None:
        nonlocal written
        if most is None or written < most:
            sys.stdout.write("\n  " if written == 0 else ",\n  ")
            sys.stdout.write(json.dumps(letter_as_json(letter), ensure_ascii=False))
            written += 1

    sys.stdout.write('{"letters": [')
    sys.stdout.flush()
    found = survey(judge, sources, write, _progress())
    totals = {
        "files": found.files,
        "records": found.records,
        "accepted": found.accepted,
        "dead": found.dead,
        "by_reason": dict(sorted(found.by_reason.items())),
    }
    sys.stdout.write(("\n" if written else "") + "],\n" + json.dumps(totals)[1:] + "\n")
    return found


def letter_as_json(letter: DeadLetter) -> dict[str, Any]:
    """A letter as programs read it; bytes that are no text are given in hex."""
    shown: dict[str, Any] = {
        "source": letter.source,
        "position": letter.position,
        "reason": letter.reason.value,
        "errors": [{"rule": e.rule, "field": e.field, "found": e.found, "message": e.message} for e in letter.errors],
        "raw": letter.raw,
    }
    if letter.raw_bytes is not None:
        shown["raw_bytes"] = letter.raw_bytes.hex()
    return shown


def _check_for_people(judge: Judge, sources: Iterator[Source], most: int) -> Survey:
    from smelter.records import survey

    examples: list[DeadLetter] = []
    found = survey(
        judge, sources, lambda letter: examples.append(letter) if len(examples) < most else None, _progress()
    )
    print(
        f"{counted(found.files, 'file')}, {counted(found.records, 'record')}: "
        f"{found.accepted:,} good, {found.dead:,} dead under {judge.contract.label}"
    )
    if found.by_field:
        rows = [(*map(printable, place), f"{count:,}") for place, count in found.by_field.most_common(_MOST_ROWS)]
        print_table(("problem", "field", "rule", "records"), rows, right=("records",))
    if examples:
        print("file:position, where positions count a file's records from 0\n")
    for letter in examples:
        _print_letter(letter)
    if found.dead > len(examples):
        print(f"… {found.dead - len(examples):,} not shown; --letters {found.dead} shows all, --json is for programs")
    return found


def _print_letter(letter: DeadLetter) -> None:
    print(f"{printable(letter.source)}:{letter.position}  {letter.reason.value}")
    for problem in letter.errors:
        print(f"    {printable(problem.message)}")
    if letter.raw:
        print(f"    {printable(letter.raw if len(letter.raw) <= _SHOWN_TEXT else letter.raw[: _SHOWN_TEXT - 1] + '…')}")
    print()


def _progress() -> Callable[[Survey], None]:
    """A line on standard error that is written anew each second, if somebody is watching."""
    watched = sys.stderr.isatty()
    started = last = time.monotonic()

    def show(found: Survey) -> None:
        nonlocal last
        now = time.monotonic()
        if watched and now - last > 1:
            last = now
            print(
                f"\r{found.files:,} files, {found.records:,} records, {found.dead:,} dead, {now - started:.0f} s",
                end="\r",
                file=sys.stderr,
                flush=True,
            )

    return show
