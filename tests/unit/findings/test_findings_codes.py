"""The table of every code is up to date; SFTUI_GOLDEN=write writes it."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest
from codes_table import PATH, document

from sftui.findings import CODES
from sftui.findings.catalogue import listed


def test_the_table_is_up_to_date() -> None:
    made = document()
    if os.environ.get("SFTUI_GOLDEN") == "write":
        PATH.write_text(made, encoding="utf-8")
    assert PATH.exists(), f"there is no {PATH.name}: run with SFTUI_GOLDEN=write"
    assert PATH.read_text(encoding="utf-8") == made, "run with SFTUI_GOLDEN=write and read the diff"


@pytest.fixture(scope="module")
def text() -> str:
    return document()


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_section_of_its_own_that_can_be_linked(code: str, text: str) -> None:
    assert text.count(f"\n### {code}\n") == 1, "the anchor is the code in small letters"
    section = text.partition(f"\n### {code}\n")[2].partition("\n##")[0]
    assert f"**{CODES[code].name}** · {CODES[code].severity.value} " in section
    assert all(f"\n- {what} " in section for what in ("raised by", "not raised by")) and section.count("\n- ") >= 3


def test_codes_are_listed_by_their_families_and_numbers_whatever_file_they_are_of() -> None:
    one = CODES["CON001"]
    made = listed((code, replace(one)) for code in ("XYZ001", "TRU002", "CON009", "TRU001", "ABC001", "CON001"))
    assert [*made] == ["CON001", "CON009", "TRU001", "TRU002", "ABC001", "XYZ001"]
    assert [rule.code for rule in made.values()] == [*made]
    assert [*listed(CODES.items())] == [*CODES]


def test_two_findings_with_one_code_are_refused() -> None:
    one = CODES["CON001"]
    assert [*listed([("CON001", one)] * 2)] == ["CON001"], "a rule that two files use"
    with pytest.raises(ValueError, match="CON001: content-none and another"):
        listed([("CON001", one), ("CON001", replace(one, name="another"))])


def test_no_code_is_written_but_as_the_name_of_its_rule() -> None:
    """Else a new finding would have to be put into a second place, and a check could report what no rule says."""
    package, quoted = PATH.parents[1], re.compile(r'"([A-Z]{3}\d{3})"')
    found = {
        f"{path.relative_to(package)}: {code}"
        for path in sorted(package.rglob("*.py"))
        for code in quoted.findall(path.read_text(encoding="utf-8"))
        if code in CODES
    }
    assert found == set()
