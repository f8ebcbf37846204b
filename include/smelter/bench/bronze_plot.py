"""The comparison as a picture: who does how many rows per second, and for how much processor time."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from smelter.bench.bronze_result import TITLES, BronzeBench, Figure
from smelter.errors import Unreachable

_OURS, _OTHERS, _INK, _QUIET = "#c2571a", "#b8bec6", "#22262b", "#6b7280"
_INCHES = (10.5, 6.2)
_CHECKED = {"smelter": "checked", "duckdb": "unchecked, no table", "pyiceberg": "unchecked", "plain_spark": "checked"}


def require_matplotlib() -> None:
    """Better told before the run than after it."""
    if find_spec("matplotlib") is None:
        raise Unreachable(
            "matplotlib is not installed, and the picture needs it", data="nothing was measured", next_step="make setup"
        )


def plot_bronze(found: BronzeBench, target: Path) -> None:
    """Two panels with the same bars in the same order, without dead letters and with them."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    files = list(dict.fromkeys(figure.files for figure in found.figures))
    chosen = [name for name in files if name.startswith("ndjson")]
    canvas = Canvas(figsize=_INCHES, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.15, hspace=0.06))
    FigureCanvasAgg(canvas)
    panels = canvas.subplots(len(chosen), 2, squeeze=False)
    for row, name in zip(panels, chosen, strict=True):
        figures = [figure for figure in found.figures if figure.files == name]
        about = name.replace("ndjson, ", "").replace("dead", "of them bad")
        _bars(row[0], figures, "rows_per_second", f"Thousand rows per second, {about}")
        _bars(row[1], figures, "rows_per_cpu_second", f"Thousand rows per CPU-second, {about}")
        row[1].tick_params(labelleft=False)
    title = f"From files to tables: {found.events:,} events of {found.bytes_per_event} bytes"
    canvas.suptitle(title, x=0.015, ha="left", fontsize=14, color=_INK, fontweight="bold")
    canvas.supxlabel(_footer(found), x=0.015, ha="left", fontsize=8.5, color=_QUIET)
    canvas.savefig(target, dpi=150, metadata={"Software": None})


def _bars(panel: Any, figures: list[Figure], figure: str, title: str) -> None:
    values = [getattr(one, figure) / 1000 for one in figures]
    names = [f"{TITLES[one.contender]}\n{_CHECKED[one.contender]}" for one in figures]
    colours = [_OURS if one.contender == "smelter" else _OTHERS for one in figures]
    bars = panel.barh(range(len(values)), values, color=colours, height=0.62)
    panel.bar_label(bars, [f"{value:,.0f}" for value in values], padding=4, fontsize=10, color=_INK)
    panel.set_yticks(range(len(values)), names, fontsize=9.5, color=_INK)
    panel.invert_yaxis()
    panel.set_title(title, loc="left", fontsize=10.5, color=_INK)
    panel.set_xlim(0, 1.15 * max(values))
    panel.tick_params(axis="both", length=0)
    panel.set_xticks([])
    for side in ("top", "right", "bottom"):
        panel.spines[side].set_visible(False)
    panel.spines["left"].set_color(_QUIET)


def _footer(found: BronzeBench) -> str:
    about = found.machine
    versions = ", ".join(f"{name} {about[name]}" for name in ("pyspark", "pyiceberg", "duckdb") if name in about)
    return f"smelt bench bronze on {about['cores']} cores of {about['cpu']}; {versions}; all zstd, all warm, one run"
