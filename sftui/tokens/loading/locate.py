"""What a tokenizer name means, and the files behind it, without importing transformers."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError
from sftui.side_files import parse_json, read_side_bytes
from sftui.tokens import builtin
from sftui.values import value_class

WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".onnx", ".h5", ".msgpack", ".npz", ".gguf", ".ot", ".tflite")
LARGEST_FILE = 128 << 20
"""Larger files of a folder are no tokenizer files; their size and time still count in the fingerprint."""
GGUF_HEAD = 64 << 20
"""The metadata, with the vocabulary, stands at the head of a .gguf; the weights behind it do not matter."""
_COMMIT = re.compile(r"[0-9a-f]{40}\Z")
_REPO = re.compile(r"[\w.\-]+(/[\w.\-]+)?\Z")


@value_class
class Location:
    """Where a tokenizer lives.

    kind: `folder`, `file` (one tokenizer.json), `gguf`, `hub` or `builtin`. `argument` is what
    from_pretrained gets. `path` is the folder or file on disk; for the Hub the cached snapshot of
    the revision, or None where nothing is cached. `commit` is that snapshot's commit. `loader` is the class of
    transformers that loads it, empty where AutoTokenizer chooses.
    """

    name: str
    kind: str
    argument: str
    path: Path | None = None
    revision: str | None = None
    commit: str = ""
    loader: str = ""

    @property
    def folder(self) -> Path | None:
        """The folder of the tokenizer's files; None where only one file counts."""
        return self.path if self.kind in ("folder", "hub", "builtin") else None

    @property
    def json(self) -> Path | None:
        """The tokenizer.json, if there is one."""
        if self.kind == "file":
            return self.path
        found = self.folder / "tokenizer.json" if self.folder is not None else None
        return found if found is not None and found.is_file() else None


def locate(name: str, revision: str | None = None, loader: str = "") -> Location:
    """What `name` means; TokenizerError where it cannot mean anything.

    A folder on disk wins over a Hub name, as in transformers. A bundled tokenizer under a class of its own is the
    folder that it lies in.
    """
    found = _located(name, revision)
    if loader and found.kind == "builtin":
        found = Location(name, "folder", found.argument, found.path)
    if loader and found.kind not in ("folder", "hub"):
        raise TokenizerError(
            f"{loader} cannot load the tokenizer", where=name, why="it is neither a folder nor a Hub repository"
        )
    return replace(found, loader=loader)


def _located(name: str, revision: str | None) -> Location:
    if not name.strip():
        raise TokenizerError(
            "no tokenizer was given", fix="give a Hub name, a folder, a tokenizer.json or builtin:NAME"
        )
    if name.startswith("FILL_IN_"):  # as exports write what they do not know
        raise TokenizerError(f"{name} names no model yet", fix="fill in its name, or give a tokenizer with -t")
    if name.startswith(builtin.PREFIX):
        return _builtin(name)
    path = Path(os.path.expanduser(name))
    try:
        if path.is_file():
            return _file(name, path)
        if path.is_dir():
            return Location(name, "folder", str(path), path)
    except OSError as error:
        raise TokenizerError("the tokenizer cannot be read", where=name, why=error.strerror or str(error)) from error
    if name.startswith(".") or name.endswith((".json", ".gguf", ".model")) or not _REPO.match(name):
        raise TokenizerError(
            "there is no such tokenizer",
            where=name,
            why="no folder and no file has this name",
            fix="check the path, or give a Hub name such as Qwen/Qwen3-0.6B",
        )
    snapshot = cached_snapshot(name, revision)
    return Location(name, "hub", name, snapshot, revision, snapshot.name if snapshot else "")


def cached_snapshot(repo: str, revision: str | None) -> Path | None:
    """The folder of a Hub repo at a revision in the local Hub cache, or None."""
    from huggingface_hub import constants

    home = Path(constants.HF_HUB_CACHE) / ("models--" + repo.replace("/", "--"))
    wanted = revision or "main"
    commit = wanted if _COMMIT.match(wanted) else ""
    if not commit:
        try:
            commit = (home / "refs" / wanted).read_text().strip()
        except (OSError, ValueError):
            return None
    snapshot = home / "snapshots" / commit
    return snapshot if commit and snapshot.is_dir() else None


def fingerprint(place: Location) -> dict[str, str]:
    """sha256 of every file that may decide how the tokenizer loads, by its name in the folder.

    All files of a folder but weights count (config.json too: it decides the class). Empty where nothing is on disk yet.
    """
    if place.path is None:
        return {}
    if place.kind == "file":
        return {"tokenizer.json": sha256(place.path)}
    if place.kind == "gguf":
        stat = place.path.stat()
        return {place.path.name: f"{stat.st_size}:{stat.st_mtime_ns}:{sha256(place.path, GGUF_HEAD)}"}
    files = [*place.path.glob("*"), *place.path.glob("additional_chat_templates/*.jinja")]
    found = {}
    for path in sorted(files):
        if path.is_file() and path.suffix not in WEIGHTS:
            name = path.relative_to(place.path).as_posix()
            stat = path.stat()
            large = stat.st_size > LARGEST_FILE
            found[name] = f"{stat.st_size}:{stat.st_mtime_ns}" if large else sha256(path)
    return found


def read_json(path: Path) -> Any:
    """A JSON file; OSError or ValueError (also for bytes that are no UTF-8)."""
    return parse_json(read_side_bytes(path, LARGEST_FILE).decode("utf-8"))


def object_in(folder: Path | None, name: str) -> dict[str, Any]:
    """The JSON object in a file of a folder, empty where there is none; OSError, ValueError (also for other JSON)."""
    if folder is None or not (folder / name).is_file():
        return {}
    found = read_json(folder / name)
    if not isinstance(found, dict):
        raise ValueError(f"{name} is not a JSON object")
    return found


def _builtin(name: str) -> Location:
    short = name.removeprefix(builtin.PREFIX)
    if short not in builtin.NAMES:
        raise TokenizerError(
            "there is no such built-in tokenizer",
            where=name,
            fix="use " + ", ".join(builtin.PREFIX + known for known in builtin.NAMES),
        )
    folder = builtin.folder(short)
    return Location(name, "builtin", str(folder), folder)


def _file(name: str, path: Path) -> Location:
    if path.suffix == ".gguf":
        return Location(name, "gguf", str(path), path)
    if path.suffix == ".json" and path.name != "tekken.json":
        if path.name in ("tokenizer_config.json", "special_tokens_map.json", "config.json"):
            raise TokenizerError(
                "this file is not a tokenizer",
                where=name,
                why=f"{path.name} only describes one",
                fix=f"give its folder {path.parent}",
            )
        return Location(name, "file", str(path), path)
    raise TokenizerError(
        "this file cannot be loaded as a tokenizer",
        where=name,
        why="only a tokenizer.json or a .gguf works on its own",
        fix=f"give its folder {path.parent}",
    )


def sha256(path: Path, limit: int | None = None) -> str:
    """The hash of a file, or of so many bytes at its head, read once as long as nobody writes to it; OSError."""
    now = path.stat()
    return _sha256(path, limit, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns)


@lru_cache(maxsize=64)
def _sha256(path: Path, limit: int | None, *_: int) -> str:
    digest = hashlib.sha256()
    left = limit
    with path.open("rb") as file:
        while chunk := file.read(1 << 20 if left is None else min(1 << 20, left)):
            digest.update(chunk)
            if left is not None:
                left -= len(chunk)
    return digest.hexdigest()
