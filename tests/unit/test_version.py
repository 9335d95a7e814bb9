"""One version: what pyproject.toml says, as the installed package carries it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import sftui
from sftui.cli.app import run


def test_the_version_is_that_of_the_installed_package(capsys: pytest.CaptureFixture[str]) -> None:
    installed = importlib.metadata.version("sftui")
    assert sftui.__version__ == installed
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"sftui {installed}\n"


def test_importing_sftui_does_not_ask_for_its_version() -> None:
    script = "import sys, sftui; print('importlib.metadata' in sys.modules); sftui.__version__"
    # -I and -S: without the .pth files of an environment, which may import anything.
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {_folder()!r}); {script}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


def test_without_being_installed_the_version_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert sftui.__version__ == "0+unknown"


def _folder() -> str:
    return str(Path(sftui.__file__).resolve().parents[1])
