"""Environments that sftui makes: whole or not there, one builder at a time, and taken away again."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sftui.cli.envs import make_for
from sftui.errors import SftuiError
from sftui.tokens.loading import made


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Builds that only write the folders that pip would."""
    monkeypatch.setenv("SFTUI_CACHE", str(tmp_path / "cache"))
    log: list[str] = []

    def build(part: Path, version: str) -> None:
        log.append(version)
        site = part / "lib" / "python3.11" / "site-packages"
        for name in (f"transformers-{version}", "tokenizers-0.22.2"):
            (site / f"{name}.dist-info").mkdir(parents=True)
        (part / "bin" / "python").parent.mkdir(parents=True)
        (part / "bin" / "python").write_text("")

    monkeypatch.setattr(made, "_build", build)
    return log


def test_one_is_made_once_listed_and_removed(built: list[str]) -> None:
    assert made.made_environment("5.6.0") is None and made.all_made() == {}
    found = made.make("5.6.0")
    assert found.versions == {"transformers": "5.6.0", "tokenizers": "0.22.2"}
    assert made.make("5.6.0") == found == made.made_environment("5.6.0")
    assert built == ["5.6.0"]
    assert made.all_made() == {"5.6.0": made.folder_of("5.6.0")}
    assert made.size_of(made.folder_of("5.6.0")) > 0
    assert made.remove("5.6.0") and not made.remove("5.6.0")
    assert made.made_environment("5.6.0") is None
    assert not [path for path in made.root().iterdir() if path.is_dir()]


def test_what_a_killed_build_left_is_not_used_and_swept(built: list[str]) -> None:
    left = made.root() / ".part-5.6.0-dead"
    left.mkdir(parents=True)
    made._build(left, "5.6.0")
    half = made.folder_of("5.6.0")
    half.mkdir()  # as if somebody had copied it by hand: no stamp
    assert made.made_environment("5.6.0") is None
    made.make("5.6.0")
    assert not left.exists()
    assert made.made_environment("5.6.0") is not None


def test_a_build_that_fails_leaves_nothing(built: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(part: Path, version: str) -> None:
        (part / "half").mkdir()
        raise made._not_made(version, "the package registry cannot be reached")

    monkeypatch.setattr(made, "_build", fail)
    with pytest.raises(SftuiError, match="cannot be made, because the package registry cannot be reached"):
        made.make("5.6.0")
    assert not [path for path in made.root().iterdir() if path.is_dir()]


def test_two_builders_make_one(built: list[str]) -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(made.make("5.6.0"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["5.6.0"] and found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("errors", "says"),
    [
        ("WARNING: Retrying … NewConnectionError('…: Failed to establish')\nERROR: No matching", "cannot be reached"),
        ("ERROR: No matching distribution found for transformers==9.9", "no transformers 9.9"),
        ("Command '…ensurepip…' returned", "python3-venv"),
        ("ERROR: disk full", "disk full"),
    ],
)
def test_a_failure_is_one_clause(errors: str, says: str) -> None:
    told = made._why(errors, "9.9")
    assert says in told and "\n" not in told


@pytest.mark.parametrize("version", ["../x", "5.6/0", "", "latest"])
def test_only_versions_name_a_folder(version: str) -> None:
    with pytest.raises(SftuiError, match="is not a version"):
        made.folder_of(version)


SLOW = """
import os, sys
from sftui.tokens.loading import made
def build(part, version):
    (part / "lib" / "python3.11" / "site-packages" / f"transformers-{version}.dist-info").mkdir(parents=True)
    writes = "import os, sys, time; open(sys.argv[1], 'w'); "
    writes += "open(sys.argv[2], 'w').write(str(os.getpid())); time.sleep(90)"
    made._run(version, [sys.executable, "-c", writes, str(part / "half"), os.environ["TOLD"]])
made._build = build
made.make("5.6.0")
"""


def gone(pid: int) -> bool:
    """Whether a process has ended, within half a minute."""
    for _ in range(300):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_build_that_is_killed_leaves_nothing_half_made(built: list[str], tmp_path: Path) -> None:
    """kill -9 while pip writes: pip ends too, nothing is listed or used, and the next build sweeps and makes it."""
    told = tmp_path / "pid"
    told.touch()
    with subprocess.Popen([sys.executable, "-c", SLOW], env={**os.environ, "TOLD": str(told)}) as child:
        while not told.read_text():
            assert child.poll() is None
            time.sleep(0.05)
        child.kill()
    assert gone(int(told.read_text()))
    assert list(made.root().glob(".part-5.6.0-*")), "it was at it"
    assert made.made_environment("5.6.0") is None and made.all_made() == {}
    assert not made.folder_of("5.6.0").exists()
    made.make("5.6.0")
    assert built == ["5.6.0"] and not list(made.root().glob(".part-*"))
    assert made.made_environment("5.6.0") is not None


def test_who_waits_for_another_builder_is_told(
    built: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fcntl = pytest.importorskip("fcntl")
    assert not made.busy("5.6.0")
    made.root().mkdir(parents=True)
    monkeypatch.setattr(made, "make", lambda version: None)
    with (made.root() / ".lock-5.6.0").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        make_for("5.6.0")
        assert "another process is making it: waiting for it to finish; Ctrl-C stops" in capsys.readouterr().err
    make_for("5.6.0")
    assert "another process" not in capsys.readouterr().err
