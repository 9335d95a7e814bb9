"""The table of every code is up to date; SFTUI_GOLDEN=write writes it."""

from __future__ import annotations

import os
import re

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
def test_every_code_has_a_whole_row(code: str) -> None:
    (line,) = [one for one in document().splitlines() if one.startswith(f"| `{code}`")]
    cells = re.split(r"(?<!\\)\|", line)[1:-1]
    assert len(cells) == 6 and all(cell.strip() for cell in cells)
    assert f"{CODES[code].severity.value} " in cells[1]
