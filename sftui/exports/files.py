"""Writing what the user asked for: whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, cast

from sftui import bound
from sftui.errors import ExportError
from sftui.part_files import begin_part
from sftui.side_files import reason


@contextlib.contextmanager
def atomic_file(path: Path, folders: bool = True, private: bool = False) -> Iterator[IO[bytes]]:
    """A binary file that takes the name `path` only when the block ends without an error.

    It is written next to its target, synced, then renamed over it: a kill, a full disk or an
    error leaves what was there before. `private`: nobody but its owner may read it, whoever might read what stood
    there. ExportError says why writing failed.
    """
    name = ""
    try:
        if folders:
            path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve() if path.is_symlink() else path
        if not target.parent.exists():
            raise ExportError(
                f"{path} could not be written",
                why=f"there is no folder {target.parent}",
                fix="create it, or name another file",
            )
        handle, name = begin_part(target.parent, f".{target.name[:40]}.")
        bound.unfinished(name)
        with cast("IO[bytes]", open(name, "wb", opener=lambda *_: handle)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.chmod(name, 0o600 if private else _mode(target))
            os.replace(name, target)  # while it is locked: nobody takes it for a dead one
            name = ""
        _sync_folder(target.parent)
    except OSError as error:
        why = reason(error)
        raise ExportError(f"{path} could not be written", why=why, fix="no partial file was left behind") from error
    finally:
        if name:
            with contextlib.suppress(OSError):
                os.unlink(name)


@contextlib.contextmanager
def all_or_none(files: Sequence[Path]) -> Iterator[None]:
    """Files that belong together, in folders that are made for them: of those that were not there before, none is left
    where the block ends in an error. ExportError where a folder cannot be made."""
    new = [file for file in files if not file.exists()]
    folders = {one for file in new for one in (file.parent, *file.parent.parents) if not one.exists()}
    try:
        for file in new:
            bound.unfinished(str(file))
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ExportError(f"the folder {file.parent} cannot be created", why=reason(error)) from error
        yield
    except BaseException:
        for file in new:
            file.unlink(missing_ok=True)
        for folder in sorted(folders, reverse=True):
            with contextlib.suppress(OSError):  # somebody else put something there
                folder.rmdir()
        raise


def refuse_existing(path: Path, overwrite: bool) -> None:
    """ExportError where a Python call would write over a file that is there, unasked."""
    if path.exists() and not overwrite:
        raise ExportError(f"{path} already exists", fix="pass overwrite=True, or choose another path")


def write_atomically(path: Path, content: bytes) -> None:
    """Write a whole file or leave what was there (see `atomic_file`)."""
    with atomic_file(path) as file:
        file.write(content)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, else what a new file would get."""
    try:
        return target.stat().st_mode & 0o7777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
