"""The tables of the docs that come from the code are up to date; SFTUI_GOLDEN=write writes them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from examples import PAGES
from tables import TABLES, names_of, with_tables

WITH_TABLES = [name for name, path in PAGES.items() if "<!-- table:" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_TABLES)
def test_tables_are_as_the_code_has_them(name: str) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    made = with_tables(text)
    if os.environ.get("SFTUI_GOLDEN") == "write":
        PAGES[name].write_text(made, encoding="utf-8")
        return
    assert text == made, "run with SFTUI_GOLDEN=write and read the diff"


def test_every_table_stands_in_a_page() -> None:
    shown = {table for name in WITH_TABLES for table in names_of(PAGES[name].read_text(encoding="utf-8"))}
    assert shown == {*TABLES}


def test_keys_of_every_pane_are_in_the_docs() -> None:
    from sftui.tui.contexts import CONTEXTS

    text = PAGES["keys"].read_text(encoding="utf-8")
    assert [context for context in CONTEXTS if f"<!-- table: keys {context} -->" not in text] == []


def test_every_command_and_section_of_a_recipe_is_in_the_docs() -> None:
    from sftui.cli.app import COMMANDS
    from sftui.recipe import knobs

    text = PAGES["commands"].read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"<!-- table: options {name} -->" not in text] == []
    text = PAGES["recipes"].read_text(encoding="utf-8")
    sections = {one.path.partition(".")[0] for one in knobs()}
    assert [one for one in sorted(sections) if f"<!-- table: knobs {one} -->" not in text] == []


def test_the_options_of_every_trainer_are_in_the_docs() -> None:
    from sftui.recipe import knobs, knobs_of
    from sftui.trainer_names import TRAINERS
    from sftui.trainers import preset

    text = PAGES["recipes"].read_text(encoding="utf-8")
    having = [name for name in TRAINERS if {one.path for one in knobs_of(preset(name))} > {one.path for one in knobs()}]
    assert [name for name in having if f"<!-- table: own {name} -->" not in text] == []


def test_no_entry_of_the_changelog_is_there_twice() -> None:
    """Two branches that change one entry leave both behind where they are merged."""
    lines = Path(__file__).parents[2].joinpath("CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    begun = Counter(line[:30] for line in lines if line.startswith("- "))
    assert [words for words, count in begun.items() if count > 1] == []
