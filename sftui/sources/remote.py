"""Files of an object store or a web server, by the URL that fsspec knows them under: read by ranges, never downloaded.

What speaks the protocol (s3fs, gcsfs, …) and its credentials are the user's; nothing else than the URL is needed.
"""

from __future__ import annotations

import contextlib
import posixpath
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from sftui.errors import SourceError, without_secrets
from sftui.sources.byte_file import ByteFile, is_url
from sftui.sources.files import DOWNLOAD, FolderFiles, chosen_files, format_of, is_data, none_of
from sftui.sources.source import DataChange

BLOCK = 4 << 20
"""Bytes that are requested at a time."""
BLOCKS = 16
"""So many blocks are kept, of all files together."""
LOOK = 60.0
"""Seconds between two looks whether a file is still the same."""
PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
_REASON = 300


def file_at(path: str, label: str, end: int | None = None) -> ByteFile:
    """The file behind a path or a URL, up to `end`; SourceError where it cannot be opened."""
    return RemoteFile(path, label, end) if is_url(path) else ByteFile(path, label, end)


class RemoteFile(ByteFile):
    """A file behind a URL, whose bytes are requested when they are read. SourceError where it cannot be opened."""

    def __init__(self, path: str, label: str | None = None, end: int | None = None) -> None:
        self.mark = object()
        self.path = path
        self.label = label or label_of(path)
        self._end = end
        with _as_source_error(path):
            self._files, self._name = _filesystem(path)
            self._info = self._files.info(self._name)
            if self._info.get("size") is None:
                why = "the server does not report the length of the file"
                raise SourceError("cannot be read in parts", where=path, why=why, fix=DOWNLOAD)
            self._whole = int(self._info["size"])
            if self._whole == 0 and _of_web(path) and self._part(0, 1):
                raise _other_length(path, 0, "more")
        self._looked = time.monotonic()
        self._changed: DataChange | None = None

    def size(self) -> int:
        return self._whole if self._end is None else min(self._whole, self._end)

    def pread(self, offset: int, size: int) -> bytes:
        stop = min(offset + size, self.size())
        pieces = []
        while offset < stop:
            number, at = divmod(offset, BLOCK)
            piece = _CACHE.block(self, number)[at : at + stop - offset]
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)

    def fetch(self, number: int) -> bytes:
        """A block of the file; SourceError where it cannot be read, or the file is not as long as was said."""
        start, stop = number * BLOCK, min((number + 1) * BLOCK, self._whole)
        further = int(stop == self._whole and _of_web(self.path))  # one byte more than there should be
        with _as_source_error(self.path):
            data = self._part(start, stop + further)
        if len(data) != stop - start:
            raise _other_length(
                self.path, self._whole, f"{start + len(data):,}" if len(data) < stop - start else "more"
            )
        return data

    def _part(self, start: int, stop: int) -> bytes:
        try:
            return bytes(self._files.cat_file(self._name, start=start, end=stop))
        except Exception as error:
            if start == 0 == self._whole and getattr(error, "status", 0) == 416:
                return b""  # there is no first byte to send
            raise

    def changed(self, upto: int, *, grows: bool = False) -> DataChange | None:
        if self._changed is None and time.monotonic() - self._looked > LOOK:
            self._looked = time.monotonic()
            try:
                self._files.invalidate_cache()
                now = self._files.info(self._name)
            except Exception:
                return None  # what cannot be read now is reported when it is read
            if any(now.get(key) != self._info.get(key) for key in ("size", "ETag", "mtime", "LastModified")):
                self._changed = DataChange("it was written to again", False)
        return self._changed

    def close(self) -> None:
        _CACHE.forget(self)


