"""Links inside the repository lead to what is there, pages are listed, and codes and commands in them exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from examples import PAGES, REPO

from sftui.cli.app import COMMANDS
from sftui.docs import INDEX, topics
from sftui.findings import CODES

FILES = {**PAGES, "CONTRIBUTING": REPO / "CONTRIBUTING.md", "tests-README": REPO / "tests" / "README.md"}
_LINK = re.compile(r"!?\[[^\]]*\]\((?P<to>[^)\s]+)\)")
_CODE = re.compile(r"\b[A-Z]{3}\d{3}\b")


def prose(path: Path) -> str:
    """A page without its fences, code in lines and comments, whose brackets are no links."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`|<!--.*?-->", "", text)


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the web site make them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", FILES)
def test_links_lead_somewhere(name: str) -> None:
    path, lost = FILES[name], []
    for found in _LINK.finditer(prose(path)):
        to, _, anchor = found["to"].partition("#")
        if "://" in to or to.startswith("mailto:"):
            continue
        target = (path.parent / to).resolve() if to else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(found["to"])
    assert lost == []


@pytest.mark.parametrize("name", FILES)
def test_codes_that_are_named_exist(name: str) -> None:
    named = {*_CODE.findall(FILES[name].read_text(encoding="utf-8"))}
    assert {code for code in named if code[:3] in {one[:3] for one in CODES}} - {*CODES} == set()


def test_the_index_lists_every_page_once() -> None:
    listed = [one.name for one in topics()]
    assert sorted(listed) == sorted(name for name in PAGES if not name.endswith("README") and name != INDEX)


def test_every_page_begins_with_a_title_and_a_sentence() -> None:
    for one in topics():
        title, blank, sentence = PAGES[one.name].read_text(encoding="utf-8").split("\n")[:3]
        assert title == f"# {one.title}" and blank == "" and sentence[:1].isalnum() | (sentence[:1] in "`"), one.name


def test_pages_link_to_pages_inside_of_the_docs_alone() -> None:
    """They are shown in the terminal, where there is nothing else."""
    for one in topics():
        for found in _LINK.finditer(prose(PAGES[one.name])):
            assert "://" in found["to"] or re.match(
                r"(\.\./trainers/\w+/page|(\.\./\.\./docs/)?[a-z-]+)\.md(#|$)|#", found["to"]
            ), (one.name, found["to"])


def test_no_page_has_a_name_of_a_command_that_it_does_not_explain() -> None:
    """`sftui help NAME` shows the page, which leads to the command."""
    both = {one.name for one in topics()} & {*COMMANDS}
    assert both == {"trainers"} and [name for name in both if f"`sftui {name}`" not in PAGES[name].read_text()] == []
