"""A trainer's own config in the inspector: its notes, and the export of the corrected file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.session.configs import open_config
from sftui.workspace import events as ev

CONFIG = (
    "base_model: builtin:chatml\nsequence_len: 64  # room\nflibber: 1\ndatasets:\n- {path: chat.jsonl, type:"
    " chat_template}\n"
)


def test_notes_are_told_and_the_users_file_is_exported(
    data: Path, open_workspace: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data.parent)
    Path("axolotl.yml").write_text(CONFIG)
    chosen = open_config("axolotl.yml", None, None)
    workspace, heard = open_workspace(recipe=chosen.reference.recipe, config=chosen.opened, notes=chosen.notes)
    opened = heard.wait(ev.SourceOpened)
    assert any("flibber" in note for note in opened.notes)
    heard.wait(ev.TokenizerChanged, lambda event: event.state in ("proven", "failed"))
    workspace.change("length.max", 32)
    heard.wait(ev.RowReady, lambda event: event.version >= 1)
    plan = workspace.plan_export("axolotl", str(tmp_path / "out"))
    [file] = [file for file in plan.files if file.path.name == "axolotl.yml"]
    assert "-sequence_len: 64  # room\n+sequence_len: 32  # room" in file.diff and not file.exists
