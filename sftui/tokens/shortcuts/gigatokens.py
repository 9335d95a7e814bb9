"""The ids of many texts by gigatoken, over a `tokenizers` backend of which it reads all that makes ids.

gigatoken (0.10, load_tokenizer/hf.rs) refuses models and normalizers that it does not know, but passes over other parts
in silence: added tokens of whole words, the affixes of pieces, what stands in a pre-tokenizer beside its regular
expressions. Such a tokenizer is left to `tokenizers`, and what is put around a text is put there here. It knows letters
(Unicode 17) and marks (NFC) that `tokenizers` 0.23 does not: texts that may hold one are left to it, too. It keeps each
word that it has encoded (marcelroed/gigatoken#36), so one that has grown by `KEPT` bytes is to be made anew.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sftui.bound import resident
from sftui.runs import Flat, flat
from sftui.tokens.loaded import FastEngine, is_panic
from sftui.tokens.release import give_back
from sftui.tokens.shortcuts.beginnings import AROUND, put_around
from sftui.tokens.surface import steps_around

LOOK = 4_000_000
"""Characters after which the size of the process is looked up."""
KEPT = 20 << 20
"""Bytes by which it may grow from the first look on before gigatoken is made anew: until then it grows by 35 to 60 MB
for other reasons (what writes Parquet, rows on their way), which no new one frees."""
_LEADS = (b"\xf0", b"\xe0", b"\xe1", b"\xea\x9f", b"\xea\xa0\xac", b"\xdf\xbd")
_FIRST = bytes({lead[0] for lead in _LEADS})
_NEW = re.compile(
    rb"\xf0[\x90-\x9e\xb2\xb3]"  # scripts beyond the first plane, ideographs
    rb"|\xe0(?:\xa2[\x8f\x97-\x9f]|\xa3[\x8a-\x93]|\xa7\xbe|\xb0\xbc|\xb1\x9c|\xb3\x9c|\xb4[\xbb\xbc]|\xba\xba|\xbb\x8e)"
    rb"|\xe1(?:\x9c\x95|\xaa\xbf|\xab|\xb7[\xb6-\xba])|\xea(?:\x9f[\x8e-\xb1]|\xa0\xac)|\xdf\xbd"
)
"""In UTF-8, letters that one of both may not know, and marks that only one puts in order; `_LEADS` are found sooner,
their `_FIRST` bytes in one look."""


class Gigatoken:
    """gigatoken over one backend; make it with `gigatoken_of`."""

    def __init__(self, engine: Any, plain: FastEngine, front: Flat, back: Flat) -> None:
        self._encode, self._plain, self._front, self._back = engine.encode, plain, front, back
        self._since, self._size = 0, 0

    def ids(self, texts: Sequence[str], special: bool) -> list[Flat]:
        """The ids of texts, up to the first that it does not encode; `special`: with what is put around a text."""
        encode, found = self._encode, list[Flat]()
        around = special and bool(self._front or self._back)
        try:
            # One by one: a batch comes as an awkward array, which takes half a second to import and more to take apart.
            for text in texts:
                data = text.encode()
                known = text.isascii() or len(data.translate(None, _FIRST)) == len(data)
                if not known and any([lead in data for lead in _LEADS]) and _NEW.search(data):
                    found += self._plain.ids_batch([text], special)
                else:
                    ids = array("i", encode(data).tobytes())
                    found.append(self._front + ids + self._back if around else ids)
        except BaseException as error:  # what it raises is its own
            if not isinstance(error, Exception) and not is_panic(error):
                raise
        self._since += sum(map(len, texts))
        return found

    def grown(self) -> bool:
        """Whether the process holds so much more for its words that it is worth making anew."""
        if self._since < LOOK:
            return False
        self._since, held = 0, resident(os.getpid()) or 0
        self._size = self._size or held
        return held > self._size + KEPT


def gigatoken_of(plain: FastEngine) -> Gigatoken | None:
    """gigatoken over the backend of an engine; None where that has a part which gigatoken does not read. ImportError
    where it is not installed; what it raises for what it refuses is its own."""
    backend = plain.backend
    around = put_around(backend) if _read_whole(backend) else None
    if around is None:
        return None
    from gigatoken.gigatoken_rs import load_hf_json

    written = backend.to_str()
    give_back()
    if backend.encode_special_tokens:  # a setting, which the file does not hold: special tokens are text
        begin = written.index('"added_tokens":') + len('"added_tokens":')
        added, end = json.JSONDecoder().raw_decode(written, begin)
        written = f"{written[:begin]}{json.dumps([one for one in added if not one['special']])}{written[end:]}"
    engine = load_hf_json(written)
    del written
    give_back()
    return Gigatoken(engine, plain, *map(flat, around))


def _read_whole(backend: Any) -> bool:
    """Whether gigatoken reads each part of a tokenizer that has a say in ids."""
    model, pieces = backend.model, backend.get_added_tokens_decoder().values()
    steps = steps_around(backend)
    if type(model).__name__ != "BPE" or model.continuing_subword_prefix or model.end_of_word_suffix or steps is None:
        return False
    normal, before, after = steps
    if any(step.get("type") not in AROUND for step in after) or any(piece.single_word for piece in pieces):
        return False
    if backend.encode_special_tokens and _tangled(*_parted(pieces, "special")):
        return False
    if model.byte_fallback:
        return not model.ignore_merges and all(_has_byte(model, byte) for byte in range(256))
    late, soon = _parted(pieces, "normalized")
    return not (normal and late) and not _tangled(late, soon) and _cuts(before)


def _parted(pieces: Collection[Any], flag: str) -> tuple[list[str], list[str]]:
    """The texts of the added tokens that have a flag, and of the others."""
    wanted = [piece.content for piece in pieces if getattr(piece, flag)]
    return wanted, [piece.content for piece in pieces if not getattr(piece, flag)]


def _tangled(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether a text of either can overlap one of the other, so that it matters which are looked for first: gigatoken
    looks for all at once over bytes, and not at all for those that are to be text."""
    return _reach(some, others) or _reach(others, some)


def _reach(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether one of some texts stands in another, or ends as that begins."""
    begun = {other[:size] for other in others for size in range(1, len(other))}
    every = "\0".join(others)
    return any(one in every or any(one[at:] in begun for at in range(len(one))) for one in some)


def _has_byte(model: Any, byte: int) -> bool:
    return model.token_to_id(f"<0x{byte:02X}>") is not None or (byte < 128 and model.token_to_id(chr(byte)) is not None)


def _cuts(steps: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these steps of a pre-tokenizer over bytes are regular expressions, and bytes in the end."""
    *splits, last = steps or [{}]
    if last.get("type") != "ByteLevel" or last.get("use_regex", True) is bool(splits):
        return False
    return not (splits and last.get("add_prefix_space")) and all(
        step.get("type") == "Split"
        and step.get("behavior") == "Isolated"
        and not step.get("invert")
        and "Regex" in step["pattern"]
        for step in splits
    )
