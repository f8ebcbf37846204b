"""`smelt sql` without a query: DuckDB's own shell over the live lake."""

from __future__ import annotations

from smelter.cli.session import Session, counted


def open_shell(session: Session, at: str | None, *, unsafe: bool) -> int:
    """Open the shell, say what there is, and wait for its end; its exit code."""
    from smelter import walled
    from smelter.explore.service import serve
    from smelter.explore.shell import run_shell

    settings = session.settings
    with serve(settings, at) as service:
        tables = counted(len(service.catalog.tables()), "table")
        then = f" as of {service.as_of}" if service.as_of else ""
        print(
            f"{settings.lake}{then}: {tables}, to read only.\n"
            "`from tables;` lists them and the views of `ops`, .help helps, Ctrl-D ends."
        )
        if unsafe:
            print("--unsafe: this shell may read and write whatever you may.")
        elif not walled.is_possible():
            print("This kernel has no Landlock: `copy … to` could write into the folder of the lake's tables; do not.")
        return run_shell(service, settings.lake, unsafe=unsafe)
