"""The cache of proofs: a serialised backend that was seen to equal AutoTokenizer, with its facts.

A proof holds for one set of file hashes and library versions; its folder is named by their hash,
so a changed file or an updated library simply has no proof yet. Nothing is ever changed in place; which of the user's
texts were compared since (`rows`) is put next to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sftui.tokens.facts import TokenizerFacts, from_json
from sftui.tokens.loading.environments import Environment, versions
from sftui.tokens.loading.locate import Location, fingerprint, read_json, sha256
from sftui.tokens.shortcuts.quick import packed
from sftui.values import value_class

FORMAT = 7
"""Counts up when what is proven, or how it is written, changes."""


@value_class
class Proof:
    """One proof: the serialised backend on disk (None: there is none to load) and the facts; `quick` is the same
    backend as `tokens.shortcuts.quick` reads it, where there is that."""

    facts: TokenizerFacts
    backend: Path | None
    quick: Path | None = None


def cache_root() -> Path:
    """Where proofs are kept: in $SFTUI_CACHE, or the user's cache folder."""
    folder = os.environ.get("SFTUI_CACHE")
    if not folder:
        import platformdirs

        folder = platformdirs.user_cache_dir("sftui")
    return Path(folder) / "tokenizers"


def proof_key(place: Location, files: Mapping[str, str], environment: Environment | None = None) -> str:
    """The name of a proof. The tokenizer's name counts: transformers chooses some classes by it.

    The versions of the environment count that loads it (None: our own), and ours, which read what it hands over.
    """
    theirs = dict(environment.versions) if environment is not None and not environment.own else {}
    stated = [
        FORMAT,
        place.kind,
        place.argument,
        sorted(files.items()),
        sorted(versions().items()),
        sorted(theirs.items()),
        *([place.loader] if place.loader else ()),
    ]
    return hashlib.sha256(json.dumps(stated).encode()).hexdigest()[:32]


def find(place: Location, root: Path, environment: Environment | None = None) -> Proof | None:
    """The proof of a tokenizer whose files are on disk under an environment (None: ours), if there is a sound one."""
    try:
        files = fingerprint(place)
    except OSError:
        return None
    return read(root, proof_key(place, files, environment)) if files else None


def read(root: Path, key: str) -> Proof | None:
    """The proof of this key; None where it is absent or damaged (it is then made again)."""
    folder = root / key
    try:
        record = read_json(folder / "proof.json")
        facts = from_json(read_json(folder / "facts.json"))
        backend, quick = (folder / name if record[part] else None for part, name in FILES.items())
        if any(path is not None and sha256(path) != record[part] for part, path in zip(FILES, (backend, quick))):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if backend is not None and (note := _unequal(folder)) is not None:
        return Proof(replace(facts, engine="transformers", probes=0, backend="").noting(note), None)
    return Proof(replace(facts, backend=record["backend"] or ""), backend, quick)


def compared(root: Path, key: str, texts: Sequence[str]) -> int | None:
    """How many of these texts were left out when they were compared under a proof; None where they never were."""
    try:
        found = read_json(_texts_file(root, key, texts))["left_out"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, int) else None


def write_compared(root: Path, key: str, texts: Sequence[str], left_out: int) -> None:
    """Keep that these texts were compared and none differed; where it cannot be kept they are compared again."""
    _put_counts(_texts_file(root, key, texts), {"texts": len(texts), "left_out": left_out})


def write_unequal(root: Path, key: str, differ: int, texts: int) -> str:
    """Keep that the backend of a proof differs on texts of the user's; returns the note that says so."""
    _put_counts(root / key / UNEQUAL, {"differ": differ, "texts": texts})
    return _differ_note(differ, texts)


UNEQUAL = "unequal.json"
QUICK = "quick.bin"
FILES = {"backend": "tokenizer.json", "quick": QUICK}
"""The files of a proof, by the key of their hash in it."""


def _unequal(folder: Path) -> str | None:
    """The note where texts of the user's differed, were it unreadable too."""
    try:
        found = read_json(folder / UNEQUAL)
        return _differ_note(int(found["differ"]), int(found["texts"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return _differ_note(1, 1)


def _differ_note(differ: int, texts: int) -> str:
    return (
        f"the serialised backend differs from AutoTokenizer on {differ} of {texts} texts of the rows, though on no"
        " probe string, so AutoTokenizer itself does the encoding, which starts more slowly and needs more memory"
    )


def _texts_file(root: Path, key: str, texts: Sequence[str]) -> Path:
    stated = json.dumps(list(texts)).encode()
    return root / key / f"texts-{hashlib.sha256(stated).hexdigest()[:32]}.json"


def _put_counts(path: Path, found: Mapping[str, int]) -> None:
    """A file whole or not at all; nothing where there is no proof to put it next to, or no room."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(found, file)
            os.replace(name, path)
        except OSError:
            os.unlink(name)


def write(root: Path, key: str, facts: TokenizerFacts, backend: str | None, record: Mapping[str, Any]) -> None:
    """Write a proof so that it is there whole or not at all; OSError."""
    root.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".new-", dir=root))
    try:
        parts = (backend.encode("utf-8"), packed(backend)) if backend is not None else (None, None)
        hashes = dict.fromkeys(FILES)
        for part, data in zip(FILES, parts):
            if data is not None:
                _put(made / FILES[part], data)
                hashes[part] = hashlib.sha256(data).hexdigest()
        _put(made / "facts.json", json.dumps(facts.to_json()).encode())
        _put(made / "proof.json", json.dumps({**record, **hashes}, indent=1).encode())
        try:
            made.rename(root / key)
        except OSError:
            # Someone proved it meanwhile, which is as good; or what is there is damaged.
            if read(root, key) is None:
                shutil.rmtree(root / key, ignore_errors=True)
                made.rename(root / key)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _put(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
