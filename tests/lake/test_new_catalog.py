"""A catalog that is not there yet is made once, however many ask for it at the same moment."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

OPENS = """
import sys, time
from pathlib import Path
from smelter.lake.catalog import open_catalog

while time.time() < float(sys.argv[2]):
    pass
print(open_catalog(Path(sys.argv[1])).list_namespaces())
"""


def test_six_processes_that_open_a_new_catalog_at_once_all_find_it_whole(tmp_path: Path) -> None:
    for number in range(2):
        file = tmp_path / f"{number}.db"
        moment = str(time.time() + 3)
        words = [sys.executable, "-c", OPENS, str(file), moment]
        opened = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
        said = [one.communicate() for one in opened]
        assert [one.returncode for one in opened] == [0] * 6, said
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
