"""Silver and gold follow a forgetting at once; what could not follow is named, and built by the next run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from forget_command import Smelt, a_command  # noqa: F401
from people import MakePeople, People, event, make_people  # noqa: F401

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZOE = "user_id = 'zoe'"


@pytest.fixture
def make_built(
    make_people: MakePeople,  # noqa: F811
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> MakePeople:
    """Three people up to gold; the command builds in the shared session."""

    def make() -> People:
        people = make_people()
        people.arrive("a.json", event("zoe", 1), event("bob", 2), event("ann", 3))
        people.build()
        (tmp_path / f"{people.model.name}.sql").write_text(people.model_text)
        monkeypatch.setenv("SMELTER_MODELS", str(tmp_path))
        for room in ("silver.build", "gold.engine"):
            monkeypatch.setattr(f"smelter.{room}.start_spark", lambda *_words, **_more: spark)
        monkeypatch.setattr(spark, "stop", lambda: None)
        return people

    return make


@pytest.mark.jvm
def test_silver_and_gold_follow_at_once_unless_somebody_says_otherwise(smelt: Smelt, make_built: MakePeople) -> None:
    people = make_built()
    found = smelt(people, "forget", people.name, "--where", "user_id = 'bob'", "--no-build", "--json").json
    behind = [one["where"] for one in found["still_there"] if one["what"] == "rows"]
    assert behind == [f"silver.{people.name}", f"gold.{people.model.name}"]
    assert (found["silver"], found["gold"], len(people.silver())) == (None, [], 3)
    found = smelt(people, "forget", people.name, "--where", ZOE, "--json").json
    assert (found["found"]["silver"], found["silver"]["rows"]) == (2, 1), "bob had not left silver"
    assert [one["rows_written"] for one in found["gold"]] == [1]
    assert (list(people.silver()), people.gold()) == (["e3"], {1: (1, 1)})
    assert [one["where"] for one in found["still_there"] if one["what"] == "older snapshots"] == [
        f"bronze.{people.name}",
        f"silver.{people.name}",
        f"gold.{people.model.name}",
    ]


def rows_in(found: Any) -> list[str]:
    """The tables that still have rows of the person."""
    return [one["where"] for one in found["still_there"] if one["what"] == "rows"]


@pytest.mark.jvm
def test_a_gold_table_that_could_not_follow_is_named_and_the_next_run_builds_it(
    smelt: Smelt, make_built: MakePeople, tmp_path: Path
) -> None:
    people = make_built()
    words = ("forget", people.name, "--where", ZOE)
    gold, model = f"gold.{people.model.name}", tmp_path / f"{people.model.name}.sql"
    model.write_text(people.model_text.replace("max(note)", "min(note)"))  # refused: its rows were made otherwise
    done = smelt(people, *words, "--json")
    assert (done.code, done.json["found"]["silver"], rows_in(done.json)) == (1, 1, [gold])
    assert people.gold() == {1: (3, 3)}
    done = smelt(people, *words)
    assert (done.code, people.gold()) == (1, {1: (3, 3)}), "nobody is there, and gold is still behind"
    assert f"rows {gold}: stays (until smelt gold {people.name} has run)" in done.out
    assert rows_in(smelt(people, *words, "--no-build", "--json").json) == [gold]

    model.write_text(people.model_text)
    done = smelt(people, *words)
    assert (done.code, people.gold()) == (0, {1: (2, 2)})
    first, *rest = done.out.splitlines()
    assert first.endswith("silver and gold follow an earlier run")
    assert any(line.startswith(f"  older snapshots {gold}: goes after") for line in rest)
    done = smelt(people, *words, "--json")
    assert (done.code, done.json["silver"], done.json["gold"], done.json["still_there"]) == (0, None, [], [])


@pytest.mark.jvm
def test_killed_between_silver_and_gold_the_next_run_builds_gold(smelt: Smelt, make_built: MakePeople) -> None:
    people = make_built()
    people.forget(ZOE)
    people.build_silver()
    assert smelt(people, "forget", people.name, "--where", "user_id = 'somebody else'").code == 0
    assert people.gold() == {1: (2, 2)}
