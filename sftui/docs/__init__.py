"""The pages of help: Markdown files next to this one and in folders of trainers (`page.md`), shown by `sftui help`, by
the app and on the web site.

`index.md` names the pages in their order, each with a line on what it is for; what it does not name is no page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sftui.nearest import nearest

FOLDER = Path(__file__).parent
INDEX = "index"
_TO = r"\((?:\.\./trainers/(?P<trainer>\w+)/page|(?:\.\./\.\./docs/)?(?P<name>[a-z-]+))\.md(?:#[^)]*)?\)"
_ENTRY = re.compile(rf"^- \[(?P<title>[^\]]+)\]{_TO}: (?P<line>.+)$", re.MULTILINE)
_LINK = re.compile(rf"\]{_TO}")
_SHORTEST = 4
"""Letters of the words of a title by which its page is found, too."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One page: the name of its file, its title, and what it is for."""

    name: str
    title: str
    line: str


@cache
def topics() -> tuple[Topic, ...]:
    """Every page in the order of the index."""
    return tuple(Topic(_named(found), found["title"], found["line"]) for found in _ENTRY.finditer(markdown(INDEX)))


def _named(link: re.Match[str]) -> str:
    """The page that a link leads to."""
    return link["name"] or link["trainer"].replace("_", "-")


def markdown(name: str) -> str:
    """The text of a page; FileNotFoundError where there is none of that name."""
    own = FOLDER / f"{name}.md"
    file = own if own.exists() else FOLDER.parent / "trainers" / name.replace("-", "_") / "page.md"
    return file.read_text(encoding="utf-8")


def trainer_text(name: str, title: str) -> str:
    """What there is to read about a trainer: its own page, else its section of the page on all, else that page."""
    if any(topic.name == name for topic in topics()):
        return markdown(name)
    sections = markdown("trainers").split("\n## ")
    return next((f"# {one}\n" for one in sections if one.startswith(f"{title}\n")), markdown("trainers"))


def topic_for(word: str) -> tuple[Topic, bool] | None:
    """The page that a word means, and whether the word is one of its names; None where no page is near.

    A page's names are its own and the words of its title, letter case aside; else the nearest of them is taken.
    """
    names = _names()
    wanted = word.strip().lower()
    if wanted in names:
        return names[wanted], True
    near = nearest(wanted, names)
    return (names[near], False) if near is not None else None


def topics_that_name(word: str) -> tuple[Topic, ...]:
    """The pages in whose text a word stands, letter case aside."""
    pattern = re.compile(rf"(?<!\w){re.escape(word.strip())}(?!\w)", re.IGNORECASE)
    return tuple(topic for topic in topics() if word.strip() and pattern.search(markdown(topic.name)))


def topics_linked(name: str) -> tuple[Topic, ...]:
    """The pages that a page leads to, in their order there."""
    linked = dict.fromkeys(_named(found) for found in _LINK.finditer(markdown(name)))
    by_name = {topic.name: topic for topic in topics()}
    return tuple(by_name[one] for one in linked if one in by_name and one != name)


@cache
def _names() -> Mapping[str, Topic]:
    """Every word that is taken for a page; the pages' own names before words of titles."""
    found = {one.name: one for one in topics()}
    for topic in topics():
        for word in _words(topic.title):
            found.setdefault(word, topic)
    return found


def _words(title: str) -> Iterator[str]:
    yield title.lower()
    yield from (word for word in re.findall(r"[a-z]+", title.lower()) if len(word) >= _SHORTEST)
