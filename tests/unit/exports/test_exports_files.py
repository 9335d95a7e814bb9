"""Files are whole or not there: errors, kill -9 in the middle, permissions, links."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sftui.errors import ExportError
from sftui.exports.files import atomic_file, write_atomically


def test_a_file_is_written_with_the_usual_permissions(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomically(path, b"whole")
    ordinary = tmp_path / "ordinary"
    ordinary.write_bytes(b"")
    assert path.read_bytes() == b"whole"
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


def test_permissions_and_links_of_what_is_replaced_stay(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_an_error_inside_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_file(path) as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("number", "told"), [(28, "no space left"), (122, "quota"), (5, "input/output")])
def test_a_disk_that_fails_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, told: str
) -> None:
    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ExportError, match=told):
        write_atomically(tmp_path / "file", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(ExportError, match="is a directory"):
        write_atomically(tmp_path / "file", b"x")
    (tmp_path / "plain").write_bytes(b"")
    with pytest.raises(ExportError, match="could not be written"):
        write_atomically(tmp_path / "plain" / "file", b"x")


def test_kill_9_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"precious")
    script = (
        "import sys\nfrom pathlib import Path\nfrom sftui.exports.files import atomic_file\n"
        "with atomic_file(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half' * 100_000)\n    file.flush()\n    print('now', flush=True)\n    sys.stdin.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"now\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert path.read_bytes() == b"precious"
