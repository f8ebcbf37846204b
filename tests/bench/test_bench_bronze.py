"""`smelt bench bronze` in its shortest form: everybody's rows are counted, and the ratios follow from the numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from smelter.bench import bronze as bench
from smelter.bench import bronze_files, small_batches
from smelter.bench.bronze import Process
from smelter.bench.bronze_contenders import Answer
from smelter.bench.bronze_files import FileSet
from smelter.bench.meters import PeakMemory, cpu_seconds, memory_bytes
from smelter.cli.main import run
from smelter.errors import Refused
from smelter.prove.processes import QUICK_JVM

pytestmark = pytest.mark.jvm
NAMES = {"smelter", "duckdb", "pyiceberg", "plain_spark"}


def three_of_four(*words: Any) -> list[FileSet]:
    """Each form, and each share of bad records, in less time."""
    good_lines, good_arrays, _, bad_arrays = bronze_files.make_comparison(*words)
    return [good_lines, good_arrays, bad_arrays]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, Path]:
    output = tmp_path_factory.mktemp("benchmarks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", QUICK_JVM)
        patch.setattr(bench, "ROUNDS", 1)
        patch.setattr(bench, "make_comparison", three_of_four)
        patch.setattr(bronze_files, "LARGE_BYTES", 3_000_000)
        patch.setattr(bronze_files, "SMALL_BYTES", 300_000)
        patch.setattr(small_batches, "WARM_UP", 1)
        assert run(["bench", "bronze", "--events", "10000", "--batches", "4", "--output", str(output)]) == 0
    return json.loads((output / "bronze.json").read_text("utf-8")), output


def test_every_contender_is_measured_on_every_set_that_it_can_read(found: tuple[dict, Path]) -> None:
    figures = found[0]["figures"]
    assert {(one["files"], one["contender"]) for one in figures} == {
        (f"{form}, {percent} % dead", name)
        for form, percent in (("ndjson", 0), ("arrays", 0), ("arrays", 5))
        for name in NAMES - ({"pyiceberg"} if form == "arrays" else set())
    }
    assert {one["records"] for one in figures} == {10_000}
    assert all(one["rows_per_cpu_second"] > 0 and one["peak_mb"] > 10 for one in figures)
    assert found[0]["seconds_to_first_commit"].keys() == NAMES


def test_the_ratios_follow_from_the_numbers(found: tuple[dict, Path]) -> None:
    figures = {(one["files"], one["contender"]): one for one in found[0]["figures"]}
    files = "arrays, 5 % dead"
    ours, ceiling, spark = (figures[files, name] for name in ("smelter", "duckdb", "plain_spark"))
    ratios = found[0]["ratios"]
    share = ours["rows_per_second"] / ceiling["rows_per_second"]
    assert ratios[f"{files}: rows/s, Smelter / DuckDB"] == pytest.approx(share, abs=0.01)
    gain = ours["rows_per_cpu_second"] / spark["rows_per_cpu_second"]
    assert ratios[f"{files}: rows/CPU-s, Smelter / plain Spark"] == pytest.approx(gain, rel=0.01)
    assert len(found[0]["small_batches"]) == 4
    assert [one["records"] for one in found[0]["one_file_and_many"]] == [2_000, 2_000]
    small, large = found[0]["small_file_and_large"]
    assert large["records"] > 5 * small["records"]


def test_the_page_and_the_picture_are_written(found: tuple[dict, Path]) -> None:
    page = (found[1] / "bronze.md").read_text("utf-8")
    assert "| plain Spark job |" in page
    assert "bronze.png" in page
    assert (found[1] / "bronze.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "counted"), [("smelter", (90, 10)), ("duckdb", (100, 0))])
def test_a_wrong_result_has_no_figure(name: str, counted: tuple[int, int], tmp_path: Path) -> None:
    process = Process.__new__(Process)
    process.name = name
    files = FileSet("some", "ndjson", tmp_path, good=90, dead=10)
    process._check(Answer(1.0, 1.0, *counted), files)
    with pytest.raises(Refused, match="not"):
        process._check(Answer(1.0, 1.0, counted[0] - 1, counted[1] + 1), files)


def test_the_meters_count_a_process_with_all_below_it() -> None:
    import multiprocessing
    import os

    before = cpu_seconds()
    child = multiprocessing.get_context("fork").Process(target=_burn)
    with PeakMemory(os.getpid()) as memory:
        child.start()
        child.join()
    assert cpu_seconds() - before >= 0.25
    assert memory.bytes >= 0.5 * memory_bytes() > 0


def _burn() -> None:
    import time

    while time.process_time() < 0.3:
        pass
