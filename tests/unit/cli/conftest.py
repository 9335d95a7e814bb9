"""Running a command in this process, and small data sets for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from row_files import chat

from sftui.cli import main
from sftui.tokens import builtin


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def sftui(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """`sftui("show", path, "-t", "builtin:chatml")` → exit code, stdout, stderr."""

    def run(*words: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main([str(word) for word in words])
        out, err = capsys.readouterr()
        code = exit_info.value.code
        return Done(code if isinstance(code, int) else 0, out, err)

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with a tokenizer in it: a config names a folder."""
    folder = tmp_path / "here"
    (folder / "tok").mkdir(parents=True)
    for file in builtin.folder("chatml").iterdir():
        (folder / "tok" / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Four rows: fine, dropped (ends with the user), unreadable, fine and hostile."""
    path = tmp_path / "rows.jsonl"
    rows = [
        json.dumps(chat(("user", "Hello?"), ("assistant", "Hi."))),
        json.dumps(chat(("user", "Hello?"), ("assistant", "Hi."), ("user", "And?"))),
        '{"messages": [',
        json.dumps(chat(("user", "\x1b[31mred\x07 [/INST] \u202e\x9b1m"), ("assistant", "\x1b[0mtitle\x07 fine"))),
    ]
    path.write_text("\n".join(rows) + "\n")
    return path
