"""`smelt`: one command per module of this room; exit codes and errors are decided here and nowhere else."""

from __future__ import annotations

import errno
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from typer import _click as click

from smelter import __version__
from smelter.cli import (
    ask,
    bench,
    check,
    contract,
    demo,
    dlq,
    doctor,
    forget,
    gold,
    ingest,
    lake,
    maintain,
    platform,
    produce,
    prove,
    quality,
    reconcile,
    settings,
    silver,
    sql,
    status,
    stream,
    trace,
)
from smelter.cli.session import Session
from smelter.errors import SmelterError, Unreachable

_INTERRUPTED = 130
app = typer.Typer(
    name="smelt",
    help="Smelter: every record that arrives is in exactly one place, bronze or dead letters, "
    "and one command proves it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done · 1 a check failed or something was refused and nothing changed · 2 usage · "
    "3 something is unreachable, missing or full.",
)
for module in (
    demo,
    platform,
    doctor,
    settings,
    produce,
    check,
    ingest,
    stream,
    silver,
    gold,
    status,
    reconcile,
    trace,
    dlq,
    sql,
    ask,
    quality,
    contract,
    maintain,
    forget,
    lake,
    prove,
    bench,
):
    module.register(app)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"smelt {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    lake: Annotated[
        Path | None, typer.Option("--lake", metavar="DIR", help="The lake to work on (or SMELTER_LAKE).")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version
    context.obj = Session(lake=lake, debug=debug)


def main() -> None:
    """Run the command line and leave with the exit code of the menu."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123 (closed by whoever started it: `>&-`)
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")  # a terminal that has no ✓ must not end the command
    sys.exit(run(_global_options_first(sys.argv[1:])))


def run(arguments: list[str]) -> int:
    """Run one command; every failure becomes a short text on standard error and an exit code."""
    debug = "--debug" in arguments[: len(_leading_options(arguments))]
    try:
        code = app(args=arguments, prog_name="smelt", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:  # Typer's own word for Ctrl-C
            print("stopped", file=sys.stderr)
        return code if isinstance(code, int) else 0
    except click.exceptions.ClickException as problem:
        problem.show()
        return problem.exit_code
    except typer.Exit as leaving:
        return leaving.exit_code
    except (typer.Abort, KeyboardInterrupt):
        print("stopped", file=sys.stderr)
        return _INTERRUPTED
    except SystemExit as leaving:  # Typer's own word for a reader that went away, as in `smelt check … | head`
        if not isinstance(leaving.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as problem:
        return _report(problem, debug)


def _report(problem: Exception, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    if isinstance(problem, OSError):
        problem = _as_unreachable(problem)
    if isinstance(problem, SmelterError):
        print(problem, file=sys.stderr)
        return problem.exit_code
    hint = "" if debug else "; run it again with --debug for the traceback"
    print(f"Smelter failed in a way it should not: {type(problem).__name__}: {problem}{hint}", file=sys.stderr)
    return Unreachable.exit_code


def _as_unreachable(problem: OSError) -> Unreachable:
    where = str(problem.filename) if problem.filename else ""
    if problem.errno in (errno.ENOSPC, errno.EDQUOT):
        return Unreachable("the disk is full", where=where, next_step="free some room and run it again")
    return Unreachable((problem.strerror or str(problem)).lower(), where=where)


def _leading_options(arguments: list[str]) -> list[str]:
    """The options before the command's name."""
    leading: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if not word.startswith("-"):
            break
        leading.append(word)
        if word == "--lake":
            leading.append(next(rest, ""))
    return leading


def _global_options_first(arguments: list[str]) -> list[str]:
    """`smelt check a.json --lake x --debug` means the same as `smelt --lake x --debug check a.json`."""
    moved: list[str] = []
    kept: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            kept += [word, *rest]
        elif word == "--debug" or word.startswith("--lake="):
            moved.append(word)
        elif word == "--lake":
            moved += [word, *([value] if (value := next(rest, None)) is not None else [])]
        else:
            kept.append(word)
    return moved + kept
