"""Every trainer has in its two folders the files that each trainer has, and the pages and the form name it.

What follows from its traits is taken from there (`test_trainers_knobs.py`); what only somebody who knows it can write
stands in these files, and a new trainer that lacks one is named (CONTRIBUTING.md).
"""

from __future__ import annotations

import os
import re
import textwrap
from pathlib import Path

import pytest
from trainers import FOLDER

from sftui.findings import CODES
from sftui.trainers import TRAINERS, traits_of
from sftui.trainers.declared import fixes_of, folder_of

REPO = Path(__file__).resolve().parents[2]
REAL = tuple(name for name in TRAINERS if not traits_of(name).by_hand)
V1 = "llamafactory-v1"
FILES = ("environments.json", "known_keys.json", "pins.json", "run_{}.py", "training.json")
"""In the folder of sftui."""
HELD = (
    "broken",
    "cases",
    "convert",
    "effective",
    "examples",
    "facts",
    "fuzz",
    "keys",
    "loader",
    "own",
    "rounds",
    "training",
)
"""In the folder of the tests."""
GAPS = {
    V1: {"broken", "convert", "rounds"},
    "mlx-lm": {"broken"},
    "unsloth": {"effective", "examples", "loader"},  # its script is no config
}
"""What a trainer lacks of these: gaps to close, to which no new trainer is to be added."""
TITLES = [traits_of(name).title for name in REAL if name != V1]
_TITLES = re.compile(rf"\bTRL,\s+Axolotl(?:(?:,| or)\s+(?:{'|'.join(TITLES)})\b)+")
_NAMES = re.compile(r"`trl`(?: `[a-z0-9-]+`)+")
PAGES = (
    *("README.md", "sftui/docs/index.md", "sftui/docs/recipes.md", "sftui/skill/SKILL.md"),
    ".github/ISSUE_TEMPLATE/labels.yml",
)


@pytest.mark.parametrize("name", REAL)
def test_a_trainer_has_the_files_that_each_has(name: str) -> None:
    folder = folder_of(name)
    assert [file for file in FILES if not (folder / file.format(folder.name)).is_file()] == []
    assert {file for file in HELD if not (FOLDER / folder.name / f"{file}.py").is_file()} == GAPS.get(name, set())
    assert [code for code in fixes_of(name) if code not in CODES] == []


def with_titles(text: str) -> str:
    """A page with every trainer where it lists them, by title or by name."""

    def titles(found: re.Match[str]) -> str:
        *most, last = TITLES
        said = ", ".join(most) + (" or " if " or " in found[0] else ", ") + last
        column = found.start() - found.string.rfind("\n", 0, found.start()) - 1
        return "\n".join(textwrap.wrap(said, 120, initial_indent=" " * column)).strip() if "\n" in found[0] else said

    return _NAMES.sub(" ".join(f"`{name}`" for name in REAL), _TITLES.sub(titles, text))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_every_trainer(page: str) -> None:
    """SFTUI_GOLDEN=write writes them anew."""
    text = (REPO / page).read_text(encoding="utf-8")
    if os.environ.get("SFTUI_GOLDEN") == "write":
        (REPO / page).write_text(with_titles(text), encoding="utf-8")
    else:
        assert text == with_titles(text)
        assert _TITLES.search(text) or _NAMES.search(text), f"{page} lists no trainers"


def test_the_page_of_trainers_tells_of_every_one() -> None:
    text = (REPO / "sftui/docs/trainers.md").read_text(encoding="utf-8")
    assert [name for name in REAL if name != V1 and name not in text and traits_of(name).title not in text] == []
