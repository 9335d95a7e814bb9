"""Texts for users have no word that once gave them away as translated: CONTRIBUTING.md, "How we write"."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sftui"

SAY_INSTEAD = {
    r"stands?|stood": "is, appears",
    r"befalls?": "happens to",
    r"without a word": "silently",
    r"otherwise than": "differently from",
    r"of the Hub": "on the Hub, or Hub NAME",
    r"hangs? on": "depends on",
    r"what it says": "its text",
    r"anew": "again",
    r"mend(?:s|ed)?": "fix",
    r"set-up": "setup",
    r"held against": "compared with",
    r"in force": "apply it",
    r"(?:is|are) of(?! length\b)": "belongs to, comes from",
    r"(?<!there )(?:is|are) no(?! longer\b| more\b| such\b| labels?\b)": "is not a",
    r"beside": "next to, with",
    r"looked (?:at|through|into)": "checked",
    r"goes? on": "continues",
    r"(?:is|are|was|were) (?:told|taken for)": "say who knows it, and from what",
    r"the pane that has the keys": "the focused pane",
    r"takes? (?:it|them|that) (?:back|away)": "undoes, removes",
    r"comes? of": "comes from",
    r"says no(?:thing)?": "is empty, does not name",
    r"processor time": "CPU time",
    r"behind": "after, past",
    r"is none of": "is not one of",
    r"(?:fits?|takes?|fills?) none": "name what is left over",
    r"takes? the place of": "replaces",
    r"told apart": "distinguished",
    r"in other ways": "differently",
    r"pass(?:es)? over": "ignores",
    r"at hand": "available",
    r"anyhow|all the same": "always, still",
    r"the (?:day|date|seed|rules?) (?:on|by) which": "the date of, the seed for",
    r"as it has (?:it|them)": "with its defaults",
    r"(?:one|object|answer|call|row|line) a (?:row|turn|line|column|pack|batch|file)": "per row, per line",
    r"draws others": "draws different rows",
    r"with which it does": "which prevents this",
    r"lies in": "is in",
    r"aside(?=[.;:,])": "not counting",
    r"what it (?:brings|holds)": "its contents",
}
"""What gave it away, and how the best tools say it."""

FIELDS_OWN = (
    "And then it goes on.",
    "behind a finding",
    "its length was taken for",
    "not looked at",
    "says nothing about it",
    "stand for",
    "stands for -100",
    "stand-alone",
    "stands out",
    "the knob behind",
    "was left behind",
)
"""Where such a word is the right one, each with the words around it."""
SHORTCUTS = PACKAGE / "templates" / "shortcuts"
"""Why a template is not taken apart, which only developers read."""


def prose(page: str) -> Iterator[str]:
    """The blocks of a Markdown page that a person wrote: no code, no tables that come from the code."""
    page = re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)
    page = re.sub(r"<!-- table: .*?<!-- table: end -->", "", page, flags=re.S)
    yield from (re.sub(r"`[^`]*`", "`…`", " ".join(block.split())) for block in re.split(r"\n\s*\n", page))


def literals(source: str) -> Iterator[str]:
    """The sentences among the strings of a module, with `…` for what is filled in; docstrings only of commands."""
    tree = ast.parse(source)
    plain = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0] if node.body else None
            commands = [each for each in getattr(node, "decorator_list", ()) if "ommand" in ast.unparse(each)]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and not commands:
                plain.add(id(first.value))
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                plain.add(id(one.value))
    for node in ast.walk(tree):
        text = ""
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in plain:
            text = node.value
        if len(re.findall(r"[A-Za-z]{2,}", text)) > 2:
            yield " ".join(text.split())


def texts(path: Path) -> Iterator[str]:
    if path.suffix == ".md":
        yield from prose(path.read_text(encoding="utf-8"))
    elif path.suffix == ".json":
        stack = [json.loads(path.read_text(encoding="utf-8"))]
        while stack:
            held = stack.pop()
            if isinstance(held, str):
                yield held
            elif isinstance(held, (dict, list)):
                stack.extend(held.values() if isinstance(held, dict) else held)
    else:
        yield from literals(path.read_text(encoding="utf-8"))


PAGES = [
    ROOT / "README.md",
    *PACKAGE.glob("docs/*.md"),
    *PACKAGE.glob("skill/*.md"),
    *PACKAGE.glob("trainers/*/page.md"),
]
ADVICE = [
    PACKAGE / "views" / "reasons.json",
    *(one for name in ("fixes", "keys", "training") for one in PACKAGE.glob(f"trainers/*/{name}.json")),
]
MODULES = [path for path in PACKAGE.rglob("*.py") if SHORTCUTS not in path.parents]
READ = sorted({*PAGES, *ADVICE, *MODULES})
WORDS = re.compile(rf"\b(?:{'|'.join(SAY_INSTEAD)})\b", re.IGNORECASE)
OWN = re.compile("|".join(map(re.escape, FIELDS_OWN)))


@cache
def all_texts() -> Mapping[Path, Sequence[str]]:
    return {path: tuple(texts(path)) for path in READ}


def found(text: str) -> list[str]:
    return [
        f"{hit[0]}: {text[max(0, hit.start() - 40) : hit.end() + 40]}" for hit in WORDS.finditer(OWN.sub("…", text))
    ]


def test_no_text_has_a_word_that_gave_it_away() -> None:
    read = [(path.relative_to(ROOT), text) for path, some in all_texts().items() for text in some]
    hits = [f"{path}: {hit}" for path, text in read for hit in found(text)]
    assert hits == [], "see `SAY_INSTEAD`"


@pytest.mark.parametrize(
    "text",
    [
        "TRL drops the row without a word",
        "none of the 1 answer stands in the rendered text",
        "a tool is no mapping",
        "any tokenizer of the Hub",
        "Gives the whole screen to the pane that has the keys",
    ],
)
def test_the_words_are_found(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize("text", ["there is no row 3", "the run is no longer there", "rows whose share stands out"])
def test_the_same_words_in_their_place_are_not(text: str) -> None:
    assert not found(text)


def test_every_exception_is_needed() -> None:
    read = "\n".join(text for some in all_texts().values() for text in some)
    assert [one for one in FIELDS_OWN if one not in read] == []


def test_every_kind_of_text_is_read() -> None:
    read = {text for some in all_texts().values() for text in some}
    assert "print one row: tokens, labels and why each is trained or masked" in read, "help of a command"
    assert "Maximize or restore the focused pane." in read, "a key"
    assert "a role is misspelt" in read, "the title of a finding"
    assert "it ends a trained message" in read, "a reason"
    assert "there is no code `…`" in read, "an error"
