"""The file behind a path or a URL."""

from __future__ import annotations

from sftui.sources.byte_file import ByteFile
from sftui.sources.files import is_url


def file_at(path: str, label: str, end: int | None = None) -> ByteFile:
    """The file behind a path or a URL, up to `end`; SourceError where it cannot be opened."""
    if not is_url(path):
        return ByteFile(path, label, end)
    from sftui.sources.remote import RemoteFile

    return RemoteFile(path, label, end)
