"""The table of every code is up to date; SFTUI_GOLDEN=write writes it."""

from __future__ import annotations

import os

import pytest
from codes_table import PATH, document

from sftui.findings import CODES


def test_the_table_is_up_to_date() -> None:
    made = document()
    if os.environ.get("SFTUI_GOLDEN") == "write":
        PATH.write_text(made, encoding="utf-8")
    assert PATH.exists(), f"there is no {PATH.name}: run with SFTUI_GOLDEN=write"
    assert PATH.read_text(encoding="utf-8") == made, "run with SFTUI_GOLDEN=write and read the diff"


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_section_of_its_own_that_can_be_linked(code: str) -> None:
    text = document()
    assert text.count(f"\n### {code}\n") == 1, "the anchor is the code in small letters"
    section = text.partition(f"\n### {code}\n")[2].partition("\n##")[0]
    assert f"**{CODES[code].name}** · {CODES[code].severity.value} " in section
    assert all(f"\n- {what} " in section for what in ("raised by", "not raised by")) and section.count("\n- ") >= 3
