"""What the user named → the source that reads it, by content where a name may mislead."""

from __future__ import annotations

import gzip
import os
import re
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from sftui.errors import SourceError, without_secrets
from sftui.sources.byte_file import ByteFile, SpooledFile, is_url
from sftui.sources.files import (
    FolderFiles,
    choose_split,
    declares_data,
    find_folder,
    find_glob,
    format_of,
    is_glob,
    is_named,
    missing,
    one_format,
    urls_of_card,
)
from sftui.sources.formats import formats
from sftui.sources.json_layout import BOM, open_json
from sftui.sources.records import JSON_SPACE
from sftui.sources.remote import file_at, find_url, label_of, labels_of
from sftui.sources.shards import ShardedSource
from sftui.sources.slices import SlicedSource, parts_of
from sftui.sources.source import NoRows, Source, SourceSpec

LOOK = 1 << 16
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
STAND_INS = (
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself", "run `git lfs pull` in that folder"),
    (b"/annex/objects/", "is a git-annex pointer, not the file itself", "run `git annex get` on it"),
    (b"<!doctype html", "is a web page, not data", "download the file itself (on the Hub: /resolve/, not /blob/)"),
    (b"<html", "is a web page, not data", "download the file itself (on the Hub: /resolve/, not /blob/)"),
)
"""What stands where the data should: how it begins, what it is, and what gets the data."""
HOLDS_JSON = re.compile(rb"[\s\xef\xbb\xbf]*(?:\[[\s\[]*)?\{\s*[\"}]")
YES = ("1", "ON", "YES", "TRUE")
"""The flags by which huggingface_hub and datasets stay offline, and what switches them on."""


def open_source(spec: SourceSpec) -> Source:
    """Open what `spec` names, reading no more than its beginning, but for a part of a split that is given in per
    cent or from its end. SourceError if it cannot be."""
    if not spec.paths:
        raise SourceError("no data was given", fix="give a file, a folder, a glob, a Hub dataset or -")
    parts = parts_of(spec.split)
    if not parts or _read_by_datasets(spec):
        return _open(spec)
    if len(spec.paths) == 1 and _saved(spec.paths[0]):
        raise SourceError(
            f"has no split {spec.split}",
            where=spec.paths[0],
            why="sftui loads whole splits of a save_to_disk folder, not parts",
            fix="name a whole split",
        )
    opened: dict[str, Source] = {}
    try:
        for part in parts:
            if part.name not in opened:
                opened[part.name] = _open(replace(spec, split=part.name))
        made = SlicedSource([(opened[part.name], part) for part in parts], spec.split or "")
        if next(made.rows(), None) is None:
            raise NoRows(f"has no rows in {spec.split}", where=spec.paths[0])
        return made
    except SourceError:
        for source in opened.values():
            source.close()
        raise


def _read_by_datasets(spec: SourceSpec) -> bool:
    """Whether `datasets` itself opens it, and takes the part of the split."""
    path = spec.paths[0]
    if len(spec.paths) > 1:
        return False
    return not _saved(path) and declares_data(Path(path)) if os.path.isdir(path) else not _is_here(path)


def _is_here(path: str) -> bool:
    """Whether a path is no name of a Hub dataset, by what is there and by its form."""
    return path == "-" or is_url(path) or os.path.exists(path) or is_glob(path) or format_of(path) is not None


def _saved(path: str) -> bool:
    from sftui.sources.formats.saved import saved_splits

    return os.path.isdir(path) and saved_splits(Path(path)) is not None


def _open(spec: SourceSpec) -> Source:
    if len(spec.paths) == 1:
        return _open_one(spec, spec.paths[0])
    files: list[str] = []
    notes: list[str] = []
    for path in spec.paths:
        found = _find(path, spec)
        files += found.files
        notes += found.notes
    _only_train(spec, "several files")
    return _open_files(spec, FolderFiles(tuple(files), f"{len(files):,} files", tuple(notes)))


