"""`smelt dlq edit`, `discard` and `retire`: a letter is corrected by hand, closed with a reason, or its time is up."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from smelter.cli.dlq_options import (
    WAIT_SECONDS,
    AsJson,
    Because,
    Chosen,
    Dataset,
    Wait,
    choosing,
    refuse_strange_id,
    telling,
)
from smelter.cli.limits import limits_of
from smelter.cli.session import IfThere, counted, print_json, print_nothing, session_of
from smelter.contracts.faults import printable
from smelter.errors import Refused, Unreachable, WrongUsage


def register(letters: typer.Typer) -> None:
    """Add the commands to `smelt dlq`."""
    letters.command("edit")(edit)
    letters.command("discard")(choosing(discard))
    letters.command("retire")(retire)


def edit(
    context: typer.Context,
    letter: Annotated[str, typer.Argument(metavar="ID", help="The id of a letter, or the beginning of it.")],
    raw: Annotated[
        Path | None, typer.Option("--raw", metavar="FILE", help="The corrected text; without it, $EDITOR opens.")
    ] = None,
    because: Because = "",
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
) -> None:
    """Correct one letter by hand: the corrected record is judged and goes to bronze; the original stays in history."""
    from smelter.dead_letters.edit import edit as edit_letter
    from smelter.dead_letters.edit import text_to_edit
    from smelter.dead_letters.look import find_letter

    refuse_strange_id(letter)
    session = session_of(context)
    lake = session.open_lake()
    found = find_letter(lake, session.ingested(None, at_least_one=True), letter)
    name = str(found.row["_id"])
    before = text_to_edit(lake, found.dataset, name)
    corrected = _read(raw, name) if raw is not None else _in_editor(before, name)
    if corrected.strip() == before.strip():
        raise Refused(
            f"the text of {name} was not changed",
            data="the letter is open as before",
            next_step=f"correct it, then: smelt dlq edit {name}",
        )
    done = edit_letter(
        lake, found.dataset, name, corrected.strip(), limits_of(session.settings), because, telling(), wait
    )
    if as_json:
        print_json(asdict(done))
        return
    print(f"{done.dataset}: the corrected letter {done.id} went to bronze under {done.contract}")
    print(f"run: {done.run}")
    print(f"next: smelt silver {done.dataset} takes it up; smelt dlq undo {done.run} takes this back")


def _read(raw: Path, name: str) -> bytes:
    try:
        return raw.read_bytes()
    except OSError as problem:
        raise Unreachable(
            f"the corrected text cannot be read: {(problem.strerror or str(problem)).lower()}",
            where=printable(str(raw)),
            data="the letter is open as before",
            next_step=f"smelt dlq edit {name} --raw FILE",
        ) from problem


def _in_editor(text: bytes, name: str) -> bytes:
    """The text as a person leaves it in the editor that they use."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor or not sys.stdin.isatty():
        raise WrongUsage("there is no editor here: set $EDITOR", next_step=f"smelt dlq edit {name} --raw FILE")
    with tempfile.TemporaryDirectory(prefix="smelter-edit-") as folder:
        file = Path(folder) / f"{name}.json"
        file.write_bytes(text)
        try:
            ended = subprocess.run([*shlex.split(editor), str(file)], check=False)
        except OSError as problem:
            raise Unreachable(
                f"the editor {editor} cannot be started: {problem.strerror}",
                data="nothing was changed",
                next_step=f"set $EDITOR, or: smelt dlq edit {name} --raw FILE",
            ) from problem
        if ended.returncode != 0:
            raise Refused(
                f"the editor ended with {ended.returncode}",
                data="nothing was changed",
                next_step=f"smelt dlq edit {name}",
            )
        return file.read_bytes()


def discard(
    context: typer.Context,
    dataset: Dataset,
    because: Because = "",
    everything: Annotated[bool, typer.Option("--all", help="All open letters; otherwise say which.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many would be closed.")] = False,
    wait: Wait = WAIT_SECONDS,
    as_json: AsJson = False,
    *,
    chosen: Chosen,
) -> None:
    """Close letters that nobody wants back, with a reason; they stay where they are, and `undo` opens them again."""
    from smelter.dead_letters.discard import Discarded
    from smelter.dead_letters.discard import discard as discard_letters
    from smelter.dead_letters.letters import Letters

    session = session_of(context)
    filters = chosen.filters()
    if not because.strip():
        raise WrongUsage(
            "say why: it is kept in the history", next_step=f'smelt dlq discard {dataset} … --because "TEXT"'
        )
    if filters.are_given == everything:
        raise WrongUsage("say which letters, or --all of them", next_step=f"smelt dlq ls {dataset}")
    (name,) = session.ingested(dataset)
    lake = session.open_lake()
    if dry_run:
        with Letters(lake, name) as letters:
            done = Discarded(name, None, sum(letters.count(filters)))
    else:
        done = discard_letters(lake, name, filters, because.strip(), limits_of(session.settings), telling(), wait)
    if as_json:
        print_json(asdict(done))
        return
    print(f"{name}: {counted(done.letters, 'letter')} {'would be' if dry_run else ''} discarded".replace("  ", " "))
    if done.run is not None:
        print(f"run: {done.run}\nnext: smelt dlq undo {done.run} opens them again")
    else:
        print(f"next: smelt dlq ls {name}{chosen.words()}")


def retire(
    context: typer.Context,
    dataset: Dataset,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many would go.")] = False,
    wait: Wait = WAIT_SECONDS,
    if_there: IfThere = False,
    as_json: AsJson = False,
) -> None:
    """Remove letters that were closed longer ago than `dead_letters.keep` of the contract; an open one never goes."""
    from smelter.dead_letters.retention import retire as retire_letters

    session = session_of(context)
    if if_there and (nothing := session.nothing_yet(dataset)):
        print_nothing(dataset, nothing, as_json=as_json)
        return
    (name,) = session.ingested(dataset)
    limits = limits_of(session.settings)
    done = retire_letters(session.open_lake(), name, limits, dry_run=dry_run, hooks=telling(), wait_seconds=wait)
    if as_json:
        print_json(asdict(done))
        return
    if done.keep is None:
        print(f"{name}: its contract keeps closed letters for ever (dead_letters: {{keep: 90d}} would not)")
    else:
        words = "would go" if dry_run else "are gone"
        print(f"{name}: {counted(done.letters, 'letter')} that were closed more than {done.keep} ago {words}")
    would_go = dry_run and done.letters
    print(f"next: smelt dlq {f'retire {name}' if would_go else f'ls {name} --status all'}")
