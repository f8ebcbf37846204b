"""`smelt ask`: the questions that people usually ask, and their answers from the live tables."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.answers import Format, Wanted, give, wanted_of
from smelter.cli.session import Session, counted, print_json, session_of
from smelter.cli.sql import AsJson, At, Form, Limit, Output, end_well, refuse_unless_open, tell_emptiness, tell_troubles
from smelter.contracts.faults import printable
from smelter.errors import SmelterError, Unreachable, WrongUsage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from smelter.explore.questions import Question

_MOST = "most"  # the parameter that says how many rows at most
_UNBOUNDED = 1_000_000  # the width of a pipe


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("ask")(ask)


def _complete(incomplete: str) -> list[str]:
    """Names for the shell to offer; a broken setting must not break the shell's line."""
    from smelter.settings import load_settings

    try:
        folder = load_settings().values.duckdb / "questions"
        return sorted(path.stem for path in folder.glob(f"{incomplete}*.sql"))
    except SmelterError:
        return []


def ask(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which question.", autocompletion=_complete)
    ] = None,
    params: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="What is given to the question (repeatable)."),
    ] = None,
    form: Form = None,
    as_json: AsJson = False,
    output: Output = None,
    limit: Limit = None,
    at: At = None,
    show_sql: Annotated[bool, typer.Option("--sql", help="Print the question's SQL, and do not ask.")] = False,
) -> None:
    """Ask a saved question of the live tables; without a NAME, list them."""
    session = session_of(context)
    folder = session.settings.duckdb / "questions"
    from smelter.explore.questions import question_named, questions

    if name is None:
        useless = {"--param": params, "--format": form, "--output": output, "--limit": limit, "--at": at}
        for option in (option for option, value in useless.items() if value is not None):
            raise WrongUsage(f"{option} belongs to a question", next_step="smelt ask NAME; smelt ask lists the names")
        known, flaws = questions(folder)
        for flaw in flaws:
            print(f"note: {flaw.what}", file=sys.stderr)
        _list(known, folder, as_json=as_json)
        return
    question = question_named(folder, name)
    given = _given(params or [])
    values = question.values(given)  # refused before anything is opened
    if show_sql:
        print(question.with_values(values))
        return
    wanted = wanted_of(form, as_json, output, limit, session.settings.lake)
    refuse_unless_open(session)
    end_well()
    _ask(session, question, given, wanted, at)


def _ask(session: Session, question: Question, given: Mapping[str, str], wanted: Wanted, at: str | None) -> None:
    from smelter.explore import open_explorer

    for_people = wanted.form is Format.TABLE and wanted.output is None
    with open_explorer(session.settings, at=at) as explorer:
        known = {str(table) for table in explorer.tables}
        missing = [table for table in question.needs if table not in known]
        if missing:
            raise Unreachable(
                f"this question is about {' and '.join(missing)}, and the lake has no such table yet",
                next_step=f"{_comes_with(missing[0])}, or smelt ask for the others",
            )
        values = question.values(given)
        question.refuse_unknown(values, explorer.tables)
        if for_people:
            _print_head(question, given)
        answer = explorer.execute(question.sql, values, as_text=wanted.as_text)
        tell_troubles(explorer.troubles)
        tell_emptiness(explorer, at)
        chart = question.chart if wanted.form is Format.TABLE else None
        rows = give(answer, Wanted(wanted.form, wanted.output, wanted.limit, chart))
        if rows and rows == values.get(_MOST):
            print(f"there may be more: --param {_MOST}={rows * 2} shows as many", file=sys.stderr)


def _comes_with(table: str) -> str:
    """The command by which a table is made."""
    namespace = table.partition(".")[0]
    return {"gold": "smelt gold DATASET", "bronze": "smelt ingest DATASET --drain"}.get(
        namespace, "smelt silver DATASET"
    )


def _given(params: list[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for text in params:
        name, equals, value = text.partition("=")
        if not equals:
            raise WrongUsage(f"--param {text} has no value", next_step="write --param NAME=VALUE")
        if name in given:
            raise WrongUsage(f"--param {name} is there twice", next_step="give each once")
        given[name] = value
    return given


def _list(known: list[Question], folder: Path, *, as_json: bool) -> None:
    if as_json:
        print_json([{"name": one.name, "question": one.question, "about": " ".join(one.about)} for one in known])
        return
    widest = max((len(one.name) for one in known), default=0)
    for one in known:
        print(f"  {one.name:<{widest}}  {one.question}")
    print(f"{counted(len(known), 'question')} in {folder}; smelt ask NAME asks one, --sql shows how it is written")


def _print_head(question: Question, given: Mapping[str, str]) -> None:
    print(question.question)
    lines = list(question.about)
    for param in question.params:
        text = given.get(param.name, param.default)
        lines.append(f"--param {param.name}={'…' if text is None else printable(text)}  {param.about}")
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _UNBOUNDED
    for line in lines:
        wrapped = textwrap.wrap(line, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
        print("\n".join(wrapped))
