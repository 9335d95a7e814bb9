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
from dataclasses import dataclass
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
        again = _taken_apart(data).whole() if data is not None else None
        return data if again is not None and again.to_str() == text else None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The quick form, taken apart: `ids` are those of `tokens`, `merges` the places of two tokens each, `added` and
    `rest` the added tokens and all else as tokenizer.json has it."""

    tokens: list[str]
    ids: array[int]
    merges: array[int]
    added: Sequence[Mapping[str, Any]]
    rest: Mapping[str, Any]

    def backend(self, vocab: dict[str, int], merges: Sequence[tuple[str, str]]) -> Any:
        """The `tokenizers.Tokenizer` with these tokens and merges for its own."""
        from tokenizers import Tokenizer
        from tokenizers.models import BPE

        made = Tokenizer.from_str(json.dumps(self.rest))
        options = {name: self.rest["model"][name] for name in OPTIONS if self.rest["model"].get(name) is not None}
        made.model = BPE(vocab=vocab, merges=merges, **options)
        for special, some in _added(self.added):
            (made.add_special_tokens if special else made.add_tokens)(some)
        return made

    def whole(self) -> Any | None:
        """The `tokenizers.Tokenizer` that was packed; None where it cannot be made."""
        collecting = gc.isenabled()
        gc.disable()  # half a million objects are made, and none of them is garbage before all are
        try:
            merged = map(self.tokens.__getitem__, self.merges)
            return self.backend(dict(zip(self.tokens, self.ids, strict=True)), list(zip(merged, merged)))
        except Exception:  # tokenizers raises bare Exception
            return None
        finally:
            if collecting:
                gc.enable()


def read_form(path: Path) -> Form | None:
    """What a file holds that `packed` gave; None where it cannot be read."""
    try:
        return _taken_apart(path.read_bytes())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_quick(path: Path) -> Any | None:
    """The `tokenizers.Tokenizer` of such a file; None where it cannot be read."""
    form = read_form(path)
    backend = form.whole() if form is not None else None
    del form
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
        "rest": {**found, "added_tokens": [], "model": {**model, "vocab": {}, "merges": []}},
    }
    return b"".join((json.dumps(header).encode(), b"\n", tokens, ids.tobytes(), merges.tobytes()))


def _taken_apart(data: bytes) -> Form:
    begin = data.index(b"\n") + 1
    header = json.loads(data[:begin])
    if header["order"] != sys.byteorder:
        raise ValueError("written by another machine")
    numbers = begin + header["tokens"]
    whole = array("I", data[numbers:])
    return Form(
        data[begin:numbers].decode().split(header["separator"]),
        whole[: header["count"]],
        whole[header["count"] :],
        header["added"],
        header["rest"],
    )


def _added(tokens: Sequence[Mapping[str, Any]]) -> Iterator[tuple[bool, list[Any]]]:
    """Added tokens in order, those of one kind together, since each addition takes all before it through."""
    from tokenizers import AddedToken

    for special, some in groupby(tokens, itemgetter("special")):
        yield special, [AddedToken(one["content"], **{flag: one[flag] for flag in FLAGS}) for one in some]
