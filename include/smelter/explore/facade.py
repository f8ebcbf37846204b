"""The catalog as DuckDB asks for it: Iceberg's REST protocol, to read only, for this process and nobody else."""

from __future__ import annotations

import hmac
import json
import secrets
import sys
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from smelter.errors import SmelterError
from smelter.explore.catalog import UNREADABLE, TableName, Tables
from smelter.explore.current import as_current
from smelter.explore.facts import FACTS, facts_of

_LOOPBACK = "127.0.0.1"
_LEVEL = "\x1f"  # between the levels of a namespace, in addresses
_ENDPOINTS = [
    f"GET /v1/{{prefix}}/namespaces{rest}"
    for rest in ("", "/{namespace}", "/{namespace}/tables", "/{namespace}/tables/{table}")
]
PLATFORM = ("bronze", "silver", "gold", "dead_letters", "ops")  # namespaces that are there before their first table
_POLL_SECONDS = 0.05  # how long `close` may wait


class Facade:
    """A server on this machine's loopback, with a port and a token of its own; it ends with `close`."""

    def __init__(self, catalog: Tables) -> None:
        self.token = secrets.token_urlsafe(32)
        self._server = _Server((_LOOPBACK, 0), _Handler)
        self._server.catalog = catalog
        self._server.authorization = f"Bearer {self.token}".encode()
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_SECONDS,), name="smelter-catalog", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """Where DuckDB finds it."""
        return f"http://{_LOOPBACK}:{self._server.server_port}"

    def close(self) -> None:
        """Stop answering and give the port back."""
        self._server.is_closed = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a full queue of the default 5 costs the next caller a second
    catalog: Tables
    authorization: bytes
    is_closed = False

    def server_bind(self) -> None:
        """Without the look-up of this machine's name, which may take seconds where names are served badly."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = _LOOPBACK, self.socket.getsockname()[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that went away is no news."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "Smelter", ""
    protocol_version = "HTTP/1.1"
    timeout = 30
    wbufsize = -1  # one packet per answer
    disable_nagle_algorithm = True  # else each answer takes 40 ms

    def do_GET(self) -> None:
        if self.server.is_closed:  # this line was open before
            self.close_connection = True
            return None
        given = self.headers.get("Authorization", "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, self.server.authorization):
            return self._fail(HTTPStatus.UNAUTHORIZED, "NotAuthorizedException", "this catalog is not for you")
        try:
            return self._answer()
        except SmelterError as problem:
            return self._fail(HTTPStatus.SERVICE_UNAVAILABLE, "ServiceUnavailableException", problem.what)
        except UNREADABLE as problem:
            # not a 500, which DuckDB would ask again and again
            return self._fail(HTTPStatus.NOT_FOUND, "NotFoundException", str(problem))

    do_HEAD = do_GET  # noqa: N815 (the name that http.server calls)

    def do_POST(self) -> None:
        self._fail(HTTPStatus.METHOD_NOT_ALLOWED, "UnsupportedOperationException", "this catalog is to read only")

    do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Nothing: the questions of one's own process are no news."""

    def _answer(self) -> None:
        address = urlsplit(self.path)
        match [unquote(part) for part in address.path.strip("/").split("/")]:
            case ["v1", "config"]:
                self._send(HTTPStatus.OK, {"defaults": {}, "overrides": {}, "endpoints": _ENDPOINTS})
            case ["v1", "namespaces"]:
                parent = parse_qs(address.query).get("parent", [""])[0].split(_LEVEL)
                self._send(HTTPStatus.OK, {"namespaces": self._namespaces_under([part for part in parent if part])})
            case ["v1", "namespaces", levels, *rest]:
                self._answer_inside(levels.replace(_LEVEL, "."), rest)
            case _:
                self._fail(HTTPStatus.NOT_FOUND, "NoSuchEndpointException", "there is no such address")

    def _answer_inside(self, namespace: str, rest: list[str]) -> None:
        if namespace == FACTS:
            return self._answer_facts(rest)
        if len(rest) == 2 and rest[0] == "tables":  # each question asks this, and one look at the catalog is enough
            return self._answer_table(TableName(namespace, rest[1]))
        if not self._is_known(namespace):
            return self._fail_namespace(namespace)
        levels = namespace.split(".")
        match rest:
            case []:
                return self._send(HTTPStatus.OK, {"namespace": levels, "properties": {}})
            case ["tables"]:
                names = [table.name for table in self.server.catalog.tables() if table.namespace == namespace]
                identifiers = [{"namespace": levels, "name": name} for name in names]
                return self._send(HTTPStatus.OK, {"identifiers": identifiers})
        return self._fail(HTTPStatus.NOT_FOUND, "NoSuchEndpointException", "there is no such address")

    def _answer_table(self, table: TableName) -> None:
        metadata = self.server.catalog.metadata(table)
        if metadata is not None:
            location = json.dumps(metadata.location).encode()
            content = as_current(metadata.content, time.time_ns() // 1_000_000)
            body = b'{"metadata-location":%b,"metadata":%b,"config":{}}' % (location, content)
            return self._send(HTTPStatus.OK, body)
        if not self._is_known(table.namespace):
            return self._fail_namespace(table.namespace)
        return self._fail(HTTPStatus.NOT_FOUND, "NoSuchTableException", f"there is no table {table}")

    def _is_known(self, namespace: str) -> bool:
        return namespace in PLATFORM or namespace in self.server.catalog.namespaces()

    def _fail_namespace(self, name: str) -> None:
        self._fail(HTTPStatus.NOT_FOUND, "NoSuchNamespaceException", f"there is no namespace {name}")

    def _answer_facts(self, rest: list[str]) -> None:
        """What a table's metadata tells of it, as if it were a property of a table without rows.

        DuckDB has a function for the whole metadata, but it asks for it while the question runs, from several threads
        at once by one connection, and that ends the process (1.5.5). Properties are asked for before.
        """
        match rest:
            case []:
                return self._send(HTTPStatus.OK, {"namespace": [FACTS], "properties": {}})
            case ["tables"]:
                return self._send(HTTPStatus.OK, {"identifiers": []})
            case ["tables", name]:
                table = {str(table): table for table in self.server.catalog.tables()}.get(name)
                metadata = self.server.catalog.metadata(table) if table else None
                if metadata is not None:
                    answer = {"metadata-location": metadata.location, "metadata": facts_of(metadata.content)}
                    return self._send(HTTPStatus.OK, {**answer, "config": {}})
        return self._fail(HTTPStatus.NOT_FOUND, "NoSuchTableException", "there are no such facts")

    def _namespaces_under(self, parent: list[str]) -> list[list[str]]:
        every = (name.split(".") for name in self.server.catalog.namespaces())
        return [levels for levels in every if levels[:-1] == parent]

    def _fail(self, status: HTTPStatus, kind: str, message: str) -> None:
        self._send(status, {"error": {"message": message, "type": kind, "code": status.value}})

    def _send(self, status: HTTPStatus, body: bytes | dict[str, Any]) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")  # so that nobody is still served after `close`
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
