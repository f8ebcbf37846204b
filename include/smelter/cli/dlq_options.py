"""Which letters are meant? The same options for every command over dead letters."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from smelter.cli.session import complete_dataset
from smelter.contracts.ago import time_or_ago
from smelter.contracts.faults import printable
from smelter.contracts.misfit import nearest
from smelter.errors import WrongUsage

if TYPE_CHECKING:
    from smelter.dead_letters.filters import Filters
    from smelter.dead_letters.run import Hooks

Dataset = Annotated[str, typer.Argument(metavar="DATASET", autocompletion=complete_dataset)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Wait = Annotated[
    float, typer.Option("--wait", min=0, metavar="SECONDS", help="How long to wait for another who changes them.")
]
Because = Annotated[str, typer.Option("--because", metavar="TEXT", help="Why; kept in the history.")]
WAIT_SECONDS = 60.0
_ID = re.compile(r"[0-9a-f]{4,16}")
_STATUSES = ("open", "replayed", "edited", "discarded", "all")


@dataclass(frozen=True)
class Chosen:
    """The letters that somebody means, in their words."""

    reason: Annotated[str | None, typer.Option("--reason", metavar="WORD", help="Such as unknown_field.")] = None
    field: Annotated[
        str | None, typer.Option("--field", metavar="NAME", help="With something wrong at this field, or below it.")
    ] = None
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Written from then on: a time, or 2h, 3d ago.")
    ] = None
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Written before then.")] = None
    source: Annotated[str | None, typer.Option("--source", metavar="TEXT", help="Whose file has this in its name.")] = (
        None
    )
    batch: Annotated[str | None, typer.Option("--batch", metavar="TOKEN", help="Of this batch of the stream.")] = None
    contract: Annotated[
        str | None, typer.Option("--contract", metavar="LABEL", help="Judged last by this contract: events@1.")
    ] = None
    id: Annotated[str | None, typer.Option("--id", metavar="ID", help="This one letter.")] = None

    def filters(self, status: str = "open") -> Filters:
        """What they mean, checked."""
        from smelter.dead_letters.filters import Filters
        from smelter.lake.letter_status import Status

        now = datetime.now(UTC)
        since, until = (
            None if text is None else time_or_ago(text, option, now)
            for option, text in (("--since", self.since), ("--until", self.until))
        )
        if since is not None and until is not None and since >= until:
            raise WrongUsage(
                f"no letter was written from {since.isoformat()} on and before {until.isoformat()}",
                next_step="--since is the earlier of the two",
            )
        _refuse_unknown("--reason", self.reason, _reasons())
        _refuse_unknown("--status", status, _STATUSES)
        if self.id is not None:
            refuse_strange_id(self.id)
        wanted = None if status == "all" else Status(status)
        return Filters(self.reason, self.field, since, until, self.source, self.batch, self.contract, self.id, wanted)

    def words(self, *, for_plan: bool = False) -> str:
        """The same letters, as another command takes them; `--contract` of `plan` is something else."""
        names = [name for name in self.__dataclass_fields__ if not (for_plan and name == "contract")]
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return "".join(f" --{name} {_quoted(value)}" for name, value in given.items())


def choosing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `Chosen`, but for those that it has itself; it gets them as one, `chosen`."""
    own = inspect.signature(command, eval_str=True)
    options = {
        name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in inspect.get_annotations(Chosen, eval_str=True).items()
        if name not in own.parameters
    }

    @wraps(command)
    def called(**given: Any) -> Any:
        chosen = Chosen(**{name: given.pop(name) for name in options})
        return command(**given, chosen=chosen)

    kept = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, one in own.parameters.items() if name != "chosen"
    ]
    called.__signature__ = own.replace(parameters=[*kept, *options.values()])  # type: ignore[attr-defined]
    return called


def telling(reach: Callable[[str], None] = lambda _point: None) -> Hooks:
    """What happens is said on standard error, so that an answer can be piped."""
    from smelter.dead_letters.run import Hooks

    return Hooks(say=lambda line: print(line, file=sys.stderr, flush=True), reach=reach)


def refuse_strange_id(letter: str) -> None:
    """An id is hex digits, or the first few of them."""
    if not _ID.fullmatch(letter):
        raise WrongUsage(
            f"`{printable(letter)}` is not the id of a letter: 16 hex digits, or the first 4 or more of them",
            next_step="smelt dlq ls DATASET shows an id for each group",
        )


def _reasons() -> tuple[str, ...]:
    from smelter.records import Reason

    return tuple(str(reason) for reason in Reason)


def _refuse_unknown(option: str, word: str | None, known: tuple[str, ...]) -> None:
    if word is not None and word not in known:
        near = nearest(word, known)
        what = f"{option} `{printable(word)}` is not one of {', '.join(known)}{near}"
        raise WrongUsage(what, next_step="smelt dlq ls DATASET shows what there is")


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w./:@+-]+", text) else "'" + text.replace("'", "'\\''") + "'"
