"""The short form of random_kills.py: a few seeded kills of a following stream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from accounts import check
from random_kills import kill_again_and_again
from streams import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.jvm
def test_random_kills_of_a_following_stream_lose_and_double_nothing(
    stream: Stream, spark: SparkSession, tmp_path: Path
) -> None:
    kills = list(kill_again_and_again(stream, tmp_path, kills=2, seed=20261116))
    assert [kill.number for kill in kills] == [1, 2]
    stream.drain(spark)
    check(stream)
