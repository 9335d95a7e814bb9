"""The page for man: as the commands are now, and read by groff without a warning."""

from __future__ import annotations

import os
import shutil
import subprocess

import click
import pytest
from examples import REPO

from sftui.cli.app import COMMANDS, inspect
from sftui.cli.man import man_page
from sftui.docs import topics

PAGE = REPO / "share" / "man" / "man1" / "sftui.1"


def test_the_page_is_what_the_commands_say() -> None:
    if os.environ.get("SFTUI_GOLDEN") == "write":
        PAGE.write_text(man_page(inspect, COMMANDS), encoding="utf-8")
    assert man_page(inspect, COMMANDS) == PAGE.read_text(encoding="utf-8"), "SFTUI_GOLDEN=write pytest tests/docs"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_groff_reads_it_without_a_warning_and_shows_all_of_it() -> None:
    for device in ("utf8", "ascii", "ps"):
        done = subprocess.run(["groff", "-man", "-ww", "-z", f"-T{device}", PAGE], capture_output=True, check=True)
        assert done.stderr == b"", done.stderr.decode()
    words = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=500n", str(PAGE)]
    text = subprocess.run(words, capture_output=True, check=True, text=True).stdout
    for command in (inspect, *COMMANDS.values()):
        for param in command.params:
            if isinstance(param, click.Option) and not param.hidden:
                assert param.opts[0] in text, f"{command.name} {param.opts[0]}"
        for typed, _ in command.examples:
            assert " ".join(typed.replace("`", "").replace("…", "...").split()) in text
    assert all(f"sftui help {topic.name}" in text for topic in topics()) and "0      fine" in text


def test_words_are_no_requests_of_man() -> None:
    @click.command(
        "sftui odd",
        cls=type(inspect),
        help=".SH is no heading, 'nor this; a \\fB is no font, é stays",
        examples=(("'a .b", "it"),),
    )
    def odd() -> None: ...

    page = man_page(inspect, {"odd": odd})
    assert "\n\\&.SH is no heading, 'nor this; a \\efB is no font, \\[u00E9] stays\n" in page
    assert "\\fB\\&'a .b\\fR" in page
