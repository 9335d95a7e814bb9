"""Data behind URLs: what commands say of them."""

from __future__ import annotations

import functools
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Sftui = Callable[..., Any]
ROW = {"messages": [{"role": "user", "content": "Hi"}, {"role": "asistant", "content": "Yo"}]}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *given: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[str]:
    """A URL that names a user, a password and a signature."""
    (tmp_path / "t.jsonl").write_text(json.dumps(ROW) + "\n")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://ann:pass-of-ann@127.0.0.1:{server.server_address[1]}/t.jsonl?sign=of-the-store"
        server.shutdown()


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github", "markdown"])
def test_no_report_says_a_password_or_a_signature(secret: str, form: str, sftui: Sftui) -> None:
    done = sftui("check", secret, "-t", "builtin:chatml", "--format", form)
    assert done.code == 1 and "ROL002" in done.out, done.err
    assert "jsonl" in done.out
    assert not any(word in done.out + done.err for word in ("pass-of-ann", "of-the-store"))


@pytest.mark.parametrize("words", [("show",), ("check",), ("encode", "-o", "-"), ("compare", "--with", "axolotl")])
def test_no_error_says_a_password_or_a_signature(secret: str, words: tuple[str, ...], sftui: Sftui) -> None:
    done = sftui(*words, secret.replace("t.jsonl", "gone.jsonl"), "-t", "builtin:chatml")
    assert done.code == 2 and "gone.jsonl" in done.err
    assert not any(word in done.out + done.err for word in ("pass-of-ann", "of-the-store"))


@pytest.mark.parametrize("named", ["config", "card"])
def test_what_a_config_or_a_card_requests_is_said_and_refused_offline(
    secret: str, named: str, sftui: Sftui, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = tmp_path / "set" / "README.md" if named == "card" else tmp_path / "axolotl.yml"
    where.parent.mkdir(exist_ok=True)
    plain = secret.replace("ann:pass-of-ann@", "").partition("?")[0]
    if named == "card":
        where.write_text(f"---\nlicense: mit\nconfigs:\n- config_name: default\n  data_files: {plain}\n---\n")
    else:
        where.write_text(f"base_model: none\ndatasets:\n- path: {plain}\n  type: chat_template\n")
    words = ("show", where.parent if named == "card" else where, "-t", "builtin:chatml")
    online = {name: value for name, value in os.environ.items() if not name.endswith("_OFFLINE")}
    command = [sys.executable, "-m", "sftui", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=online, timeout=120)
    assert f"sftui: sftui requests rows from {plain}, as {where} asks" in done.stderr, done.stderr
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused = sftui(*words)
    assert refused.code == 2 and f"{plain}: is not requested, because that URL comes from {where}" in refused.err
    assert sftui("show", plain, "-t", "builtin:chatml").code == 0  # who names it asks for it


def test_a_server_that_does_not_answer_is_waited_for_out_loud() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://ann:pass-of-ann@127.0.0.1:{silent.getsockname()[1]}/t.jsonl"
        process = subprocess.Popen(
            [sys.executable, "-m", "sftui", "show", url, "-t", "builtin:chatml"],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        try:
            assert process.stderr is not None
            told = process.stderr.readline()
            assert re.fullmatch(
                r"sftui: waiting for an answer from http://127\.0\.0\.1:\d+/t\.jsonl; Ctrl-C stops\n", told
            )
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(timeout=30) == 130
        finally:
            process.kill()
            process.communicate()
