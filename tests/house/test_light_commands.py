"""Commands that need no Spark start quickly, because they import nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("pyspark", "airflow", "great_expectations", "duckdb", "pyiceberg", "pandas", "pyarrow", "numpy", "fastavro")
PROBE = """
import sys
from smelter.cli.main import run
code = run(sys.argv[1:])
print("heavy:", *sorted(set(sys.modules) & set({heavy!r})), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    "words",
    [
        "--version",
        "--help",
        "settings",
        "settings --json",
        "doctor",
        "lake --help",
        "contract check",
        "contract schema",
    ],
)
def test_a_light_command_imports_nothing_heavy(words: str) -> None:
    probe = [sys.executable, "-c", PROBE.format(heavy=HEAVY), *words.split()]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "heavy:"
