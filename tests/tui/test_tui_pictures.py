"""The recording of the README: pictures of the app, each seen for its seconds."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pictures import CELL, on_grid, played
from rich.cells import cell_len
from rich.console import Console

PICTURE = """<svg class="rich-terminal" viewBox="0 0 10 10" xmlns="http://www.w3.org/2000/svg"><style>
    @font-face {{ font-family: "Fira Code"; src: url("https://example.org/fira.woff2") }}
    .{0}-r1 {{ fill: red }}</style><text class="{0}-r1">{0}</text></svg>"""


def test_each_picture_is_seen_for_its_seconds_one_after_the_other() -> None:
    svg = played([(PICTURE.format("first"), 1), (PICTURE.format("second"), 3), (PICTURE.format("third"), 4)])
    root = ElementTree.fromstring(svg)
    assert root.get("viewBox") == "0 0 10 10"
    frames = root.findall("{http://www.w3.org/2000/svg}g")
    assert [frame.get("class") for frame in frames] == ["frame0", "frame1", "frame2"]
    seen = [re.findall(r"([\d.]+)% { visibility: (\w+)", rule) for rule in re.findall(r"@keyframes .*", svg)]
    assert seen == [
        [("0.000", "visible"), ("12.500", "hidden")],
        [("0", "hidden"), ("12.500", "visible"), ("50.000", "hidden")],
        [("0", "hidden"), ("50.000", "visible"), ("100.000", "hidden")],
    ]
    assert svg.count("8s step-end infinite") == 3


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert "url(" not in played([(PICTURE.format("only"), 1)])


GITHUB = Path(__file__).resolve().parents[2] / ".github"
LINES = (
    "   1  75 % ✗1    用一句话解释什么… ┃ pos",
    "   2  24 % ✂292  Why is it so?     ┃ loss ███░░╌",
    "   3  68 % !2 ✂  비 오는 날 「猫」 ┃ <|im_end|> & more",
    "   4  68 %       ما هي عاصمة المغ  ┃ कृपया עברית",
    "   5 100 %       👍🏽 🇩🇪 👩\u200d👧 é e\u0301 ┃ the last cell of a line of forty-nine",
)
WIDE = "用一句话解释什么猫のつく비오는날집"


def drawn() -> str:
    """A screen as Textual exports it, on its grid."""
    console = Console(width=max(map(cell_len, LINES)), record=True, file=io.StringIO(), force_terminal=True)
    for text in LINES:
        console.print(text, markup=False, highlight=False)
    return on_grid(console.export_svg(title="sftui"))


def texts_of(svg: str) -> list[tuple[float, list[float], float | None, str]]:
    """Of each text of a picture its line, where it begins (each character, where that is said), its length, itself."""
    found = []
    for one in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if "clip-path" in one.attrib:
            starts, length = [float(x) for x in one.attrib["x"].split()], one.get("textLength")
            found.append((float(one.attrib["y"]), starts, float(length) if length else None, one.text or ""))
    return found


def held(svg: str) -> None:
    """Each text stands in its own cells: on the grid, as long as its cells are, and inside of the frame."""
    edge = min(float(width) for width in re.findall(r'-clip-terminal">\s*<rect x="0" y="0" width="([\d.]+)', svg))
    for _, starts, length, text in texts_of(svg):
        assert all(abs(start / CELL - round(start / CELL)) < 0.01 for start in starts), text
        if length is None:
            steps = [b - a for a, b in pairwise(starts)]
            assert len(starts) == len(text)
            assert steps == pytest.approx([cell_len(char) * CELL for char in text[:-1]], abs=0.1), text
        else:
            assert len(starts) == 1 and length == pytest.approx(cell_len(text) * CELL, abs=0.1), text
            assert not set(text) & set(WIDE), "a wide character has its own cells"
        assert starts[0] + cell_len(text) * CELL <= edge, f"{text} is cut at the right"


def test_each_text_of_a_picture_stands_in_its_own_cells() -> None:
    svg = drawn()
    held(svg)
    spans = [(y, starts[0], starts[0] + cell_len(text) * CELL) for y, starts, _, text in texts_of(svg)]
    for (y, _, end), (after, start, _) in pairwise(spans):
        assert after != y or start > end - 0.1, "no text begins before the one to its left ends"


def test_what_is_drawn_as_one_sign_stays_together() -> None:
    texts = [text for *_, text in texts_of(drawn())]
    for together in ("👍🏽", "🇩🇪", "👩\u200d👧", "e\u0301", "कृपया"):
        assert any(together in text for text in texts), together


@pytest.mark.parametrize("name", ["screenshot", "recording"])
def test_the_pictures_of_the_readme_stand_on_their_cells(name: str) -> None:
    """`python tests/tui/pictures.py NAME` draws them anew."""
    svg = (GITHUB / f"{name}.svg").read_text(encoding="utf-8")
    held(svg)
    assert max("".join(text for *_, text in texts_of(svg) if text.isalpha())) < "\u0300", "any browser has the letters"