def requested_by(urls: Sequence[str], where: str) -> tuple[str, ...]:
    """A note on what a config or a dataset card requests from elsewhere; SourceError where HF's flags say offline."""
    far = [url for url in urls if not url.startswith(("file:", "memory:"))]
    if far and _offline():
        why = f"that URL comes from {where}, not from you, and HF's environment variables request offline mode"
        raise SourceError("is not requested", where=far[0], why=why, fix="pass the URL yourself, or unset the variable")
    return (without_secrets(f"sftui requests rows from {', '.join(far)}, as {where} asks"),) if far else ()


def _offline() -> bool:
    return any(os.environ.get(flag, "").upper() in YES for flag in OFFLINE)


def hub_name(paths: Sequence[str]) -> str | None:
    """The Hub dataset that these paths would have looked up; None for what is here, or where HF's flags say offline."""
    far = len(paths) == 1 and not _offline() and not _is_here(paths[0]) and _may_be_hub_name(paths[0])
    return paths[0] if far else None


def _open_one(spec: SourceSpec, path: str) -> Source:
    if path == "-":
        return _open_stream(spec, sys.stdin.buffer, "stdin")
    if is_url(path):
        found = find_url(path, spec.split)
        return _open_file(spec, path, label_of(path)) if found.files == (path,) else _open_files(spec, found)
    if os.path.isdir(path):
        return _open_folder(spec, Path(path))
    if os.path.exists(path):
        _only_train(spec, path)
        if not stat.S_ISREG(os.stat(path).st_mode):
            return _open_stream(spec, _opened(path), path)
        return _open_file(spec, path, os.path.basename(path))
    if is_glob(path):
        _only_train(spec, path)
        return _open_files(spec, find_glob(path))
    if is_named(path) or not _may_be_hub_name(path):
        raise missing(path)
    from sftui.sources.hub import open_hub

    try:
        return open_hub(path, spec)
    except SourceError as error:
        if near := missing(path).fix:  # more likely a slip in a local name
            raise SourceError(error.what, where=error.where, why=error.why, fix=near) from error
        raise


def _opened(path: str) -> IO[bytes]:
    """A pipe or a device; SourceError where the system refuses, as /dev/tty without a terminal."""
    try:
        return open(path, "rb")
    except OSError as error:
        raise SourceError("cannot be read", where=path, why=(error.strerror or str(error)).lower()) from error


def _with_rows(source: Source) -> Source:
    if not source.count().rows:
        source.close()
        raise NoRows("has no rows", where=source.title)
    return source


def _may_be_hub_name(path: str) -> bool:
    parts = path.split("/")
    return len(parts) <= 2 and all(part and not part.startswith((".", "~")) for part in parts)


def _find(path: str, spec: SourceSpec) -> FolderFiles:
    if is_url(path):
        return find_url(path, spec.split)
    if os.path.isdir(path):
        return find_folder(Path(path), spec.split)
    if is_glob(path):
        return find_glob(path)
    if not os.path.exists(path):
        raise missing(path)
    return FolderFiles((path,), path)


def _only_train(spec: SourceSpec, where: str) -> None:
    if spec.split not in {None, "train"}:
        alone = os.path.isfile(where) and format_of(where) == "json"
        fix = f"--rows-in {spec.split} reads the list with that name, if the file is one JSON object" if alone else ""
        raise SourceError(f"has no split {spec.split}", where=where, why="files have no splits of their own", fix=fix)


def _open_folder(spec: SourceSpec, folder: Path) -> Source:
    from sftui.sources.formats.saved import SHARDS_APART, SPLITS, SPLITS_APART, SavedSource, saved_splits

    splits = saved_splits(folder)
    title = folder.resolve().name
    if splits:
        split = choose_split(splits, spec.split, str(folder))
        layout = ""
        if not (folder / SPLITS).is_file():
            single = any(len(list((folder / one).glob("*.arrow"))) == 1 for one in splits)
            layout = SPLITS_APART if single else SHARDS_APART
        name, limit = f"{title}/{split}", spec.row_limit
        return _with_rows(SavedSource(folder / split, name, row_limit=limit, split=split, layout=layout))
    if splits is not None:
        _only_train(spec, str(folder))
        return _with_rows(SavedSource(folder, title, row_limit=spec.row_limit))
    if declares_data(folder):
        # the card of a cloned Hub repository says which files make which subset and split
        from sftui.sources.hub import open_hub

        said = requested_by(urls_of_card(folder), str(folder / "README.md"))
        return open_hub(str(folder), spec, said)
    return _open_files(spec, find_folder(folder, spec.split))


