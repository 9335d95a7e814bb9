"""`sftui encode` of a config that sets rows aside for evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.trainers.held_out import HeldOut, evaluation_rows

AXOLOTL = "base_model: builtin:chatml\nsequence_len: 99\ndatasets:\n  - {path: d.jsonl, type: chat_template}\n"


def test_encode_marks_the_rows_set_aside(
    sftui: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello?"}]}
    (tmp_path / "d.jsonl").write_text((json.dumps(row) + "\n") * 20)
    (tmp_path / "c.yml").write_text(
        AXOLOTL.replace("base_model: m", "base_model: builtin:chatml") + "val_set_size: 0.1\n"
    )
    monkeypatch.chdir(tmp_path)
    done = sftui("encode", "c.yml", "--trainer", "axolotl", "-o", "-")
    marked = {one["row"] for one in done.records() if one.get("split") == "evaluation"}
    held = HeldOut("val_set_size", 0.1, 42, drawn=False)
    assert done.code == 0 and marked == evaluation_rows(held, [True] * 20), done.err
    assert "2 of them set aside for evaluation" in done.err
