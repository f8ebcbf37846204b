"""Gold equals a plain recomputation from silver, whatever came, moved or went, and wherever a run was killed."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
import recount
from conftest import NewSilver
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from silvers import Event, Silver, gold_rows, gold_table, minute

from smelter.gold.build import Hooks, build_gold
from smelter.gold.models import Model

pytestmark = pytest.mark.jvm
EXAMPLES = int(os.environ.get("EXAMPLES", "1"))
ANSWERS: dict[str, Callable[..., list[recount.Row]]] = {
    "activity_per_minute": recount.activity_per_minute,
    "active_users_10m": recount.active_users_10m,
    "sessions": recount.sessions,
    "revenue_per_product_day": recount.revenue_per_product_day,
}


class Killed(Exception):
    """What stands in for the end of a process."""


@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],  # a smaller example would cost minutes to find
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_gold_equals_a_recomputation_from_silver(new_silver: NewSilver, seed: int) -> None:
    chance = random.Random(seed)
    silver = new_silver()
    models = [silver.shipped(name) for name in ANSWERS]
    silver.append(*(_event(chance) for _ in range(100)))
    changes, points = ["append", "move", "all"], ["", "computed", "committed"]
    chance.shuffle(changes)
    chance.shuffle(points)
    for change, point in zip(["", *changes], ["table_ready", *points], strict=True):
        _change(silver, change, chance)
        _build(silver, models, point)
        for name, model in zip(ANSWERS, models, strict=True):
            assert gold_rows(silver, model) == ANSWERS[name](silver.rows.values()), (name, change)


def _build(silver: Silver, models: list[Model], point: str) -> None:
    """One run that is killed when it reaches the point, one that is not, and one that has nothing to do."""

    def reach(here: str) -> None:
        if here == point:
            raise Killed

    hooks = Hooks(reach=reach)
    with contextlib.suppress(Killed):
        build_gold(silver.lake, silver.contract, models, hooks=hooks, wait_seconds=0, spark=silver.spark)
    silver.gold(*models)
    before = [gold_table(silver, model).metadata.current_snapshot_id for model in models]
    silver.gold(*models)
    assert [gold_table(silver, model).metadata.current_snapshot_id for model in models] == before


def _change(silver: Silver, change: str, chance: random.Random) -> None:
    some = chance.sample(sorted(silver.rows), min(10, len(silver.rows)))
    if change in ("append", "all"):
        silver.append(*(_event(chance) for _ in range(chance.randint(5, 20))))
    if change in ("move", "all"):
        silver.upsert(*(_event(chance, id=name) for name in some), _event(chance))
    if change == "all":
        silver.sql("call lake.system.rewrite_data_files(table => '{}', options => map('rewrite-all', 'true'))")
        silver.delete(*some[5:])


def _event(chance: random.Random, **words: str) -> Event:
    """Times on the edges of windows and gaps, and a microsecond beside them, over three days and their midnights."""
    day = chance.choice([-1, 0, 0, 0, 1])
    at = day * 1440 + 5 * chance.randint(0, 14)
    words.setdefault("id", f"{chance.getrandbits(40):010x}")
    event = minute(
        at,
        user=chance.choice([*"abcdefgh", None]),
        type=chance.choice(["page_view", "purchase"]),
        product=chance.choice(["lamp", "chair", None]),
        amount=chance.choice([Decimal("0.10"), Decimal("99.95"), None]),
        **words,
    )
    beside = timedelta(microseconds=chance.choice([0, 0, 0, -1, 1]))
    return replace(event, at=None if chance.random() < 0.05 else event.at + beside)