def _open_files(spec: SourceSpec, found: FolderFiles) -> Source:
    one_format(found.files)
    openers: list[Callable[[], Source]] = [
        partial(_open_file, spec, path, label) for path, label in zip(found.files, _labels(found.files))
    ]
    return ShardedSource(openers, found.title, notes=found.notes, paths=found.files)


def _labels(files: tuple[str, ...]) -> Sequence[str]:
    """What to call each of several files."""
    if any(map(is_url, files)):
        return labels_of(files)
    base = os.path.commonpath([os.path.dirname(path) for path in files])
    return [os.path.relpath(path, base or ".") for path in files]


def _open_stream(spec: SourceSpec, stream: IO[bytes], label: str) -> Source:
    if stream.isatty():
        raise SourceError("nothing is piped in", where=label, fix="pipe JSON Lines into it, or give a file")
    return _open_bytes(spec, SpooledFile(stream, label, selectable=True), None)


def _open_file(spec: SourceSpec, path: str, label: str) -> Source:
    for form in formats() if not is_url(path) else ():
        if form.open_path is not None and (source := form.open_path(path, label, spec)) is not None:
            return _with_rows(source)
    kind = format_of(label) or ("text" if label.lower().endswith(".txt") else None)
    return _open_bytes(spec, file_at(path, label), kind)


def _open_bytes(spec: SourceSpec, file: ByteFile, kind: str | None) -> Source:
    try:
        file = _unpacked(file)
        head = _look(file)
        for form in formats():
            if form.open is not None and form.fits is not None and form.fits(head, file.label.lower()):
                return _with_rows(form.open(file, head, spec))
        if not head.strip(JSON_SPACE + BOM) and len(head) < LOOK:
            if file.stopped is not None:
                raise SourceError(
                    "none of its rows can be read", where=file.label, why=file.stopped.why, fix=file.stopped.fix
                )
            raise NoRows("is empty", where=file.label)
        _refuse_utf16(head, file.label)
        for begins, what, fix in STAND_INS:
            if head.lstrip()[: len(begins)].lower() == begins:
                raise SourceError(what, where=file.label, fix=fix)
        if kind == "text" and not HOLDS_JSON.match(head):
            from sftui.sources.formats.csv_file import TextSource

            return TextSource(file, head, spec)
        for form in formats():
            if form.kind == kind and form.open is not None:
                return form.open(file, head, spec)
        return open_json(file, head, row_limit=spec.row_limit, field=spec.field, sure=kind == "json")
    except SourceError:
        file.close()
        raise


def _refuse_utf16(head: bytes, label: str) -> None:
    zeros = [byte == 0 for byte in head[:4]]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or zeros in ([True, False] * 2, [False, True] * 2):
        fix = "convert it with iconv -f UTF-16 -t UTF-8"
        raise SourceError("is UTF-16 text", where=label, why="JSON and CSV data must be UTF-8", fix=fix)


def _look(file: ByteFile) -> bytes:
    head = file.pread(0, LOOK)
    # a pipe gives what it has: wait for one whole line, not for 64 KiB
    while len(head) < LOOK and not file.complete and b"\n" not in head:
        file.fill()
        head = file.pread(0, LOOK)
    return head


def _unpacked(file: ByteFile) -> ByteFile:
    head = _look(file)
    if not head.startswith((GZIP, ZSTD)):
        return file
    size = file.size() if file.complete else 0
    path = None if isinstance(file, SpooledFile) or is_url(file.path) else file.path
    packed = file.open(owning=True)
    stream: Any
    if head.startswith(GZIP):
        stream = gzip.GzipFile(fileobj=packed)
    else:
        import pyarrow as pa

        stream = pa.CompressedInputStream(pa.PythonFile(packed, mode="r"), "zstd")
    return SpooledFile(
        stream, file.label, packed_size=size, test="gzip -t" if head.startswith(GZIP) else "zstd -t", origin=path
    )
