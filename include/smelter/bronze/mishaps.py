"""What can go wrong around a stream, in a sentence each: with where, what became of the data, and what to do."""

from __future__ import annotations

from smelter.bronze.batch import Bronze
from smelter.errors import Refused, Unreachable
from smelter.lake.session import SPARK_LOG
from smelter.supervise.requests import Wish, wanted


def make_landing(bronze: Bronze) -> None:
    """Make the landing folder if it is not there."""
    try:
        bronze.lake.landing(bronze.contract).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise no_landing(bronze) from None


def no_landing(bronze: Bronze) -> Unreachable:
    """The folder where files arrive cannot be looked into."""
    return Unreachable(
        "the landing folder is not there, or is not a folder",
        where=str(bronze.lake.landing(bronze.contract)),
        data="nothing was read; files that were planned are not given up for lost",
        next_step="mount or make it, then run it again",
    )


def query_failed(said: str, bronze: Bronze) -> Unreachable:
    """Spark itself ended the stream, or never began it."""
    is_full = "No space left on device" in said
    first = next((line for line in said.splitlines() if line.strip()), "no reason was given")
    return Unreachable(
        "the disk is full" if is_full else f"Spark stopped the stream: {first[:300]}",
        where=str(bronze.lake.run_folder(bronze.dataset) / SPARK_LOG),
        data="what was committed stays committed; the batch that failed will be done again",
        next_step="free some room and run it again" if is_full else f"smelt ingest {bronze.dataset} --drain",
    )


def overdrawn(what: str, bronze: Bronze) -> Refused:
    """A drain has more dead letters than its contract allows."""
    dataset, said = bronze.dataset, wanted(bronze.lake.run_folder(bronze.dataset))
    go_on = f"smelt ingest {dataset} --drain" if said.wish is Wish.STOP else f"smelt stream resume {dataset}"
    return Refused(
        f"the drain of {dataset} ended early: {what}",
        where=f"dead_letters.{dataset}",
        data="what was committed stays committed; the other files wait in the landing folder",
        next_step=f"smelt dlq ls {dataset}; then {go_on}",
    )
