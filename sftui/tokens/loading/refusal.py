"""Why a tokenizer did not load, in one sentence for each cause."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sftui.errors import TokenizerError
from sftui.tokens.loading import autotokenizer
from sftui.tokens.loading.locate import Location, read_json

READ_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "tekken.json",
    "vocab.json",
)
"""The JSON files of a folder that loading a tokenizer reads; another broken one is not to blame."""
MODEL_FILES = ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tiktoken.model")
AGAIN = "download the file again"
LOGIN = "log in with `hf auth login` or set HF_TOKEN"


Fault = Mapping[str, Any]
"""One exception as `autotokenizer.faults` lists it."""
Reason = tuple[str, str] | None
"""Why, and what to do about it."""


def explain(error: BaseException, place: Location) -> TokenizerError:
    """The TokenizerError for whatever transformers, tokenizers or huggingface_hub raised in this process."""
    if isinstance(error, TokenizerError):
        return error
    return explain_faults(autotokenizer.faults(error), place, autotokenizer.missing_modules())


def explain_faults(chain: Sequence[Fault], place: Location, missing: Sequence[str]) -> TokenizerError:
    """The same for what another process told; `missing` are the packages of vocabulary readers not installed there.

    Told from the classes of the exception and of all that led to it, by name; only then from messages.
    """
    reason = (
        _from_hub(chain, place)
        or _from_pointer(place)
        or _from_code_request(chain)
        or _from_missing_library(chain, missing)
        or _from_files(chain, place)
        or _from_system(chain)
        or _from_words(chain[0])
    )
    return refused(place, *reason)


def _from_hub(chain: Sequence[Fault], place: Location) -> Reason:
    status = next((code for fault in chain if (code := fault["status"])), None)
    page = f"https://huggingface.co/{place.argument}"
    if _any(chain, "GatedRepoError"):
        if status == 403:
            return "the repository is gated and your account has no access to it yet", f"request access at {page}"
        return "the repository is gated", f"request access at {page}, then {LOGIN}"
    if _any(chain, "RevisionNotFoundError"):
        return f"the repository has no revision {place.revision or 'main'!r}", f"see {page}/refs"
    if _any(chain, "RepositoryNotFoundError"):
        return "the Hub has no such repository, or it is private", f"check the name; for a private one {LOGIN}"
    network = "check the network, or give a folder"
    if _any(chain, "OfflineModeIsEnabled", "LocalEntryNotFoundError"):
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            why = "HF_HUB_OFFLINE is set and its files are not in the local Hub cache"
            return why, f"unset it, or run `hf download {place.argument}` on a machine with network access"
        return "the Hub cannot be reached and its files are not in the local Hub cache", network
    if status in (401, 403):
        return f"the Hub refused access ({status})", LOGIN
    if _any(chain, "HfHubHTTPError"):
        return f"the Hub answered with an error ({status or _first_line(chain[0])})", "try again later"
    if _any(chain, "NetworkError", "TimeoutException", "ConnectionError", "ProxyError") and place.kind == "hub":
        return "the Hub cannot be reached", network
    return None


def _from_pointer(place: Location) -> Reason:
    """A clone made without Git LFS holds three lines of text in place of each large file."""
    for path in _files(place, READ_FILES + MODEL_FILES):
        try:
            pointer = _head(path).startswith(b"version https://git-lfs")
        except OSError:
            continue
        if pointer:
            return f"{path.name} is a Git LFS pointer, not the file itself", "run `git lfs pull` in that folder"
    return None


def _from_code_request(chain: Sequence[Fault]) -> Reason:
    if _says(chain, "trust_remote_code", "custom code"):
        why = "it needs Python code from its repository (auto_map), which sftui never runs"
        return why, "give a copy that transformers can load by itself, such as one saved as a fast tokenizer"
    return None


def _from_missing_library(chain: Sequence[Fault], absent: Sequence[str]) -> Reason:
    """transformers asks for tiktoken where sentencepiece is what is missing, or fails to parse the file as tiktoken."""
    if not _says(chain, "`tiktoken` is required", "SentencePiece library", "protobuf library", "Error parsing line"):
        return None
    missing = [package for package in absent if package != "tiktoken"] or list(absent)
    if missing:
        why = "its vocabulary is a sentencepiece or tiktoken file, and the package that reads it is not installed"
        return why, f"pip install {' '.join(missing)}"
    return "its vocabulary file is neither a sentencepiece nor a tiktoken model", AGAIN


def _from_files(chain: Sequence[Fault], place: Location) -> Reason:
    if _says(chain, "PyMerges", "MergeType"):
        return "the merges in tokenizer.json are broken", f"{AGAIN}, or re-save it with a newer transformers"
    for path in _files(place, READ_FILES) if place.kind != "gguf" else ():
        if path.is_file() and (broken := _broken(path)) is not None:
            return broken, AGAIN
    if _says(chain, "Couldn't instantiate the backend tokenizer"):
        why = "it has no vocabulary file (tokenizer.json, tokenizer.model, tekken.json or vocab files)"
        return why, "check that the folder is complete"
    if _any(chain, "EntryNotFoundError") or _says(chain, "does not appear to have a file named"):
        return _first_line(chain[0]), "check that the repository contains a tokenizer"
    return None


def _from_system(chain: Sequence[Fault]) -> Reason:
    for fault in chain:
        if fault["errno"] is not None and fault["strerror"]:
            file = f" {fault['filename']}" if fault["filename"] else ""
            return f"{fault['strerror']}{file}", ""
    return None


def _from_words(fault: Fault) -> tuple[str, str]:
    names = fault["names"]
    return ("" if {"ValueError", "OSError"} & set(names) else f"{names[0]}: ") + _first_line(fault), ""


def _files(place: Location, names: Sequence[str]) -> list[Path]:
    """The files of these names in the folder of a place, or the one that it is."""
    alone = [place.path] if place.path is not None else []
    return [place.folder / name for name in names] if place.folder is not None else alone


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(40)


def _broken(path: Path) -> str | None:
    """Why a JSON file cannot be read, and where in it; None where it can."""
    try:
        found = read_json(path)
    except UnicodeDecodeError as error:
        return f"{path.name} is not UTF-8 (byte {error.start})"
    except ValueError as error:
        line = getattr(error, "lineno", None)
        return f"{path.name} is not valid JSON" + (
            f" (line {line}, column {getattr(error, 'colno', 0)})" if line else ""
        )
    except OSError as error:
        return f"{path.name} cannot be read ({error.strerror})"
    return None if isinstance(found, dict) else f"{path.name} is not a JSON object"


def refused(place: Location, why: str, fix: str = "") -> TokenizerError:
    """The error for a tokenizer that cannot be loaded."""
    return TokenizerError("the tokenizer cannot be loaded", where=place.name, why=why, fix=fix)


def took_too_long(name: str, doing: str, limit: float, fix: str) -> TokenizerError:
    """The error for what was given up after so many seconds."""
    why = f"{doing} took longer than {limit:.0f} seconds and was stopped"
    return TokenizerError("the tokenizer cannot be used", where=name, why=why, fix=fix)


def _any(chain: Sequence[Fault], *names: str) -> bool:
    return any(kind in names for fault in chain for kind in fault["names"])


def _says(chain: Sequence[Fault], *texts: str) -> bool:
    return any(text in fault["text"] for fault in chain for text in texts)


def _first_line(fault: Fault) -> str:
    lines = str(fault["text"]).strip().splitlines()
    return lines[0][:300] if lines else str(fault["names"][0])
