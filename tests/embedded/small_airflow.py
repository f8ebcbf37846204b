"""An API server that answers as Airflow 3.3.2 does to the few questions that a start asks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class SmallAirflow:
    """What it knows; a test changes it while it is asked."""

    password: str = "right"
    dags: dict[str, dict[str, Any]] = field(default_factory=dict)
    pools: dict[str, dict[str, Any]] = field(default_factory=lambda: {"default_pool": {"name": "default_pool"}})
    problems: list[dict[str, str]] = field(default_factory=list)
    busy: int = 0
    changes: list[str] = field(default_factory=list)
    port: int = 0

    def add_dag(self, dag_id: str, *tags: str, file: str = "all.py", paused: bool = True, at: float = 0.0) -> None:
        self.dags[dag_id] = {
            "dag_id": dag_id,
            "tags": [{"name": tag} for tag in tags],
            "is_paused": paused,
            "last_parsed_time": moment(at or time.time()),
            "relative_fileloc": file,
        }

    def add_problem(self, file: str, text: str) -> None:
        trace = f"Traceback (most recent call last):\n  File …\n{text}\n"
        self.problems.append({"filename": file, "stack_trace": trace, "timestamp": moment(time.time())})

    def answer(self, method: str, path: str, body: dict[str, Any], token: str) -> tuple[int, Any]:
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        if parts.path == "/auth/token":
            return (201, {"access_token": "token"}) if body["password"] == self.password else (401, {})
        if token != "Bearer token":
            return 401, {}
        if self.busy:
            self.busy -= 1
            return 500, {}
        if method != "GET":
            self.changes.append(f"{method} {parts.path}")
        if parts.path == "/api/v2/pools":
            return self._pools(method, body, query)
        if parts.path == "/api/v2/importErrors":
            return 200, page(self.problems, "import_errors", query)
        if parts.path == "/api/v2/dags":
            wanted = set(query.get("tags", []))
            found = [dag for dag in self.dags.values() if not wanted or wanted & {tag["name"] for tag in dag["tags"]}]
            return 200, page(found, "dags", query)
        self.dags[parts.path.rpartition("/")[2]]["is_paused"] = body["is_paused"]
        return 200, {}

    def _pools(self, method: str, body: dict[str, Any], query: dict[str, list[str]]) -> tuple[int, Any]:
        if method == "POST":
            self.pools[body["name"]] = body
            return 201, body
        return 200, page([*self.pools.values()], "pools", query)

    @property
    def open_dags(self) -> set[str]:
        return {name for name, dag in self.dags.items() if not dag["is_paused"]}


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def page(found: list[Any], key: str, query: dict[str, list[str]]) -> dict[str, Any]:
    """Small pages, so that there is more than one."""
    first = int(query["offset"][0])
    return {key: found[first : first + 2], "total_entries": len(found)}


@contextmanager
def serving(airflow: SmallAirflow) -> Iterator[SmallAirflow]:
    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else {}
            code, said = airflow.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
            content = json.dumps(said).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _do  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        airflow.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield airflow
        server.shutdown()
        thread.join()
