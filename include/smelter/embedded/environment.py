"""What the platform's processes are given: their home, the lake, and nothing of anybody's other Airflow."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from smelter.embedded.configuration import ADDRESS
from smelter.embedded.home import Home
from smelter.settings import Settings

HOME_VARIABLE = "AIRFLOW_HOME"
_FOREIGN = ("AIRFLOW", "_AIRFLOW")
_SLOW = "PYTHONDONTWRITEBYTECODE"  # without bytecode the four components need 28 to 51 s instead of 11
_PATHS = ("contracts", "models", "jars")


def environment(home: Home, settings: Settings, outer: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without its Airflow, with the lake's; the same from whichever folder it is started."""
    kept = {name: value for name, value in outer.items() if not name.startswith(_FOREIGN) and name != _SLOW}
    absolute = {f"SMELTER_{name.upper()}": str(getattr(settings, name)) for name in _PATHS}
    return {
        **kept,
        **{name: value for name, value in absolute.items() if kept.get(name)},
        "SMELTER_LAKE": str(settings.lake),
        HOME_VARIABLE: str(home.root),
        "PATH": os.pathsep.join(filter(None, [str(Path(sys.executable).parent), outer.get("PATH", "")])),
        # Airflow names its processes by writing over their environment, which `smelt down` knows them by.
        "SPT_NOENV": "1",
        **_no_proxy(outer),
    }


def _no_proxy(outer: Mapping[str, str]) -> dict[str, str]:
    """Tasks talk to the API server on this machine, whatever proxy the caller has."""
    spared = outer.get("no_proxy") or outer.get("NO_PROXY") or ""
    value = ",".join(filter(None, [spared, ADDRESS, "localhost"]))
    return {"no_proxy": value, "NO_PROXY": value}
