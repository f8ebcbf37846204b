"""What is known of files that runs over dead letters read again: their receipts, one history with the stream's."""

from __future__ import annotations

import numpy as np

from smelter.dead_letters.run import Runs
from smelter.explore import Explorer
from smelter.lake.batches import Done, Receipt, Unit
from smelter.lake.identities import Positions, positions_of, positions_of_rows
from smelter.lake.resolutions import resolved

_NOTHING: Positions = np.empty(0, np.int64)


def history_of(runs: Runs) -> list[Done]:
    """Batches of the stream and runs over its letters, in the order of time."""
    places = (runs.lake.batches(runs.dataset), runs.records)
    return sorted((one for records in places for one in records.done()), key=lambda one: one.ingested_at)


def last_receipts(runs: Runs) -> dict[str, Receipt]:
    """The newest receipt of every source."""
    return {receipt.unit.source: receipt for one in history_of(runs) for receipt in one.receipts}


def receipts_without(runs: Runs, explorer: Explorer, token: str) -> list[Receipt]:
    """Of each file that a run read again, the receipt that it had before; from the tables if the run's own is lost."""
    history = history_of(runs)
    its_own = next((one for one in history if one.token == token), None)
    if its_own is None:
        return _from_tables(runs, explorer, token)
    earlier = (one for one in history if one.ingested_at < its_own.ingested_at)
    before = {receipt.unit.source: receipt for one in earlier for receipt in one.receipts}
    sources = (receipt.unit.source for receipt in its_own.receipts)
    return [before[source] for source in sources if source in before]


def _from_tables(runs: Runs, explorer: Explorer, token: str) -> list[Receipt]:
    """For sources of which the run brought more records than it closed letters."""
    rows, letters = (
        _positions(explorer, f'{place}."{runs.dataset}" where _batch = $run', token)
        for place in ("bronze", "dead_letters")
    )
    closing = "outcome in ('replayed', 'edited', 'discarded')"
    closed = _positions(explorer, f"dead_letters.resolutions where run = $run and {closing}", token)
    sources = sorted(
        source
        for source in rows.keys() | letters.keys()
        if np.setdiff1d(_both(rows, letters, source), closed.get(source, _NOTHING)).size
    )
    if not sources:
        return []
    held, kept = (positions_of(table, sources) for table in (runs.bronze, runs.letters))
    now = resolved(runs.lake, runs.dataset, sources)
    receipts = []
    for source in sources:
        accepted = len(np.setdiff1d(held.get(source, _NOTHING), rows.get(source, _NOTHING)))
        standing = now.standing(source, kept.get(source, _NOTHING), held.get(source, _NOTHING))
        standing = np.union1d(standing, closed.get(source, _NOTHING))
        dead = len(np.setdiff1d(standing, letters.get(source, _NOTHING)))
        receipts.append(Receipt(Unit(source, 0, 0), "", accepted + dead, accepted, dead, is_whole=False))
    return receipts


def _both(rows: dict[str, Positions], letters: dict[str, Positions], source: str) -> Positions:
    return np.concatenate([rows.get(source, _NOTHING), letters.get(source, _NOTHING)])


def _positions(explorer: Explorer, place: str, run: str) -> dict[str, Positions]:
    question = f"select _source, _position from {place}"  # noqa: S608
    return positions_of_rows(explorer.execute(question, {"run": run}).arrow())
