"""The worker process, started before anything else is imported: it loads what it needs while the command line is read.

`workspace.link` talks to it. This module imports nothing but the standard library.
"""

from __future__ import annotations

import os
import sys
from typing import IO, cast

# Not with -m, which puts the current folder first on sys.path: that may be the folder of somebody's dataset, with a
# json.py in it. With -c it is the empty string, and gone before anything is imported.
_START = "import sys; sys.path[:] = filter(None, sys.path); from sftui.workspace.worker import main; main()"
COMMAND = (sys.executable, "-X", "utf8", "-c", _START)
PAGE = "SFTUI_BOUND_PAGE"
"""The variable that names the open file on which the worker says what it is at (see `sftui.bound`)."""


class IdleWorker:
    """A worker process that nobody has talked to yet; `page` is the open file it shares, `log` holds its stderr."""

    def __init__(self, command: tuple[str, ...]) -> None:
        import subprocess  # with tempfile a tenth of what `sftui --help` would import
        import tempfile

        self._command = command
        self._environment = dict(os.environ)
        self._taken = False
        self.page = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115 - until it is mapped
        self.log = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115 - lives as long as the worker
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            start_new_session=True,
            pass_fds=(self.page.fileno(),),
            env={**os.environ, PAGE: str(self.page.fileno())},
        )

    def take(self, command: tuple[str, ...]) -> IdleWorker | None:
        """This worker for whoever asks first, as long as it is what would be started now; else None, and it is ended.

        What the command line enables for other processes is in the environment, which must be as it was.
        """
        same = self._command == command and self._environment == os.environ
        if self._taken or not same or self.process.poll() is not None:
            self.end()
            return None
        self._taken = True
        return self

    def end(self) -> None:
        """Kill it, where nobody took it."""
        if not self._taken:
            self._taken = True
            self.process.kill()
            self.process.wait()


def begin(words: list[str]) -> IdleWorker | None:
    """The worker of the inspector, where a command line seems to open it; whoever does not take it has to end it."""
    if not (words and (words[0] == "demo" or os.path.exists(words[0])) and sys.stdout.isatty()):
        return None
    try:
        return IdleWorker(COMMAND)
    except OSError:
        return None  # who needs it will say why it cannot be started
