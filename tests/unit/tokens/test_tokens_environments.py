"""Which Python an environment is, told from outside wherever that is possible."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sftui.errors import SftuiError
from sftui.tokens.loading.environments import environment_at, inside_any, own_environment


def environment(folder: Path, *packages: str, python: str = "#!/bin/sh\nexit 9\n") -> Path:
    """A folder that looks like a virtual environment; its python fails when it is run."""
    site = folder / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    for package in packages:
        (site / f"{package}.dist-info").mkdir()
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text(python)
    (folder / "bin" / "python").chmod(0o755)
    (folder / "pyvenv.cfg").write_text("")
    return folder


def test_versions_are_read_without_running_anything(tmp_path: Path) -> None:
    folder = environment(tmp_path / "e", "transformers-5.6.0", "tokenizers-0.22.2", "mistral_common-1.9.0", "numpy-2.0")
    for path in (folder, folder / "bin" / "python"):
        found = environment_at(path, "--env")
        assert found.python == folder / "bin" / "python"
        assert found.versions == {"transformers": "5.6.0", "tokenizers": "0.22.2", "mistral-common": "1.9.0"}
        assert not found.own


def test_a_python_without_a_folder_of_its_own_is_asked(tmp_path: Path) -> None:
    folder = environment(tmp_path / "e", python=f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    found = environment_at(folder / "bin" / "python", "--env")
    assert found.versions["transformers"] == own_environment().versions["transformers"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "there is no such folder"),
        (lambda path: path.mkdir(), "it contains no python"),
        (lambda path: environment(path, "numpy-2.0"), "cannot be run, because it does not answer"),
        (lambda path: environment(path, python="#!/bin/sh\necho '{}'\n"), "there is no transformers in"),
    ],
)
def test_what_is_no_environment_says_so_in_a_sentence(tmp_path: Path, make: object, says: str) -> None:
    make(tmp_path / "e")  # type: ignore[operator]
    with pytest.raises(SftuiError, match=says) as error:
        environment_at(tmp_path / "e", "--env")
    assert "\n" not in str(error.value)


def test_the_environment_that_runs_sftui_is_ours() -> None:
    assert environment_at(sys.prefix, "--env").own


def test_inside_follows_links(tmp_path: Path) -> None:
    (tmp_path / "data" / "venv").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "data" / "venv")
    (tmp_path / "other").mkdir()
    assert inside_any(tmp_path / "link", [tmp_path / "data"])
    assert inside_any(tmp_path / "data", [tmp_path / "data"])
    assert not inside_any(tmp_path / "other", [tmp_path / "data"])
