"""A program in a terminal, as a person sits before it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

_CONTROL = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]")
_ASKS_COLOR = b"\x1b]11;?"
_LONGEST_SECONDS = 60


class Terminal:
    """A terminal of 40 lines and 160 columns with one program in it."""

    def __init__(self, words: list[str], environ: dict[str, str]) -> None:
        self._pid, self._line = pty.fork()
        if self._pid == 0:
            os.execvpe(words[0], words, {**environ, "TERM": "xterm"})
        fcntl.ioctl(self._line, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        self._shown = b""

    def until(self, words: str) -> str:
        """What was shown until these words came, with them; fails after a minute with what came instead."""
        end = time.monotonic() + _LONGEST_SECONDS
        while words not in self._text():
            if time.monotonic() > end or not self._read(0.2):
                raise AssertionError(f"{words!r} did not come: {self._text()}")
        before, found, after = self._text().partition(words)
        self._shown = after.encode()
        return before + found

    def ask(self, line: str, *, ends: bool = False) -> str:
        """Type a line; what is shown until the next prompt, or until the program ends."""
        self.send(f"{line}\n")
        if ends:
            while self._read(0.2):
                pass
            os.waitpid(self._pid, 0)
            return self._text()
        self.until("\n")  # the line itself
        return self.until("lake D")

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self._line, keys.encode())

    def end(self, number: signal.Signals) -> None:
        """Send the program a signal, and look on until it has ended."""
        os.kill(self._pid, number)
        while self._read(0.2):
            pass
        os.waitpid(self._pid, 0)

    def wait(self, seconds: float) -> None:
        """Look on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(0.05)

    def _read(self, seconds: float) -> bool:
        """Take what is shown; false when the program has ended."""
        if not select.select([self._line], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self._line, 65536)
        except OSError:
            return False
        if _ASKS_COLOR in part:  # a shell that is not told waits for five seconds
            os.write(self._line, b"\x1b]11;rgb:0000/0000/0000\x1b\\")
        self._shown += part
        return bool(part)

    def _text(self) -> str:
        return _CONTROL.sub(b"", self._shown).decode("utf-8", "replace").replace("\r", "")
