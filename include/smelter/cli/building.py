"""Silver and gold are brought up to date after something left bronze, by the commands that make it leave."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from smelter.cli.session import Session, counted

if TYPE_CHECKING:
    from smelter.gold.build import GoldReport
    from smelter.silver.report import SilverReport


@dataclass(frozen=True)
class Followed:
    """What became of silver and gold; nothing of either if it never was made."""

    silver: SilverReport | None = None
    gold: GoldReport | None = None

    def raise_failure(self) -> None:
        """Say why a gold table is as it was, if one is."""
        if self.gold is not None and self.gold.failed:
            raise self.gold.failed[0].problem


def build_again(session: Session, dataset: str, wait: float, *, as_json: bool, rebuild: bool = False) -> None:
    """Bring both up to date and say so; a gold table that fails is raised after all others are built."""
    followed = follow(session, dataset, wait, rebuild=rebuild)
    if not as_json:
        print_followed(followed)
    followed.raise_failure()


def follow(session: Session, dataset: str, wait: float, *, rebuild: bool = False) -> Followed:
    """Silver sees by itself what left bronze, and gold what changed in silver; what never was made is not made here."""
    from smelter.gold.build import Hooks as GoldHooks
    from smelter.gold.build import build_gold
    from smelter.gold.models import load_models
    from smelter.lake.home import BRONZE, GOLD, SILVER
    from smelter.lake.tables import active_contract, find_table, load_table
    from smelter.silver.build import Hooks, Wishes, build_silver

    lake = session.open_lake()
    if find_table(lake, SILVER, dataset) is None:
        return Followed()
    silver = build_silver(lake, dataset, Wishes(rebuild=rebuild, wait_seconds=wait), Hooks(say=_say))
    contract = active_contract(load_table(lake, BRONZE, dataset))
    models = [one for one in load_models(session.settings.models) if find_table(lake, GOLD, one.name) is not None]
    gold = build_gold(lake, contract, models, rebuild=rebuild, wait_seconds=wait, hooks=GoldHooks(say=_say))
    return Followed(silver, gold)


def print_followed(followed: Followed) -> None:
    """For people."""
    silver = followed.silver
    if silver is not None:
        gone = "made anew" if silver.is_rebuild else f"{counted(silver.total('removed'), 'row')} gone with it"
        print(f"silver.{silver.dataset}: {gone}; {silver.rows:,} rows")
    for one in followed.gold.built if followed.gold is not None else ():
        print(f"{one.table}: {one.written:,} rows written, {one.removed:,} removed")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
