"""A dataset that comes slowly from a Hub: commands and the inspector say how much of it came, and show no bar of the
client."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pty_session import SAMPLE, Terminal

pytestmark = pytest.mark.terminal

COMMIT = "a" * 40
ROW = (SAMPLE % (1, 1)).encode() + b"\n"
DATA = ROW * (11_000_000 // len(ROW))
"""More than the 10 MiB that the Hub's client writes at once."""


@pytest.fixture
def slow_hub() -> Iterator[tuple[str, threading.Event]]:
    """A Hub with the dataset org/set, and what lets the end of its file go."""
    go = threading.Event()

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def answer(self) -> None:
            path = self.path.partition("?")[0].removeprefix("/api").removeprefix("/datasets/org/set")
            named = {"X-Repo-Commit": COMMIT, "Content-Type": "application/json"}
            listed = {"type": "file", "path": "train.jsonl", "size": len(DATA), "oid": hashlib.sha1(DATA).hexdigest()}
            if path.startswith("/resolve/") and path.endswith("/train.jsonl"):
                self.send(200, DATA, {**named, "ETag": f'"{listed["oid"]}"'})
            elif path == f"/tree/{COMMIT}":
                self.send(200, json.dumps([listed]).encode(), named)
            elif not path or path.startswith("/revision/"):
                siblings = [{"rfilename": "train.jsonl"}]
                info = {"id": "org/set", "sha": COMMIT, "private": False, "tags": [], "siblings": siblings}
                self.send(200, json.dumps(info).encode(), named)
            else:
                self.send(404, b"", {**named, "X-Error-Code": "EntryNotFound"})

        def send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[:-1000])
                if body is DATA:
                    go.wait(60)
                self.wfile.write(body[-1000:])

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", go
    go.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("words", "shown"),
    [(("show", "org/set", "--row", "0"), "row 0 · hf-trainer"), (("org/set",), "tokenizer verified")],
)
def test_a_terminal_says_how_much_of_a_dataset_came(
    tmp_path: Path, slow_hub: tuple[str, threading.Event], words: tuple[str, ...], shown: str
) -> None:
    endpoint, go = slow_hub
    environment = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"}
    arguments = ["-m", "sftui", *words, "-t", "builtin:chatml"]
    terminal = Terminal(arguments, lines=90, cwd=tmp_path, environment=environment)
    try:
        terminal.until("loading dataset org/set …", 60)
        terminal.until(lambda text: "10.5 MB" in text and "downloaded" in text, 60)
        go.set()
        terminal.until(shown, 60)
        raw = terminal.raw.decode("utf-8", "replace")
        assert "%|" not in raw and "␍" not in raw and "loading" not in terminal.text
    finally:
        terminal.close()
