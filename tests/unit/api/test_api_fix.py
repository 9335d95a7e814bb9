"""`sftui.check(fix=…)`: what was tried and helps, put in force as the command does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sftui
from sftui.errors import ExportError
from sftui.tokens import builtin

ROWS: list[Any] = [
    {"messages": [{"role": "human", "content": f"What is {n}?"}, {"role": "gpt", "content": f"It is {n}."}]}
    for n in range(6)
]
OPENING: Any = {"tokenizer": "builtin:chatml", "trainer": "trl", "select": ["ROL", "LAB"]}


def test_a_call_writes_and_proves_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    plain = sftui.check("rows.jsonl", **OPENING)
    assert plain.fix is None and plain.after is None
    report = sftui.check("rows.jsonl", **OPENING, fix="fixed")
    assert report.counts == plain.counts and report.fix is not None and report.after is not None
    assert [cure["codes"] for cure in report.fix["cures"]] == [("ROL001",), ("LAB002",)]
    assert report.after.raise_on("warning").counts["error"] == 0 and "✓ map-roles" in str(report)
    with sftui.open("fixed/trl_sft.yaml", tokenizer="builtin:chatml") as opened:
        assert [row.trained > 0 for row in opened] == [True] * 6
    with pytest.raises(ExportError, match="already exists"):
        sftui.check("rows.jsonl", **OPENING, fix="fixed")
    assert sftui.check("rows.jsonl", **OPENING, fix="fixed", overwrite=True).after


def test_rows_in_memory_are_written_and_read_with_the_tokenizer_that_was_given(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    given = transformers.AutoTokenizer.from_pretrained(builtin.folder("chatml"))
    silent = {"messages": [{"role": "user", "content": "And?"}]}
    report = sftui.check([*ROWS, silent], **{**OPENING, "tokenizer": given}, fix=tmp_path / "fixed", drop=["LAB012"])
    assert report.fix is not None and report.after is not None and report.after.counts["error"] == 0
    assert report.fix["rows"]["dropped"] == 1 and len((tmp_path / "fixed" / "list.jsonl").read_text().splitlines()) == 6


def test_what_is_read_is_not_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    with pytest.raises(ExportError, match="is the data itself"):
        sftui.check("rows.jsonl", **OPENING, fix=".", overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["rows.jsonl"]
