"""A keeper like the real one, whose components are small programs. Usage: small_keeper.py HOME PORT DAGS"""

from __future__ import annotations

import sys
from pathlib import Path

from smelter.embedded import children, keeper, stopping
from smelter.embedded.components import API_SERVER, DAG_PROCESSOR, SAMPLE, SCHEDULER, TRIGGERER, Component, Plan
from smelter.embedded.home import Home

COMPONENT = Path(__file__).with_name("small_component.py")


def words_of(home: Home, name: str, port: int) -> tuple[str, ...]:
    return sys.executable, str(COMPONENT), name, str(home.root), str(port)


def small_plan(home: Home, port: int, dags: Path) -> Plan:
    def component(name: str, *, after_port: bool = False) -> Component:
        return Component(name, words_of(home, name, port), after_port)

    return Plan(
        port=port,
        dags=dags,
        migrate=words_of(home, "migrate", port),
        version="1",
        components=(
            component(API_SERVER),
            component(DAG_PROCESSOR),
            component(SCHEDULER, after_port=True),
            component(TRIGGERER, after_port=True),
        ),
        sample=lambda: component(SAMPLE),
    )


def hurry() -> None:
    """A small program does not need the patience that Airflow needs."""
    stopping.PATIENCE_SECONDS, stopping._ASK_AGAIN_SECONDS, stopping.DRIVER_PATIENCE_SECONDS = 1.0, 0.3, 6.0
    children._LONGEST_PAUSE_SECONDS = 0.2


if __name__ == "__main__":
    hurry()
    home, port, dags = Home(Path(sys.argv[1])), int(sys.argv[2]), Path(sys.argv[3])
    sys.exit(keeper.keep(home, lambda: small_plan(home, port, dags)))
