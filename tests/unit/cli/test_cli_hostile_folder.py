"""Files of the current folder are data: nothing in it is imported, by us or by a process that we start."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sftui.errors import SftuiError
from sftui.starting import COMMAND
from sftui.trainers.verify.session import installed_version

MODULES = (
    "json",
    "re",
    "pickle",
    "multiprocessing",
    "logging",
    "signal",
    "sftui",
    "numpy",
    "jinja2",
    "tokenizers",
    "importlib",
)
SFTUI = Path(sys.executable).with_name("sftui")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with some rows and modules that say when they are imported."""
    place = tmp_path / "dataset"
    place.mkdir()
    for name in MODULES:
        (place / f"{name}.py").write_text(
            f"open({str(tmp_path / name)!r}, 'w').close()\nraise SystemExit('imported')\n"
        )
    row = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]}
    (place / "chats.jsonl").write_text((json.dumps(row) + "\n") * 600)
    monkeypatch.chdir(place)
    return tmp_path


def imported(folder: Path) -> list[str]:
    return [name for name in MODULES if (folder / name).exists()]


@pytest.mark.parametrize(
    "words",
    [
        ["show", "chats.jsonl", "-t", "builtin:chatml", "--row", "0"],
        ["check", "chats.jsonl", "-t", "builtin:chatml", "--jobs", "2", "--fail-on", "never"],
    ],
)
def test_no_command_imports_from_the_current_folder(folder: Path, words: list[str]) -> None:
    done = subprocess.run([str(SFTUI), *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert imported(folder) == []


def test_the_worker_imports_nothing_from_the_current_folder(folder: Path) -> None:
    done = subprocess.run(list(COMMAND), input=b"", capture_output=True, timeout=60, start_new_session=True)
    assert b"imported" not in done.stderr
    assert imported(folder) == []


def test_asking_for_a_trainers_version_imports_nothing_from_the_current_folder(folder: Path) -> None:
    with contextlib.suppress(SftuiError):  # it need not be installed here
        installed_version(Path(sys.executable), "trl")
    assert imported(folder) == []


def test_the_modules_would_be_imported(folder: Path) -> None:
    """What the tests above guard against."""
    subprocess.run([sys.executable, "-m", "sftui.workspace.worker"], capture_output=True, timeout=60)
    assert imported(folder)
