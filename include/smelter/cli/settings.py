"""`smelt settings`: every value and where it comes from."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from smelter.cli.session import print_json, print_table, session_of
from smelter.errors import WrongUsage
from smelter.settings import FILE_NAME, PROJECT, Settings


def register(app: typer.Typer) -> None:
    """Add the command to the menu."""
    app.command("settings")(settings)


def settings(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the page docs/settings.md: the defaults, whatever is set here.")
    ] = False,
) -> None:
    """Show every setting, its value, where the value comes from, and what it is about."""
    if as_json and markdown:
        raise WrongUsage("--json and --markdown cannot be asked for together")
    if markdown:
        print(settings_page(), end="")
        return
    origins = session_of(context).loaded.origins
    if as_json:
        print_json([asdict(origin) for origin in origins])
    else:
        print_table(("setting", "value", "origin", "about"), [(o.name, o.value, o.origin, o.about) for o in origins])


def settings_page() -> str:
    """The page docs/settings.md; it depends on the code only, not on this machine."""
    rows = [
        f"| `{name}` | `SMELTER_{name.upper()}` | {_default(field.default)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join([*_INTRODUCTION, "| setting | variable | default | about |", "|---|---|---|---|", *rows, ""])


_INTRODUCTION = (
    "# Settings",
    "",
    "<!-- Made by `smelt settings --markdown > docs/settings.md`; a test compares the two. -->",
    "",
    f"A variable wins over the file `{FILE_NAME}` in the lake, which wins over the default; `--lake DIR` wins over",
    "`SMELTER_LAKE`. `smelt settings` shows each value in force and where it comes from. `<project>` is the folder of",
    "this repository. A relative path is taken from where the command is run.",
    "",
    f"`lake` cannot be set in `{FILE_NAME}`, which lies in the lake. The file looks like this:",
    "",
    "```toml",
    'contracts = "/srv/contracts"',
    "max_depth = 50",
    "```",
    "",
)


def _default(value: Any) -> str:
    if isinstance(value, Path) and value.is_relative_to(PROJECT):
        value = f"<project>/{value.relative_to(PROJECT)}"
    return "" if value is None else f"`{value}`"