class _BlockCache:
    """The blocks read last, of whatever file: a thousand of them must not hold a thousand times as much."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._blocks: OrderedDict[tuple[object, int], bytes] = OrderedDict()

    def block(self, file: RemoteFile, number: int) -> bytes:
        key = file.mark, number  # and no id(), which the next file may have where nobody closed this one
        with self._lock:
            if key in self._blocks:
                self._blocks.move_to_end(key)
                return self._blocks[key]
        data = file.fetch(number)
        with self._lock:
            self._blocks[key] = data
            while len(self._blocks) > self._most:
                self._blocks.popitem(last=False)
        return data

    def forget(self, file: RemoteFile) -> None:
        with self._lock:
            for key in [key for key in self._blocks if key[0] is file.mark]:
                del self._blocks[key]


_CACHE = _BlockCache(BLOCKS)


def find_url(url: str, split: str | None) -> FolderFiles:
    """The files that a URL means: one, those of a folder that make a split, or those that match; SourceError."""
    with _as_source_error(url):
        files, name = _filesystem(url)
        path, title = _path(name), without_secrets(url)
        if any(sign in path for sign in "*?["):
            matches = sorted(map(str, files.glob(name)))
            found = tuple(map(files.unstrip_protocol, filter(is_data, matches)))
            if not found:
                raise none_of(url, len(matches))
            return FolderFiles(found, title)
        if not (_of_web(url) and format_of(path)) and files.isdir(name):
            root = name.rstrip("/")
            inside = [str(one).removeprefix(root).lstrip("/") for one in files.find(root)]
            notes, chosen = chosen_files(filter(_is_shown_data, inside), split, url)
            return FolderFiles(tuple(files.unstrip_protocol(f"{root}/{one}") for one in chosen), title, notes)
        if split not in (None, "train"):
            raise SourceError(f"has no split {split}", where=url, why="files have no splits of their own")
        return FolderFiles((url,), title)


def labels_of(urls: tuple[str, ...]) -> tuple[str, ...]:
    """What to call each of several files: what is not the same of all."""
    urls = tuple(without_secrets(_path(url)) for url in urls)
    base = posixpath.commonprefix([posixpath.dirname(url) + "/" for url in urls])
    cut = base.rfind("/") + 1
    return tuple(url[cut:] for url in urls)


def label_of(url: str) -> str:
    """What to call one file."""
    return posixpath.basename(_path(url))


def _path(url: str) -> str:
    """A URL up to its query, in which a web server takes a signature."""
    return url.partition("?")[0] if _of_web(url) else url


def _is_shown_data(name: str) -> bool:
    return is_data(name) and not any(part.startswith((".", "__")) for part in name.split("/"))


def _filesystem(url: str) -> tuple[Any, str]:
    import fsspec

    given = {}
    if _of_web(url):
        from sftui.sources.web import client

        given["get_client"] = client
    files, name = fsspec.core.url_to_fs(url, **given)
    return files, str(name)


def _of_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _other_length(url: str, said: int, sent: str) -> SourceError:
    why = f"the server reports {said:,} bytes but sends {sent}"
    return SourceError("cannot be read", where=url, why=why, fix=DOWNLOAD)


@contextlib.contextmanager
def _as_source_error(url: str) -> Iterator[None]:
    """What goes wrong with a URL as a SourceError; libraries of stores raise whatever they like."""
    scheme = url.partition(":")[0].lower()
    try:
        yield
    except SourceError as error:
        error.where = error.where or url
        raise
    except ImportError as error:
        package = PACKAGES.get(scheme, "")
        why = f"{package} is not installed" if package else " ".join(str(error).split())[:_REASON]
        fix = f"pip install {package}" if package else "install what fsspec names"
        raise SourceError(f"{scheme}:// cannot be read", where=url, why=why, fix=fix) from error
    except FileNotFoundError as error:
        raise SourceError("does not exist", where=url) from error
    except Exception as error:
        reason = " ".join(str(error).split())[:_REASON].rstrip(".") or type(error).__name__
        denied = isinstance(error, PermissionError) or "credential" in f"{type(error).__name__} {reason}".lower()
        fix = f"set the credentials that {PACKAGES.get(scheme, 'fsspec')} reads" if denied else ""
        raise SourceError("cannot be read", where=url, why=reason, fix=fix) from error
