"""The pane of findings: what a fix changes is told whole, and the value of a knob may be of any length."""

from __future__ import annotations

from sftui.findings import Finding, Fix, Severity
from sftui.model import RecipeChange
from sftui.text import cell_width
from sftui.views.cells import plain
from sftui.views.findings import finding_block


def lines_of(change: RecipeChange, width: int) -> list[str]:
    finding = Finding("LAB002", Severity.WARNING, "told", 0, fix=Fix("train the answers", (change,)))
    return plain(finding_block(finding, width, marked=True)).splitlines()


def test_what_a_fix_changes_is_told_whole_in_a_narrow_pane() -> None:
    for width in (30, 38, 60):
        told = lines_of(RecipeChange("mask.rule", "auto", "generation_tag"), width)
        assert "mask.rule: auto → generation_tag" in " ".join(" ".join(told).split())
        assert max(map(cell_width, told)) <= width


def test_a_value_of_any_length_takes_few_lines() -> None:
    change = RecipeChange("render.template", "tokenizer", "{{ messages }}" * 10_000)
    assert len(lines_of(change, 38)) < 10
