"""The inspector in a real browser: what is drawn, the keys, and that nothing is asked of elsewhere."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import chromium
import pytest

pytestmark = pytest.mark.terminal
ROW = '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}\n'


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("textual_serve")
    (tmp_path / "rows.jsonl").write_text(ROW * 3)
    command = [sys.executable, "-m", "sftui", "serve", str(tmp_path / "rows.jsonl"), "-t", "builtin:chatml"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    process.send_signal(2)
    process.wait(30)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[chromium.Chromium]:
    program = chromium.find()
    if program is None:
        pytest.skip("no Chromium is installed (apt-get install chromium, or set SFTUI_CHROMIUM)")
    made = chromium.Chromium(program, tmp_path / "profile")
    yield made
    made.close()


def press(browser: chromium.Chromium, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        text = {"text": key} if kind == "keyDown" else {}
        browser.ask("Input.dispatchKeyEvent", type=kind, key=key, **text)


def until(browser: chromium.Chromium, seen: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not seen():
        assert time.monotonic() < ends, browser.complaints
        time.sleep(0.2)


def test_the_inspector_is_drawn_and_takes_keys(browser: chromium.Chromium, address: str, tmp_path: Path) -> None:
    def picture() -> bytes:
        browser.picture(tmp_path / "screen.png")
        return (tmp_path / "screen.png").read_bytes()

    def still() -> bool:
        """Nothing moved for a while."""
        one = picture()
        time.sleep(1)
        return picture() == one

    browser.visit(address, 1200, 700)
    until(browser, lambda: bool(browser.run("document.body.classList.contains('-first-byte')")))
    until(browser, still)
    before = picture()
    browser.run("document.querySelector('.xterm-helper-textarea').focus()")
    press(browser, "?")
    until(browser, lambda: picture() != before)
    press(browser, "q")  # in the help it means nothing
    # The page names a font of Google's, which the policy keeps it from asking for.
    assert [one for one in browser.complaints if "fonts.googleapis.com" in one and "Content Security Policy" in one]
    beside = ("data:", "blob:", "https://fonts.googleapis.com/")
    asked = [one for one in browser.requested if not one.startswith(beside) and not one.endswith("/favicon.ico")]
    assert asked and all(one.startswith((address, address.replace("http", "ws"))) for one in asked)
