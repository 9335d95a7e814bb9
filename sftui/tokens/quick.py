"""The backend of a byte-pair tokenizer in a form that is read sooner than its tokenizer.json.

`tokenizers` reads a model from JSON by way of several trees in memory (tokenizers 0.23, models/mod.rs: an untagged
enum, a flattened value, the merges once more); made of a dict and a list of pairs it is the same. Whether it is the
same is decided when a proof is written: only what serialises to the very text of the proof is kept.
"""

from __future__ import annotations

import gc
import json
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from sftui.tokens.release import give_back

WORTH = 20_000
"""Tokens from which on the time is felt."""
OPTIONS = (
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
SEPARATORS = ("\n", "\0", "\x1e")


def packed(text: str) -> bytes | None:
    """A serialised backend in the quick form; None where it has none, or would not be the same backend."""
    try:
        found = json.loads(text)
        model = found["model"]
        if model["type"] != "BPE" or len(model["vocab"]) < WORTH:
            return None
        data = _pack(found, model)
        return data if data is not None and _unpack(data).to_str() == text else None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def read_quick(path: Path) -> Any | None:
    """The `tokenizers.Tokenizer` of a file that holds what `packed` gave; None where it cannot be read."""
    collecting = gc.isenabled()
    gc.disable()  # half a million objects are made, and none of them is garbage before all are
    try:
        backend = _unpack(path.read_bytes())
    except Exception:  # tokenizers raises bare Exception
        return None
    finally:
        if collecting:
            gc.enable()
    give_back()
    return backend


def _pack(found: Mapping[str, Any], model: Mapping[str, Any]) -> bytes | None:
    vocab: Mapping[str, int] = model["vocab"]
    separator = next((one for one in SEPARATORS if not any(one in token for token in vocab)), None)
    if separator is None:
        return None
    pairs: Sequence[Any] = [one.split(" ") if isinstance(one, str) else one for one in model["merges"]]
    if any(len(pair) != 2 for pair in pairs):
        return None
    number = {token: place for place, token in enumerate(vocab)}
    ids, merges = array("I", vocab.values()), array("I", [number[part] for pair in pairs for part in pair])
    tokens = separator.join(vocab).encode()
    header = {
        "order": sys.byteorder,
        "separator": separator,
        "tokens": len(tokens),
        "count": len(vocab),
        "added": found["added_tokens"],
        "rest": {
            **found,
            "added_tokens": [],
            "model": {**model, "vocab": {}, "merges": []},
        },
    }
    return b"".join((json.dumps(header).encode(), b"\n", tokens, ids.tobytes(), merges.tobytes()))


def _unpack(data: bytes) -> Any:
    from tokenizers import Tokenizer
    from tokenizers.models import BPE

    begin = data.index(b"\n") + 1
    header = json.loads(data[:begin])
    if header["order"] != sys.byteorder:
        raise ValueError("written by another machine")
    numbers = begin + header["tokens"]
    tokens = data[begin:numbers].decode().split(header["separator"])
    whole = array("I", data[numbers:])
    ids, merged = whole[: header["count"]], map(tokens.__getitem__, whole[header["count"] :])
    rest = header["rest"]
    backend = Tokenizer.from_str(json.dumps(rest))
    options = {name: rest["model"][name] for name in OPTIONS if rest["model"].get(name) is not None}
    backend.model = BPE(vocab=dict(zip(tokens, ids, strict=True)), merges=list(zip(merged, merged)), **options)
    for special, added in _added(header["added"]):
        (backend.add_special_tokens if special else backend.add_tokens)(added)
    return backend


def _added(tokens: Sequence[Mapping[str, Any]]) -> Iterator[tuple[bool, list[Any]]]:
    """Added tokens in order, those of one kind together, since each addition takes all before it through."""
    from tokenizers import AddedToken

    for special, some in groupby(tokens, itemgetter("special")):
        yield special, [AddedToken(one["content"], **{flag: one[flag] for flag in FLAGS}) for one in some]
