"""A line to PostgreSQL that breaks at a commit: before the database heard of it, or before we hear back."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from enum import StrEnum

from postgres_server import HOST

SWAP = b"UPDATE iceberg_tables"
COMMIT = b"COMMIT\0"


class Cut(StrEnum):
    """When the line breaks."""

    BEFORE = "before the database heard of the commit"
    AFTER = "after the commit, before its answer came"


class CuttingProxy:
    """Passes everything on, but breaks at the nth commit of a table, once."""

    def __init__(self, port: int, when: Cut, nth: int) -> None:
        self._target = port
        self._when = when
        self._left = nth
        self.has_cut = False
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        """The protocol is one question, one answer: whoever has something to say is passed on."""
        swapped = False
        with client, socket.create_connection((HOST, self._target)) as database, suppress(OSError):
            while True:
                for speaker in select.select([client, database], [], [])[0]:
                    said = speaker.recv(65536)
                    if not said:
                        return None
                    if speaker is database:
                        client.sendall(said)
                        continue
                    swapped = swapped or SWAP in said
                    if swapped and COMMIT in said and self._is_due():
                        return self._cut(said, database)
                    swapped = swapped and COMMIT not in said
                    database.sendall(said)

    def _is_due(self) -> bool:
        self._left -= 1
        return self._left == 0

    def _cut(self, said: bytes, database: socket.socket) -> None:
        self.has_cut = True
        if self._when is Cut.AFTER:
            database.sendall(said)
            assert b"COMMIT" in database.recv(65536)  # done, and nobody else will hear of it
