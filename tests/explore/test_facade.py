"""The catalog's server answers this process only, to read only, and ends with its session."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from small_lakes import SmallLake

from smelter.explore.catalog import Catalog
from smelter.explore.databases import SqliteFile
from smelter.explore.facade import Facade


@pytest.fixture
def facade(lake: SmallLake) -> Iterator[Facade]:
    opened = Facade(Catalog(SqliteFile(lake.catalog_file)))
    yield opened
    opened.close()


def ask_on_a_line(facade: Facade, request: str) -> bytes:
    """Everything that the server says until it closes the line."""
    place = urlsplit(facade.address)
    with socket.create_connection((place.hostname, place.port), timeout=10) as line:
        line.sendall(f"{request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {facade.token}\r\n\r\n".encode())
        return b"".join(iter(lambda: line.recv(4096), b""))


def ask(facade: Facade, path: str, *, method: str = "GET", token: str | None = None) -> tuple[int, bytes]:
    place = urlsplit(facade.address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
    headers = {} if token == "" else {"Authorization": f"Bearer {token or facade.token}"}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize("token", ["", "wrong", "é"])
@pytest.mark.parametrize("path", ["/v1/config", "/v1/namespaces", "/nowhere"])
def test_without_the_token_nothing_is_said(facade: Facade, path: str, token: str) -> None:
    code, said = ask(facade, path, token=token)
    assert code == 401
    assert json.loads(said) == {
        "error": {"message": "this catalog is not for you", "type": "NotAuthorizedException", "code": 401}
    }


def test_each_server_has_a_token_and_a_port_of_its_own(lake: SmallLake, facade: Facade) -> None:
    other = Facade(Catalog(SqliteFile(lake.catalog_file)))
    assert (other.token, other.address) != (facade.token, facade.address)
    assert ask(facade, "/v1/config", token=other.token)[0] == 401
    other.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_it_is_to_read_only(lake: SmallLake, facade: Facade, method: str) -> None:
    lake.make("bronze", "events")
    assert ask(facade, "/v1/namespaces/bronze/tables/events", method=method)[0] == 405
    assert ask(facade, "/v1/namespaces/bronze/tables/events")[0] == 200


def test_it_listens_on_the_loopback_only(facade: Facade) -> None:
    port = urlsplit(facade.address).port
    listening = [line.split()[1:4:2] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    places = [place for place, state in listening if place.endswith(f":{port:04X}") and state == "0A"]
    assert places == [f"0100007F:{port:04X}"]  # 127.0.0.1, and nowhere else


def test_after_close_nobody_answers_and_no_line_is_kept_until_then(facade: Facade, lake: SmallLake) -> None:
    other = Facade(Catalog(SqliteFile(lake.catalog_file)))
    assert ask_on_a_line(other, "GET /v1/config").startswith(b"HTTP/1.1 200")
    other.close()
    with pytest.raises(ConnectionRefusedError):
        ask(other, "/v1/config")


def test_a_question_that_was_half_said_before_close_gets_no_answer_after_it(lake: SmallLake) -> None:
    other = Facade(Catalog(SqliteFile(lake.catalog_file)))
    address = urlsplit(other.address)
    with socket.create_connection((address.hostname, address.port), timeout=10) as line:
        line.sendall(f"GET /v1/config HTTP/1.1\r\nAuthorization: Bearer {other.token}\r\n".encode())
        time.sleep(0.3)  # until it is being read
        other.close()
        line.sendall(b"\r\n")
        assert line.recv(100) == b""


def test_it_tells_namespaces_tables_and_metadata(lake: SmallLake, facade: Facade) -> None:
    events = lake.with_events([1])
    lake.catalog.create_namespace("empty")
    lake.make("bronze", "a/b")
    assert json.loads(ask(facade, "/v1/namespaces")[1]) == {"namespaces": [["bronze"], ["empty"]]}
    assert json.loads(ask(facade, "/v1/namespaces?parent=bronze")[1]) == {"namespaces": []}
    assert json.loads(ask(facade, "/v1/namespaces/empty/tables")[1]) == {"identifiers": []}
    named = json.loads(ask(facade, "/v1/namespaces/bronze/tables")[1])["identifiers"]
    assert [one["name"] for one in named] == ["a/b", "events"]
    table = json.loads(ask(facade, "/v1/namespaces/bronze/tables/events")[1])
    assert table["metadata-location"] == events.refresh().metadata_location
    assert table["metadata"]["table-uuid"] == str(events.metadata.table_uuid)
    assert ask(facade, f"/v1/namespaces/bronze/tables/{quote('a/b', safe='')}")[0] == 200


def test_head_has_no_body(lake: SmallLake, facade: Facade) -> None:
    lake.make("bronze", "events")
    said = ask_on_a_line(facade, "HEAD /v1/namespaces/bronze/tables/events")
    assert said.startswith(b"HTTP/1.1 200")
    assert said.endswith(b"\r\n\r\n")
    assert ask(facade, "/v1/namespaces/bronze/tables/other", method="HEAD") == (404, b"")


@pytest.mark.parametrize(
    "path", ["/", "/v2/config", "/v1/namespaces/no", "/v1/namespaces/bronze/tables/no", "/v1/namespaces/bronze/x/y"]
)
def test_what_is_not_there_is_not_found(lake: SmallLake, facade: Facade, path: str) -> None:
    lake.make("bronze", "events")
    assert ask(facade, path)[0] == 404


@pytest.mark.parametrize(
    ("namespace", "problem"), [("bronze", "NoSuchTableException"), ("no", "NoSuchNamespaceException")]
)
def test_a_missing_table_and_a_missing_namespace_are_told_apart(
    lake: SmallLake, facade: Facade, namespace: str, problem: str
) -> None:
    lake.make("bronze", "events")
    status, body = ask(facade, f"/v1/namespaces/{namespace}/tables/other")
    assert (status, json.loads(body)["error"]["type"]) == (404, problem)


def test_a_catalog_that_cannot_be_read_is_unavailable(lake: SmallLake, facade: Facade) -> None:
    lake.path.mkdir()
    lake.catalog_file.write_bytes(b"not a database at all, but a text" * 100)
    code, said = ask(facade, "/v1/namespaces")
    assert code == 503
    assert b"the lake's catalog cannot be read" in said
