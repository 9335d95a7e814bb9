"""The HTML report in a real browser: wide and at phone width, light and dark, with an accessibility check.

axe-core comes from npm into a temporary folder, or from the file that SFTUI_AXE names.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import chromium
import pytest

from sftui.cli import main

pytestmark = pytest.mark.terminal
AXE = "axe-core@4.10.2"
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)> \x1b[31m \u202e \ud800 & \"'"
SIZES = [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Chromium]:
    program = chromium.find()
    if program is None:
        pytest.skip("no Chromium is installed (apt-get install chromium, or set SFTUI_CHROMIUM)")
    made = chromium.Chromium(program, tmp_path_factory.mktemp("chromium"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on hostile rows that raise findings of every scope."""
    folder = tmp_path_factory.mktemp("report")
    data, out = folder / "<b>rows & more.jsonl", folder / "report.html"

    def row(*turns: tuple[str, object]) -> str:
        return json.dumps({"messages": [{"role": role, "content": text} for role, text in turns]})

    rows = [
        row(("user", f"Question {i}? {HOSTILE if i % 5 == 0 else ''}"), ("assistant", "An answer. " * (i * 3) + " "))
        for i in range(40)
    ]
    rows += [
        row(("user", HOSTILE), ("assistant", None)),
        row((HOSTILE, "x"), ("assistant", "y")),
        row(("user", "a")),
        '{"messages": [',
        rows[3],
        row(("user", "<|im_end|>" + "W" * 500), ("assistant", "ok " * 3000)),
    ]
    data.write_text("\n".join(rows) + "\n")
    with pytest.raises(SystemExit) as ended:
        main(["report", str(data), "-t", "builtin:chatml", "-o", str(out)])
    assert ended.value.code == 0
    return out


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    named = os.environ.get("SFTUI_AXE")
    if named:
        return Path(named).read_text()
    if shutil.which("npm") is None:
        pytest.skip("axe-core is not here: no npm, and SFTUI_AXE names no file")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), AXE], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"axe-core cannot be installed: {done.stderr.strip()[-200:]}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_nothing_is_wider_than_the_screen(browser: chromium.Chromium, page: Path, width: int, scheme: str) -> None:
    browser.open(page, width, 800, scheme)
    if os.environ.get("SFTUI_PICTURES"):
        browser.picture(Path(os.environ["SFTUI_PICTURES"]) / f"{width}-{scheme}.png")
    assert browser.run("document.documentElement.scrollWidth") <= width
    wide = browser.run(
        """[...document.querySelectorAll('body *')].filter(e => !e.closest('.tokens') && !e.closest('.sr')
        && !e.closest('.skip') && e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert wide == []


def test_the_page_asks_for_nothing_and_runs_nothing(browser: chromium.Chromium, page: Path) -> None:
    browser.open(page, 1280, 800, "light")
    assert browser.requested == [page.as_uri()]
    assert browser.complaints == []
    assert browser.run("document.title").startswith("sftui report: ")
    assert browser.run("document.querySelectorAll('script, img, iframe, link, object').length") == 0
    text = browser.run("document.body.innerText")
    assert "</script><script>" in text and "\x1b" not in text and "\u202e" not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_scheme_changes_the_background(browser: chromium.Chromium, page: Path, scheme: str) -> None:
    browser.open(page, 1280, 800, scheme)
    red = int(browser.run("getComputedStyle(document.body).backgroundColor").split("(")[1].split(",")[0])
    assert (red > 200) == (scheme == "light")


def test_labels_are_told_without_colour(browser: chromium.Chromium, page: Path) -> None:
    browser.open(page, 1280, 800, "light")
    styles = browser.run(
        """Object.fromEntries(['on', 'off', 'cut'].map(k => [k, (e => e && (s =>
        [s.fontWeight, s.textDecorationLine, s.borderBottomStyle].join())(getComputedStyle(e)))(
        document.querySelector('.' + k))]))"""
    )
    assert len(set(styles.values())) == 3, styles
    assert browser.run("document.querySelectorAll('.tokens').length") > 0
    assert "⟦" in browser.run("document.querySelector('.tokens').innerText")


def test_landmarks_headings_and_tables(browser: chromium.Chromium, page: Path) -> None:
    browser.open(page, 1280, 800, "light")
    assert browser.run(
        "['header', 'nav', 'main', 'footer'].every(n => document.querySelectorAll('body > ' + n).length === 1)"
    )
    levels = browser.run("[...document.querySelectorAll('h1,h2,h3,h4')].map(e => +e.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert browser.run(
        "[...document.querySelectorAll('table')].every(t => t.caption && [...t.rows].every(r =>"
        " r.querySelector('th[scope]')))"
    )
    assert browser.run(
        "[...document.querySelectorAll('svg')].every(s => s.getAttribute('role') === 'img' &&"
        " s.querySelector('title').textContent)"
    )


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_axe_finds_nothing(
    browser: chromium.Chromium, page: Path, axe: str, width: int, scheme: str, record: Callable[[str], None]
) -> None:
    browser.open(page, width, 800, scheme)
    browser.run(axe + "; undefined")
    found = json.loads(
        browser.run(
            "axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify({n: r.passes.length, v:"
            " r.violations.map(v => [v.id, v.impact, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' +"
            " n.failureSummary)])}))"
        )
    )
    record(f"axe at {width} {scheme}: {found['n']} rules pass")
    assert found["v"] == []


@pytest.fixture
def record(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    def tell(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}")

    return tell
