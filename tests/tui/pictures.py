"""Draw the pictures of the README anew, from the real app on the bundled data:

    python tests/tui/pictures.py screenshot [KEYS…]    # .github/screenshot.svg, after KEYS (as Textual names them)
    python tests/tui/pictures.py recording             # .github/recording.svg: a masked answer found, trained, exported

A recording is one SVG that plays by itself: the pictures of the app, one over the other, each seen for its seconds.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
import unicodedata
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from html import escape, unescape
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple

from rich.cells import cell_len
from textual.pilot import Pilot

from sftui.cli.inspector import demo_options
from sftui.settings import UserSettings
from sftui.tui.app import SftuiApp
from sftui.workspace import Workspace

HOME = Path(__file__).resolve().parents[2] / ".github"
SIZE, FIRST = (150, 32), (124, 30)
NOT_LATIN = re.compile(r"[^\0-\u02ff\u2000-\u20ff]")
KEYS = ["right_square_bracket"]
"""What the screenshot shows: the first screen, on a chat of which one answer of two is trained."""


class Step(NamedTuple):
    """Keys that are pressed, what the title says of it, and how many seconds the screen then stays."""

    keys: tuple[str, ...]
    title: str
    seconds: float


STORY = (
    Step((), "a chat as the trainer tokenizes it: masked ░ and trained █", 4),
    Step(("right_square_bracket",), "]  the next row: two answers, and only one is trained", 3),
    Step(("8", "0", "h"), "the cursor on a token of the first answer", 2),
    Step(("enter",), "Enter  why is it masked?", 5),
    Step(("t",), "t  train it", 3),
    Step(("escape",), "Esc  both answers are trained now", 3),
    Step(("x",), "x  export it", 2),
    Step(("j", "j", "enter"), "for TRL: what stands in its config", 5),
)


@asynccontextmanager
async def opened(size: tuple[int, int] = SIZE) -> AsyncIterator[tuple[SftuiApp, Pilot[Any]]]:
    """The inspector on the bundled data, once its first row and its tokenizer are there: on those of its rows that any
    browser has the letters of."""
    folder = tempfile.TemporaryDirectory()
    options = demo_options("chat_messages", None)
    path = Path(folder.name, Path(options.paths[0]).name)
    rows = Path(options.paths[0]).read_text(encoding="utf-8").splitlines(keepends=True)
    texts = [json.dumps(json.loads(row), ensure_ascii=False) for row in rows]
    path.write_text("".join(row for row, text in zip(rows, texts) if not NOT_LATIN.search(text)), encoding="utf-8")
    workspace = Workspace(replace(options, paths=(str(path),)))
    workspace.start()
    app = SftuiApp(workspace, UserSettings(theme="dark", glyphs="unicode"))
    try:
        async with app.run_test(size=size) as pilot:
            for _ in range(200):
                await pilot.pause(0.05)
                loaded = workspace.tokenizer
                if loaded is not None and loaded.state == "proven" and workspace.cached(0) is not None:
                    break
            await pilot.pause(0.5)
            yield app, pilot
    finally:
        workspace.close()
        folder.cleanup()


async def screenshot(keys: Sequence[str]) -> str:
    """The screen after the keys, as an SVG."""
    async with opened(FIRST) as (app, pilot):
        await pilot.press(*keys)
        await pilot.pause(3)  # what is found in the rows is counted
        return on_grid(app.export_screenshot(title="sftui"))


async def recording(story: Sequence[Step] = STORY, size: tuple[int, int] = SIZE) -> str:
    """The screens of a story as one SVG that plays by itself."""
    pictures = []
    async with opened(size) as (app, pilot):
        for step in story:
            await pilot.press(*step.keys)
            await pilot.pause(2)
            pictures.append((on_grid(app.export_screenshot(title=f"sftui · {step.title}")), step.seconds))
    return played(pictures)


CELL = 12.2
"""How wide a cell of the screen is drawn."""
_TEXT = re.compile(
    r'<text (class="[^"]*") x="([\d.]+)" (y="[\d.]+") textLength="[\d.]+" (clip-path="[^"]*")>([^<]*)</text>'
)
_FRAME = re.compile(r'(-clip-terminal">\s*<rect x="0" y="0" width=")([\d.]+)')
SHAPED = {*range(0x0590, 0x1100), *range(0x1200, 0x1D00), *range(0x1F1E6, 0x1F200)}
"""Characters of scripts whose letters join or stand over each other, and of flags: a run of them is drawn as one."""


def on_grid(svg: str) -> str:
    """A picture of the screen with each of its texts in its own cells, whatever font a browser has.

    Rich gives a text as many cells as it has characters, so that wide ones are squeezed over what stands before them,
    and cuts the last cell of a line.
    """
    svg = _TEXT.sub(lambda found: "".join(_runs(*found.groups())), svg)
    return _FRAME.sub(lambda found: f"{found[1]}{float(found[2]) + CELL / 2:g}", svg)


def _runs(css: str, x: str, y: str, clip: str, content: str) -> Iterator[str]:
    """A text in pieces: plain ones by their length, signs and wide characters each at its cell."""
    cells = 0
    for kind, group in groupby(_clusters(unescape(content)), _kind):
        clusters = [*group]
        text = "".join(clusters)
        starts = [*accumulate(map(cell_len, clusters), initial=cells)]
        at = [f"{float(x) + start * CELL:g}" for start in starts[:-1]]
        width, cells = (starts[-1] - cells) * CELL, starts[-1]
        if text.strip():
            given = f'x="{" ".join(at)}"' if kind == "sign" else f'x="{at[0]}" textLength="{width:g}"'
            adjusted = ' lengthAdjust="spacingAndGlyphs"' * (kind == "shaped")
            yield f"<text {css} {given}{adjusted} {y} {clip}>{escape(text, quote=False)}</text>"


def _clusters(text: str) -> Iterator[str]:
    """Characters, each with what stands over it."""
    made = ""
    for char in text:
        joins = made and (cell_len(char) == 0 or unicodedata.category(char) == "Cf" or made[-1] == "\u200d")
        if made and not joins:
            yield made
            made = ""
        made += char
    if made:
        yield made


def _kind(cluster: str) -> str:
    if any(ord(char) in SHAPED for char in cluster):
        return "shaped"
    return "plain" if cluster.isascii() or cluster == "\xa0" else "sign" if len(cluster) == 1 else "shaped"


_OPENING = re.compile(r"<svg[^>]*viewBox=\"([^\"]*)\"[^>]*>")
_FONTS = re.compile(r"@font-face \{[^}]*\}\s*")


def played(pictures: Sequence[tuple[str, float]]) -> str:
    """SVGs of one size, each seen for its seconds, over and over; where motion is not wanted the last one stays."""
    whole = sum(seconds for _, seconds in pictures)
    styles, frames, at = [], [], 0.0
    for number, (picture, seconds) in enumerate(pictures):
        start, end = 100 * at / whole, 100 * (at + seconds) / whole
        hidden = "0% { visibility: hidden } " if number else ""
        styles.append(
            f"@keyframes frame{number} {{ {hidden}{start:.3f}% {{ visibility: visible }} "
            f"{end:.3f}% {{ visibility: hidden }} }}\n"
            f".frame{number} {{ visibility: hidden; animation: frame{number} {whole:g}s step-end infinite }}"
        )
        # Fonts from elsewhere are not loaded in a picture of a page.
        frames.append(f'<g class="frame{number}">{_FONTS.sub("", picture)}</g>')
        at += seconds
    styles.append(
        f"@media (prefers-reduced-motion) {{ g[class^=frame] {{ animation: none }} "
        f".frame{len(pictures) - 1} {{ visibility: visible }} }}"
    )
    opening = _OPENING.search(pictures[0][0])
    assert opening is not None, "the app draws an SVG with a viewBox"
    return (
        f'<svg viewBox="{opening[1]}" xmlns="http://www.w3.org/2000/svg">\n<style>\n'
        + "\n".join(styles)
        + "\n</style>\n"
        + "\n".join(frames)
        + "\n</svg>\n"
    )


def main(wanted: str, *keys: str) -> None:
    drawn = recording() if wanted == "recording" else screenshot(keys or KEYS)
    (HOME / f"{wanted}.svg").write_text(asyncio.run(drawn), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("screenshot", "recording"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
