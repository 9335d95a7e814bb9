"""The recording of the README: pictures of the app, each seen for its seconds."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from pictures import played

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
