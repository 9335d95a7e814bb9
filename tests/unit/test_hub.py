"""The Hub's answers, from servers that stand in for it: each trouble has its own message, and comes soon."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sftui import hub
from sftui.errors import SourceError, TokenizerError
from sftui.sources import SourceSpec, open_source
from sftui.tokens import load_tokenizer
from sftui.waiting import downloaded

Serve = Callable[[int, str], None]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))


def point_at(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{port}")


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """`serve(404, "RepoNotFound")`: a Hub that answers everything so."""
    running: list[http.server.ThreadingHTTPServer] = []

    def start(status: int, code: str = "") -> None:
        class Answer(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.send_response(status)
                if code:
                    self.send_header("X-Error-Code", code)
                if status in (302, 307):
                    self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        point_at(monkeypatch, server.server_address[1])

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "code", "kind", "said"),
    [
        (401, "GatedRepo", "gated", "it is gated"),
        (403, "GatedRepo", "gated", "has no access to it yet"),
        (401, "RepoNotFound", "missing", "no such repository, or it is private"),
        (404, "RepoNotFound", "missing", "no such repository"),
        (404, "", "missing", "no such repository"),
        (404, "RevisionNotFound", "revision", "has no revision 'v9'"),
        (401, "", "forbidden", "refused access (401)"),
        (403, "", "forbidden", "refused access (403)"),
        (429, "", "limited", "received too many requests (429)"),
        (500, "", "error", "answered with an error (500)"),
        (503, "", "error", "answered with an error (503)"),
    ],
)
def test_every_answer_has_its_own_message(serve: Serve, status: int, code: str, kind: str, said: str) -> None:
    serve(status, code)
    found = hub.trouble("some/model", "v9")
    assert found is not None and found.kind == kind and said in found.why and found.fix
    with pytest.raises(TokenizerError) as refused:
        load_tokenizer("some/model", revision="v9")
    assert said in str(refused.value) and "some/model" in str(refused.value)


@pytest.mark.parametrize(("status", "code"), [(200, ""), (302, ""), (307, ""), (404, "EntryNotFound")])
def test_a_repository_that_is_there_is_no_trouble(serve: Serve, status: int, code: str) -> None:
    serve(status, code)
    assert hub.trouble("some/model") is None and hub.trouble("some/set", kind="datasets") is None


def assert_choices(why: str, said: str) -> None:
    assert said in why
    for choice in ("try again", "local folder", "builtin:chatml", "HF_ENDPOINT", "HTTPS_PROXY", "HF_HUB_OFFLINE=1"):
        assert choice in why, choice


def test_a_closed_port_and_a_hub_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        port = hole.getsockname()[1]
        point_at(monkeypatch, port)
        with pytest.raises(TokenizerError) as refused:
            load_tokenizer("google/gemma-2b")
        assert_choices(str(refused.value), f"127.0.0.1:{port} refuses the connection")
        hole.listen(8)  # connects, and hears nothing
        with pytest.raises(TokenizerError) as refused:
            load_tokenizer("google/gemma-2b")
        assert_choices(str(refused.value), f"127.0.0.1:{port} did not answer within 3 s")
        assert "HF_ETAG_TIMEOUT" in str(refused.value).replace("HF_HUB_ETAG", "HF_ETAG")


def test_a_name_server_that_knows_nothing_or_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "https://hub.invalid")

    def unknown(*arguments: object, **named: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    found = hub.trouble("some/model")
    assert found is not None and found.kind == "dns" and "hub.invalid cannot be resolved" in found.why
    waiting = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **named: waiting.wait())
    monkeypatch.setattr(hub, "PATIENCE", 0.2)
    found = hub.trouble("some/model")
    waiting.set()
    assert found is not None and found.kind == "timeout"


def test_offline_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    found = hub.trouble("some/set", kind="datasets")
    assert found is not None and "HF_HUB_OFFLINE is set" in found.why and "--repo-type dataset" in found.fix


def test_datasets_of_the_hub_are_told_the_same_way(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for status, code, said in (
        (404, "RepoNotFound", "cannot be found"),
        (404, "RevisionNotFound", "has no revision v9"),
        (403, "GatedRepo", "is a gated dataset"),
        (500, "", "answered with an error (500)"),
    ):
        serve(status, code)
        with pytest.raises(SourceError) as refused:
            open_source(SourceSpec(("some/set",), revision="v9"))
        assert said in str(refused.value) and "some/set" in str(refused.value)
    point_at(monkeypatch, 9)
    with pytest.raises(SourceError) as refused:
        open_source(SourceSpec(("some/set",)))
    assert "127.0.0.1:9 refuses the connection" in str(refused.value) and "a local file or folder" in str(refused.value)


def test_bytes_that_came_are_counted(tmp_path: Path) -> None:
    blobs = tmp_path / "hub" / "models--some--model" / "blobs"
    assert downloaded("some/model") == 0
    blobs.mkdir(parents=True)
    (blobs / "a").write_bytes(b"12345")
    (blobs / "b.incomplete").write_bytes(b"123")
    assert downloaded("some/model") == 8
