"""`smelt sql`: ask the lake's tables, with DuckDB: once, in its shell, or from a DuckDB of one's own."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from smelter.cli.answers import DEFAULT_LIMIT, Format, give, refuse_ours, wanted_of
from smelter.cli.session import Session, session_of
from smelter.errors import Unreachable, WrongUsage

if TYPE_CHECKING:
    from smelter.explore import Explorer

At = Annotated[
    str | None,
    typer.Option("--at", metavar="TIME|SNAPSHOT", help="As it was then: a time, 2h or 3d ago, or a snapshot's number."),
]
Form = Annotated[
    Format | None,
    typer.Option(
        "--format",
        metavar="FORM",
        help="table, csv, json, parquet or markdown; a table, or what the name of --output tells, if not given.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Short for --format json.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the answer there, whole or not at all.")
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="N", help=f"The most rows; a table has {DEFAULT_LIMIT} if not given."),
]


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("sql")(sql)


def sql(
    context: typer.Context,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="One query in DuckDB's SQL, or - for standard input.")
    ] = None,
    form: Form = None,
    as_json: AsJson = False,
    output: Output = None,
    limit: Limit = None,
    at: At = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Allow everything DuckDB can do, such as reading and writing files.")
    ] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Print a script for a DuckDB of your own, and serve it until Ctrl-C.")
    ] = False,
    init: Annotated[
        bool, typer.Option("--init", help="Print a script that needs no server, and shows the snapshots of now.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="DIR", help="Write the tables as Parquet into a new folder, with a manifest."),
    ] = None,
    tables: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="Of --export: only this table (repeatable).")
    ] = None,
) -> None:
    """Ask the lake's tables in SQL; without a QUERY, in DuckDB's own shell.

    For example: smelt sql "select count(*) from bronze.events"; `show tables`
    lists them, and `smelt ask` lists what people usually ask. Every query sees
    the newest snapshots. Without --unsafe it can read the lake's tables, and do
    nothing else.
    """
    session = session_of(context)
    ways = {"a QUERY": query is not None, "--serve": serve, "--init": init, "--export": export is not None}
    _refuse_two([way for way, is_asked in ways.items() if is_asked])
    answering = {"--format": form, "--json": as_json or None, "--limit": limit}
    if query is None and (serve or init or export or sys.stdin.isatty()):
        _refuse_useless({**answering, "--output": None if serve or init else output})
    _refuse_useless({"--table": tables if export is None else None, "--at": at if init else None})
    _refuse_useless({"--unsafe": (unsafe or None) if serve or init or export else None})
    refuse_unless_open(session)
    end_well()
    if serve or init:
        from smelter.cli import sql_script

        if output is not None:
            refuse_ours(output, session.settings.lake)
        sql_script.serve(session, at, output) if serve else sql_script.init(session, output)
    elif export is not None:
        from smelter.cli.sql_export import export_tables

        export_tables(session, export, tables or [], at)
    elif query is None and sys.stdin.isatty():
        from smelter.cli.sql_shell import open_shell

        raise typer.Exit(open_shell(session, at, unsafe=unsafe))
    else:
        wanted = wanted_of(form, as_json, output, limit, session.settings.lake)
        text = _query_text(query or "-")
        from smelter.explore import open_explorer

        with open_explorer(session.settings, unsafe=unsafe, at=at) as explorer:
            answer = explorer.execute(text, as_text=wanted.as_text)
            tell_troubles(explorer.troubles)
            tell_emptiness(explorer, at)
            give(answer, wanted)


def tell_troubles(troubles: list[str]) -> None:
    """Tables that cannot be opened are missing in the views of `ops`: whoever reads these must know."""
    for trouble in troubles:
        print(f"note: {trouble}", file=sys.stderr)


def tell_emptiness(explorer: Explorer, at: str | None) -> None:
    """Before the first commit everything is empty, which looks like an answer."""
    if at is None or not explorer.tables:
        return
    if not explorer.has_any_snapshot():
        print(f"note: at {at} no table had any rows yet", file=sys.stderr)


def end_well() -> None:
    """Let a SIGTERM or a SIGHUP end the command as Ctrl-C does, so that no file of it stays behind."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def refuse_unless_open(session: Session) -> None:
    """A folder that is no lake, or whose catalog is elsewhere, would look like an empty lake."""
    from smelter.lake.layout import refuse_other_catalog, refuse_other_layout, refuse_unless_lake

    settings = session.settings
    if not settings.lake.exists():
        raise Unreachable(
            "there is no such folder, and so no lake",
            where=str(settings.lake),
            next_step="name another with --lake DIR, or begin one with smelt ingest DATASET --drain",
        )
    refuse_unless_lake(settings.lake)
    refuse_other_layout(settings.lake)
    refuse_other_catalog(settings.lake, settings.catalog)


def _refuse_two(asked: list[str]) -> None:
    if len(asked) > 1:
        raise WrongUsage(f"{' and '.join(asked)} are different things to do", next_step="run them one after the other")


def _refuse_useless(options: dict[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            raise WrongUsage(f"{option} means nothing here", next_step="smelt sql --help")


def _query_text(query: str) -> str:
    try:
        return sys.stdin.read() if query == "-" else query
    except (UnicodeDecodeError, TypeError) as problem:  # TypeError: of signs that Python could not read (C locale)
        raise WrongUsage(f"standard input is not text in UTF-8: {problem}") from None
