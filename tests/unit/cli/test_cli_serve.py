"""`sftui serve`: who is answered, where it listens, and what it starts."""

from __future__ import annotations

import asyncio
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from sftui.cli.app import inspect
from sftui.cli.serve import IN_A_BROWSER, listen, words_of
from sftui.errors import SftuiError
from sftui.tui.ascii import ascii_only

Sftui = Callable[..., Any]
ROW = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}\n'


@pytest.mark.parametrize(
    "line",
    [
        "data.jsonl",
        "data.jsonl -t builtin:chatml --row 3 --theme light",
        "'a b.jsonl' -t TOK --set mask.rule=all --set 'data.role_map={a: user}' --field prompt=question --debug",
        "axolotl.yml --serve model.gguf --max-length 9 --split 'train[:5]'",
        "-t TOK -- --odd.jsonl",
    ],
)
def test_the_inspector_gets_the_same_words(line: str) -> None:
    def values(words: list[str]) -> dict[str, Any]:
        with inspect.make_context("sftui", words) as context:
            return dict(context.params)

    given = values(shlex.split(line))
    assert values(words_of(inspect, given)) == given


@pytest.mark.parametrize("served_from", [{"LC_ALL": "C", "TERM": "xterm"}, {"LANG": "C", "TERM": "dumb"}])
def test_a_page_is_drawn_with_glyphs_wherever_it_is_served_from(served_from: dict[str, str]) -> None:
    assert ascii_only(None, served_from) and not ascii_only(None, {**served_from, **IN_A_BROWSER})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_this_machine_alone_is_answered(host: str) -> None:
    with listen(host, 0, False) as made:
        assert made.getsockname()[0].startswith("127.") or made.getsockname()[0] == "::1"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "8.8.8.8"])
def test_an_address_that_others_reach_is_refused_unless_asked_for(host: str, sftui: Sftui, data: Path) -> None:
    done = sftui("serve", data, "-t", "builtin:chatml", "--host", host)
    assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
    assert f"other machines can reach {host}" in done.err and "--public" in done.err


def test_public_is_what_it_takes() -> None:
    with listen("0.0.0.0", 0, True) as made:
        assert made.getsockname()[0] == "0.0.0.0"


def test_a_port_that_is_taken_is_told(sftui: Sftui, data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = sftui("serve", data, "-t", "builtin:chatml", "--port", port)
    assert done.code == 2 and f"port {port} of 127.0.0.1 cannot be used" in done.err and "--port" in done.err
    with pytest.raises(SftuiError, match="there is no address"):
        listen("no such host", 0, False)


def test_what_no_page_could_show_is_told_before(sftui: Sftui, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data.parent)
    assert "did you mean `rows.jsonl`?" in sftui("serve", "rows.jsnl", "-t", "builtin:chatml").err
    assert "give a file" in sftui("serve", "-", "-t", "builtin:chatml").err
    assert "no data was given" in sftui("serve").err
    assert "did you mean `trl`?" in sftui("serve", data, "--trainer", "trlx").err


def test_without_textual_serve_it_says_what_to_install(
    sftui: Sftui, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sftui.cli.serve.find_spec", lambda name: None)
    done = sftui("serve", data)
    assert done.code == 2 and "pip install 'sftui[serve]'" in done.err


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over one row, ended by Ctrl-C."""
    pytest.importorskip("textual_serve")
    data = tmp_path_factory.mktemp("serve") / "rows.jsonl"
    data.write_text(ROW)
    command = [sys.executable, "-m", "sftui", "serve", str(data), "-t", "builtin:chatml", "--set", "mask.rule=all"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    told = process.stdout.readline().strip()
    yield told
    process.send_signal(2)
    assert process.wait(30) in (0, 130) and process.stdout.read() == ""


def runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_no_page_outlives_its_server(how: signal.Signals, tmp_path: Path) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    (tmp_path / "rows.jsonl").write_text(ROW)
    rows = str(tmp_path / "rows.jsonl")
    command = [sys.executable, "-m", "sftui", "serve", rows, "-t", "builtin:chatml", "--set", "mask.rule=all"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None and server.stderr is not None
        base = server.stdout.readline().strip().replace("http", "ws")
        async with aiohttp.ClientSession() as session:
            pages = [await session.ws_connect(f"{base}ws?width=100&height=24") for _ in range(2)]
            for page in pages:
                drawn = b""
                while b"100 %" not in drawn:  # a page that shows its row, and does not answer when it is closed
                    given = await page.receive(timeout=60)
                    drawn += given.data if isinstance(given.data, bytes) else given.data.encode()
            inspectors = psutil.Process(server.pid).children(recursive=True)
            assert len(inspectors) >= 4  # each with its worker
            server.send_signal(how)
            ended = asyncio.get_running_loop().time() + 8  # two seconds on a machine that does nothing else
            while server.poll() is None or any(map(runs, inspectors)):
                assert asyncio.get_running_loop().time() < ended, [*filter(runs, inspectors)]
                await asyncio.sleep(0.05)
        told = server.stderr.read()
    finally:
        server.kill()
        server.communicate()
    assert ("2 open pages closed" in told) == (how != signal.SIGKILL) and "Traceback" not in told


def answer(url: str, **headers: str) -> tuple[int, str, Any]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as given:
            return given.status, given.read().decode(), given.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


def test_only_the_whole_token_is_answered(address: str) -> None:
    found = re.fullmatch(r"(http://127\.0\.0\.1:\d+)/([\w-]{32})/", address)
    assert found is not None
    base, token = found.groups()
    assert answer(address)[0] == answer(f"{address}static/js/textual.js")[0] == 200
    for path in ("/", "/ws", "/static/js/textual.js", "/wrong/", f"/{token[:-1]}/", f"/{token}x/", f"//{token}/"):
        status, text, _ = answer(base + path)
        assert status == 403 and token not in text, path
    assert answer(f"{base}/?token={token}")[0] == 403
    assert answer(address, Origin="http://evil.example")[0] == 403, "not from another page either"
    assert answer(address, Origin=base)[0] == 200


def test_the_page_may_load_nothing_from_elsewhere(address: str) -> None:
    _, text, headers = answer(address)
    assert f'data-session-websocket-url="{address.replace("http", "ws")}ws"' in text
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "https:" not in policy and "*" not in policy
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"


async def test_a_page_is_an_inspector_that_takes_keys(address: str) -> None:
    import aiohttp

    drawn = b""

    async def until(words: bytes) -> None:
        nonlocal drawn
        while words not in drawn:
            given = await page.receive(timeout=60)
            assert given.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), drawn[-300:]
            drawn += given.data if isinstance(given.data, bytes) else given.data.encode()

    async with aiohttp.ClientSession() as session:
        base = address.replace("http", "ws")
        async with session.ws_connect(f"{base}ws?width=100&height=24") as page:
            await until(b"100 %")  # by the recipe of the command line
            drawn = b""
            await page.send_json(["stdin", "?"])
            await until(b"Esc closes")
            await page.send_json(["stdin", "\x1b"])
            await asyncio.sleep(0.2)
            await page.send_json(["stdin", "q"])
            while not page.closed:
                await page.receive(timeout=60)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{base.rsplit('/', 2)[0]}/wrong/ws")
        assert refused.value.status == 403
