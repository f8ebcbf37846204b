"""Airflow's REST API, as far as a start needs it: health, pools, DAGs, errors of parsing. Standard library only."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from smelter.embedded.configuration import url_of
from smelter.errors import Unreachable

HEALTHY = "healthy"
_HEALTH_SECONDS = 5.0
_TIMEOUT_SECONDS = 10.0
_ATTEMPTS = 5
_PAGE = 100
_SERVER_FAILED = 500
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the server is on this machine


@dataclass(frozen=True)
class Dag:
    """One DAG as Airflow knows it."""

    dag_id: str
    tags: frozenset[str]
    is_paused: bool
    parsed_at: float
    file: str


@dataclass(frozen=True)
class ImportProblem:
    """A file of DAGs that could not be read, and the last line of why."""

    file: str
    text: str
    at: float


@dataclass(frozen=True)
class Health:
    """Who is alive, and when each was last heard."""

    beats: dict[str, float]

    def is_alive(self, name: str, since: float) -> bool:
        """Has it been heard since then? A heartbeat of before may be that of its predecessor."""
        return self.beats.get(name, 0.0) >= since


def ask_health(port: int) -> Health | None:
    """What the API server says about the rest; nothing while it does not answer."""
    try:
        with _DIRECT.open(f"{url_of(port)}/api/v2/monitor/health", timeout=_HEALTH_SECONDS) as answer:
            said = json.load(answer)
    except (OSError, ValueError):
        return None
    alive = {name: part for name, part in said.items() if part.get("status") == HEALTHY}
    beats = {name: _moment(part.get(f"latest_{name}_heartbeat")) for name, part in alive.items()}
    return Health({name.replace("_", "-"): beat for name, beat in beats.items()})


class Airflow:
    """The API server, with somebody logged in."""

    def __init__(self, port: int, user: str, password: str) -> None:
        self._port, self._token = port, ""
        token = self._ask("POST", "/auth/token", {"username": user, "password": password})
        self._token = str(token["access_token"])

    def pools(self) -> set[str]:
        """The names of the pools."""
        return {str(pool["name"]) for pool in self._pages("/api/v2/pools", "pools")}

    def make_pool(self, name: str, slots: int, about: str, *, with_deferred: bool) -> None:
        """Make a pool that is not there."""
        body = {"name": name, "slots": slots, "description": about, "include_deferred": with_deferred}
        self._ask("POST", "/api/v2/pools", body)

    def dags(self, *tags: str) -> list[Dag]:
        """The DAGs with any of the tags; without tags, all of them."""
        query = [("tags", tag) for tag in tags] + [("tags_match_mode", "any")] * bool(tags)
        found = self._pages("/api/v2/dags", "dags", query)
        return [
            Dag(
                str(dag["dag_id"]),
                frozenset(str(tag["name"]) for tag in dag["tags"]),
                bool(dag["is_paused"]),
                _moment(dag["last_parsed_time"]),
                str(dag["relative_fileloc"]),
            )
            for dag in found
        ]

    def unpause(self, dag_id: str) -> None:
        """Let a DAG run."""
        path = f"/api/v2/dags/{urllib.parse.quote(dag_id, safe='')}?update_mask=is_paused"
        self._ask("PATCH", path, {"is_paused": False})

    def import_problems(self) -> list[ImportProblem]:
        """Every file of DAGs that could not be read."""
        found = self._pages("/api/v2/importErrors", "import_errors")
        return [
            ImportProblem(
                str(one["filename"]),
                (str(one["stack_trace"]).strip().splitlines() or ["?"])[-1],
                _moment(one["timestamp"]),
            )
            for one in found
        ]

    def _pages(self, path: str, key: str, query: list[tuple[str, str]] | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while True:
            words = [*(query or []), ("limit", str(_PAGE)), ("offset", str(len(found)))]
            answer = self._ask("GET", f"{path}?{urllib.parse.urlencode(words)}")
            found += answer[key]
            if not answer[key] or len(found) >= int(answer["total_entries"]):
                return found

    def _ask(self, method: str, path: str, body: dict[str, object] | None = None) -> Any:
        """Ask until there is an answer: SQLite may be busy for a moment while everything starts."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._ask_once(method, path, body)
            except urllib.error.HTTPError as problem:
                problem.close()
                if problem.code < _SERVER_FAILED or attempt == _ATTEMPTS:
                    raise _unreachable(method, path, f"HTTP {problem.code}") from None
            except (OSError, ValueError) as problem:
                if attempt == _ATTEMPTS:
                    raise _unreachable(method, path, str(problem)) from None
            time.sleep(attempt)
        raise AssertionError

    def _ask_once(self, method: str, path: str, body: dict[str, object] | None) -> Any:
        request = urllib.request.Request(f"{url_of(self._port)}{path}", method=method)  # noqa: S310
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        data = None if body is None else json.dumps(body).encode()
        with _DIRECT.open(request, data, timeout=_TIMEOUT_SECONDS) as answer:
            return json.load(answer)


def _unreachable(method: str, path: str, answer: str) -> Unreachable:
    return Unreachable(
        f"Airflow did not do what it was asked: {method} {path.partition('?')[0]} was answered with {answer}",
        data="what is running goes on running",
        next_step="smelt up tries again; smelt down stops it",
    )


def _moment(text: object) -> float:
    return datetime.fromisoformat(str(text)).timestamp() if text else 0.0
