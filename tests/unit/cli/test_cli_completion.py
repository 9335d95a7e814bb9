"""What a shell completes, asked as click's scripts ask, and in the shells themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sftui.cli.app import COMMANDS, inspect
from sftui.cli.completion import Completed, complete


def words(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What bash gets for a line whose last word is to be completed."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    assert complete("bash_complete", COMMANDS, inspect) == 0
    return [found.removeprefix("plain,") for found in capsys.readouterr().out.splitlines() if found.strip()]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sftui che", ["check", "file,che"]),
        ("sftui --tra", ["--trainer", "--transformers"]),
        ("sftui data.jsonl --trainer mlx", ["mlx-lm", "mlx-lm@0.32"]),
        ("sftui -t builtin:g", ["builtin:gemma", "file,builtin:g"]),
        ("sftui check data.jsonl --select LAB001,TRU00", ["LAB001,TRU001", "LAB001,TRU002"]),
        ("sftui check --set mask.ru", ["mask.rule="]),
        ("sftui check --format sa", ["sarif"]),
        ("sftui check data", ["file,data"]),
        ("sftui repair --drop no-a", ["no-answer"]),
        ("sftui repair --apply tri", ["trim"]),
        ("sftui explain PAC00", ["PAC001", "PAC002"]),
        ("sftui help lab", ["labels"]),
        ("sftui knobs mask.ru", ["mask.rule"]),
        ("sftui demo te", ["text"]),
        ("sftui demo mask", []),
        ("sftui completion f", ["fish"]),
        ("sftui envs re", ["remove"]),
        ("sftui check --max-length 5", []),
    ],
)
def test_words_are_those_that_fit(
    line: str, found: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    got = words(line, monkeypatch, capsys)
    assert got[: len(found)] == found and (found or not got)


def test_every_command_and_option_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(COMMANDS) <= set(words("sftui ", monkeypatch, capsys))
    assert set(Completed(COMMANDS, inspect).commands) == set(COMMANDS)
    for name, command in COMMANDS.items():
        listed = set(words(f"sftui {name} --", monkeypatch, capsys))
        assert {option for param in command.params for option in param.opts if option.startswith("--")} <= listed


def test_another_shell_is_not_answered(sftui: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert complete("tcsh_complete", COMMANDS, inspect) == 2
    done = sftui("completion", "tcsh")
    assert done.code == 2 and "bash" in done.err


ASK = {
    "bash": 'eval "$(sftui completion bash)"; COMP_WORDS=(sftui check --trainer uns); COMP_CWORD=3;'
    ' _sftui_completion sftui; printf "%s\\n" "${COMPREPLY[@]}"',
    "zsh": 'autoload -U compinit; compinit -u -d dump; eval "$(sftui completion zsh)"; '
    'compadd() { print -rl -- "$@" }; _describe() { print -rl -- "${(P@)3}" }; '
    "words=(sftui check --trainer uns); CURRENT=4; _sftui_completion",
    "fish": 'sftui completion fish | source; complete -C "sftui check --trainer uns"',
}


@pytest.mark.parametrize("shell", ASK)
def test_the_shell_itself_completes(shell: str, tmp_path: Path) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "sftui"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sftui "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [found, *flags, "-c", ASK[shell]], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert "unsloth@2026.10" in done.stdout, done.stdout + done.stderr
