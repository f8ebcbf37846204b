"""`smelt dlq`: dead letters are looked at, planned, replayed, edited, discarded, and all of it can be undone."""

from __future__ import annotations

import typer

from smelter.cli import dlq_close, dlq_look, dlq_plan, dlq_replay

_app = typer.Typer(
    name="dlq",
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Dead letters: look at them, plan, replay, edit, discard, and undo any of it.",
)
for module in (dlq_look, dlq_plan, dlq_replay, dlq_close):
    module.register(_app)


def register(app: typer.Typer) -> None:
    """Add the commands to the menu."""
    app.add_typer(_app)
