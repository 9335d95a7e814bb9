"""Every trainer is in the tables that name trainers one by one, and has the files that each trainer has.

What follows from its traits is taken from there (`test_trainers_knobs.py`); what only somebody who knows it can write
stands in these tables, and a new trainer that is missing in one is named ("A new trainer, step by step" in
CONTRIBUTING.md).
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sftui.cli.app import COMMANDS
from sftui.trainers import TRAINERS, traits_of

REPO = Path(__file__).resolve().parents[2]
REAL = tuple(name for name in TRAINERS if not traits_of(name).by_hand)
V1 = "llamafactory-v1"
FILES = (
    "sftui/trainers/{}/pins.json",
    "sftui/trainers/{}/environments.json",
    "sftui/trainers/{}/known_keys.json",
    "sftui/trainers/{0}/run_{0}.py",
    "tests/parity/trainers/{}/cases.py",
    "tests/parity/trainers/{}/own.py",
)
TABLES: dict[str, frozenset[str]] = {
    "tests/parity/broken.py": frozenset({V1}),
    "tests/parity/record_keys.py": frozenset(),
    "tests/parity/test_parity_convert.py": frozenset({V1}),
    "tests/fuzz/fuzz_inputs.py": frozenset(),
    "tests/fuzz/fuzz_targets.py": frozenset(),
    "tests/unit/exports/test_exports_conversion.py": frozenset(),
    "tests/unit/findings/real_pass.py": frozenset({V1}),
    "tests/unit/session/test_session_deciding.py": frozenset(),
    "tests/unit/trainers/test_trainers_pins.py": frozenset(),
    "tests/unit/trainers/test_trainers_table.py": frozenset(),
    ".ci/run": frozenset({V1}),
}
"""The tables, and the trainers that have no entry in them: gaps to close, to which no new trainer is to be added."""
TEXTS = ("README.md", "sftui/docs/index.md", "sftui/docs/trainers.md", "sftui/docs/recipes.md", "sftui/skill/SKILL.md")
FORM = ".github/ISSUE_TEMPLATE/labels.yml"
"""The form of an issue, where the trainer is chosen by its title."""


@pytest.mark.parametrize("name", REAL)
def test_a_trainer_has_the_files_that_each_has(name: str) -> None:
    files = [file.format(name.replace("-", "_")) for file in FILES]
    assert [file for file in files if not (REPO / file).is_file()] == []


@pytest.mark.parametrize("table", TABLES)
def test_a_table_names_every_trainer(table: str) -> None:
    text = (REPO / table).read_text()
    missing = {name for name in REAL if re.search(rf"[\"'\s(/]{re.escape(name)}(?=[@\"'\s)/;])", text) is None}
    assert missing == TABLES[table], f"{table} needs an entry for {', '.join(sorted(missing - TABLES[table]))}"


@pytest.mark.parametrize("page", [*TEXTS, FORM])
def test_a_page_names_every_trainer(page: str) -> None:
    text = (REPO / page).read_text()
    assert [name for name in REAL if name != V1 and name not in text and traits_of(name).title not in text] == []


def test_the_help_names_every_trainer() -> None:
    """It stands there as text, since the trainers are not loaded for it."""
    (option,) = [one for one in COMMANDS["show"].params if one.name == "trainer"]
    said = getattr(option, "help", "")
    assert [name for name in TRAINERS if re.search(rf"[ ,]{name}(?![\w-])", said) is None] == []
