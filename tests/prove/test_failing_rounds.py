"""A proof that cannot fail proves nothing: with the platform sabotaged, rounds fail, are named and can be repeated."""

from __future__ import annotations

import json

import pytest

from smelter.bronze.batch import Bronze
from smelter.cli.main import run
from smelter.lake import commits
from smelter.lake.batches import BatchRecords, Done, Intent
from smelter.lake.home import BRONZE
from smelter.lake.tables import load_table
from smelter.prove import proof
from smelter.prove.ground import Ground
from smelter.prove.points import Point, point_named
from smelter.prove.rounds import Outcome, Round, State, prove
from smelter.prove.scene import Scene

pytestmark = pytest.mark.jvm


def a_round(ground: Ground, name: str, seed: int = 3) -> Outcome:
    (outcome,) = prove(ground, [Round(900 + seed, point_named(name), seed)])
    return outcome


def test_without_the_token_check_a_round_finds_doubled_records(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "is_committed", lambda *_, **__: False)
    monkeypatch.setattr(commits._AppendOnce, "_validate_concurrency", lambda _: None)

    def strike(scenes: list[Scene]) -> None:
        scenes[0].two_waves()
        scenes[0].crash_at("committed")

    (outcome,) = prove(ground, [Round(901, Point("kill_at_committed", "", strike), 1)])
    assert outcome.state is State.FAILED
    assert len(outcome.account.doubled) > 3
    assert not outcome.account.lost
    assert any(line.startswith("doubled: file:///") for line in outcome.why)
    assert any(line.startswith("reconcile: doubled") for line in outcome.why)


def test_a_batch_whose_commit_never_came_is_found_as_lost_records(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish_without_commit(bronze: Bronze, intent: Intent, *_: object, **__: object) -> None:
        bronze.records.finish(intent, {})

    with monkeypatch.context() as sabotage:
        sabotage.setattr(Bronze, "finish", finish_without_commit)

        def strike(scenes: list[Scene]) -> None:
            scenes[0].arrive("0.json")
            scenes[0].drain()
            sabotage.undo()

        (outcome,) = prove(ground, [Round(902, Point("lost", "", strike), 1)])
    assert outcome.state is State.FAILED
    assert outcome.account.lost
    assert not outcome.account.doubled


def test_a_receipt_that_is_dropped_is_told(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = BatchRecords.finish

    def drop_one(records: BatchRecords, intent: Intent, snapshots: dict[str, int]) -> Done:
        short = Intent(**{**{f: getattr(intent, f) for f in intent.__struct_fields__}, "receipts": intent.receipts[1:]})
        return finish(records, short, snapshots)

    monkeypatch.setattr(BatchRecords, "finish", drop_one)
    outcome = a_round(ground, "file_deleted")
    assert outcome.state is State.FAILED
    assert any("the receipt of" in line for line in outcome.why)
    assert any(line.startswith("reconcile: unexplained") for line in outcome.why)


def test_a_record_with_another_content_is_told(ground: Ground) -> None:
    def strike(scenes: list[Scene]) -> None:
        (scene,) = scenes
        scene.arrive("0.json", scene.mine.file(good=3, bad=0))
        scene.drain()
        table = load_table(ground.lake, BRONZE, scene.name)
        rows = table.scan().to_arrow()
        spoiled = rows.set_column(rows.schema.get_field_index("note"), rows.schema.field("note"), [["spoiled"] * 3])
        table.overwrite(spoiled)

    (outcome,) = prove(ground, [Round(903, Point("spoiled", "", strike), 1)])
    assert outcome.state is State.FAILED
    assert (outcome.account.lost, outcome.account.doubled) == ((), ())
    assert sum("is `row 1 'spoiled' None`, not `row 1 " in line for line in outcome.why) == 1


@pytest.fixture
def one_ground(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """The command works on the ground of these tests, which outlives it."""
    monkeypatch.setattr(proof.Ground, "new", lambda _settings: ground)
    monkeypatch.setattr(proof.Ground, "leave", lambda _ground, keep: None)
    return ground


def test_a_failed_round_is_told_with_its_lake_and_its_command_and_the_exit_code_is_1(
    one_ground: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Scene, "restart", lambda scene: scene.arrive("never read.json"))
    assert run(["prove", "--only", "file_cut", "--seed", "41", "--rounds", "2"]) == 1
    said = capsys.readouterr()
    assert "1/2 file_cut: FAILED" in said.err
    assert "lost: file:///" in said.err
    assert "again: smelt prove --only file_cut --seed 42 --rounds 1" in said.out
    assert f"lake: {one_ground.folder}/lake, dataset r00002_file_cut" in said.out
    assert said.out.splitlines()[-1].startswith("2 rounds (2 FAILED): ")
    assert not said.out.splitlines()[-1].endswith(": 0 lost, 0 doubled")
    assert load_table(one_ground.lake, BRONZE, "r00002_file_cut").current_snapshot() is not None


def test_a_round_is_the_same_when_it_is_repeated_by_its_command(
    one_ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    def points(*words: str) -> list[dict[str, object]]:
        assert run(["prove", "--json", *words]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["failed"], found["lost"], found["doubled"]) == (0, 0, 0)
        return list(found["points"])

    (both,) = points("--only", "lose_prepared_data", "--seed", "7", "--rounds", "2")
    (first,) = points("--only", "lose_prepared_data", "--seed", "7", "--rounds", "1")
    (second,) = points("--only", "lose_prepared_data", "--seed", "8", "--rounds", "1")
    assert both["records"] == int(str(first["records"])) + int(str(second["records"]))


def test_what_the_machine_does_not_allow_is_not_run_and_is_no_success(
    one_ground: Ground, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("smelter.prove.disks.namespace", lambda _probe: None)
    assert run(["prove", "--only", "full_disk_tables", "--rounds", "1"]) == 3
    said = capsys.readouterr().out
    assert "not run: a small file system to fill needs `unshare -rm`" in said
    assert said.splitlines()[-1] == "1 round (1 not run): 0 lost, 0 doubled"
