"""`sftui help`: the list, each page, names that are nearly right, commands and codes; offline, quickly, readable."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Done

from sftui.cli.app import COMMANDS
from sftui.docs import topics
from sftui.findings import CODES, explain
from sftui.text import cell_width

Sftui = Callable[..., Done]


def test_without_a_topic_every_page_is_listed_with_what_it_is_for(sftui: Sftui) -> None:
    done = sftui("help")
    assert done.code == 0 and done.err == ""
    for one in topics():
        assert f"  {one.name} " in done.out and one.line in done.out


@pytest.mark.parametrize("name", [one.name for one in topics()])
def test_a_page_is_plain_text_in_a_pipe(name: str, sftui: Sftui, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = sftui("help", name)
    title = next(one.title for one in topics() if one.name == name)
    lines = done.out.splitlines()
    assert done.code == 0 and done.err == "" and lines[:2] == [title, "═" * len(title)]
    assert all(cell_width(line) <= 80 and line.isprintable() for line in lines)
    assert not any(mark in done.out for mark in ("](", "<!--", "```", ".md)"))


@pytest.mark.parametrize(
    ("asked", "shown", "said"),
    [
        (("labels",), "Labels and masks", False),
        (("Masks",), "Labels and masks", False),
        (("labels", "and", "masks"), "Labels and masks", False),
        (("lables",), "Labels and masks", True),
        (("mask",), "Labels and masks", True),
        (("tokenizer",), "Tokenizers by version", True),
        (("pack",), "Packing", True),
    ],
)
def test_names_that_are_nearly_right_are_understood(
    asked: tuple[str, ...], shown: str, said: bool, sftui: Sftui
) -> None:
    done = sftui("help", *asked)
    assert done.code == 0 and done.out.splitlines()[0] == shown
    assert bool(done.err) is said and done.err.count("\n") == said


PAGES = {one.name for one in topics()}


@pytest.mark.parametrize("name", sorted(PAGES & {*COMMANDS}))
def test_a_page_with_the_name_of_a_command_leads_to_its_options(name: str, sftui: Sftui) -> None:
    assert f"\nSee also: sftui {name} --help" in sftui("help", name).out


@pytest.mark.parametrize("name", sorted({*COMMANDS} - PAGES))
def test_a_command_shows_its_options(name: str, sftui: Sftui) -> None:
    done = sftui("help", name)
    assert done.code == 0 and done.out.startswith(f"Usage: sftui {name} ")


def test_a_code_is_explained(sftui: Sftui) -> None:
    code = next(iter(CODES))
    assert sftui("help", code.lower()) == Done(0, explain(code), "")
    assert sftui("help", "XYZ999").code == 2


def test_an_unknown_topic_is_one_sentence_that_names_the_pages(sftui: Sftui) -> None:
    done = sftui("help", "qwertz\x1b[31m")
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1 and "\x1b" not in done.err
    assert all(one.name in done.err for one in topics())


def test_a_word_that_is_no_page_leads_to_the_pages_that_name_it(sftui: Sftui) -> None:
    done = sftui("help", "val_set_size")
    assert (done.code, done.out) == (2, "")
    assert done.err == "sftui: there is no help page `val_set_size`; it is named in recipes\n"


def test_a_page_ends_with_those_that_it_leads_to(sftui: Sftui) -> None:
    done = sftui("help", "shift")
    assert done.out.rstrip().splitlines()[-1] == "See also: sftui help labels"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("variable", ["", "NO_COLOR", "TERM"])
def test_a_terminal_gets_colours_unless_it_wants_none(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sftui.cli.app import run
    from sftui.cli.ending import exit_code

    monkeypatch.setenv("TERM", "xterm-256color")
    if variable:
        monkeypatch.setenv(variable, "dumb")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert exit_code(lambda: run(["help", "labels"]), False) == 0
    shown = terminal.getvalue()
    assert ("\x1b[1m" in shown) is not bool(variable) and "␛" not in shown and "Labels and masks" in shown


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom sftui.cli.app import run\n"
        "assert run(['help']) == 0 and run(['help', 'labels']) == 0\n"
        "print(*{'textual', 'transformers', 'datasets', 'pyarrow', 'numpy', 'tokenizers'} & {*sys.modules})"
    )
    done: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == ""
