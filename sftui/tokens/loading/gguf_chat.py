"""What of a .gguf file decides how it is served: chat templates, special tokens, and what the server adds by itself.

Only the metadata at the head of the file is gone through, a key after the other; nothing is kept but what is requested,
so a file that lies of its counts and lengths costs neither memory nor much time.

Sources: the GGUF format (ggml, docs/gguf.md); llama.cpp, src/llama-vocab.cpp `llama_vocab::impl::load` as of 2025-08
(which tokens end generation, and whether BOS is added where the file does not say it), common/chat.cpp `apply`.
"""

from __future__ import annotations

import mmap
import stat
import struct
from array import array
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sftui.tokens.loading.gguf import ARRAY, NUMBERS, STRING, UINT32, UINT64, VERSIONS, GgufHead

TEMPLATE = "tokenizer.chat_template"
MOST_KEYS, MOST_KEY = 20_000, 1 << 16
MOST_TEXT = 1 << 20
"""Bytes of a template, and of any other text that is read."""
MOST_TEMPLATES = 64
MOST_TEXTS = 8_000_000
"""Texts in arrays that are passed over: vocabularies and merges of published models have up to a million."""
MOST_TOKENS = 2_000_000

ENDS = frozenset(
    ("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<|endoftext|>", "<|eom_id|>")
) | {"<EOT>", "_<EOT>", "<|end_of_text|>", "<end_of_utterance>", "<｜end▁of▁sentence｜>"}
"""The tokens that end generation in llama.cpp by their text, whatever the file says."""
_HARMONY = frozenset(("<|return|>", "<|call|>", "<|end|>"))
"""Where a vocabulary has all three, the last ends nothing."""
_BOS_PRE = frozenset(
    ("llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano")
) | {"tekken", "chameleon"}
"""The pre-tokenizers whose BPE models get a BOS where the file says nothing."""
_EOS_OF: Mapping[str, int] = {"llama": 2, "gpt2": 11}
_BOS_OF: Mapping[str, int] = {"llama": 1, "gpt2": 11}


@dataclass(frozen=True, slots=True)
class GgufChat:
    """How a .gguf file has chats rendered and ended by llama.cpp.

    `templates` are by name, `default` the one without one. `special_tokens` are what a template is given (`bos_token`,
    `eos_token`). `adds_bos`: llama.cpp puts BOS before each prompt, and takes the template's own away (None: not
    known). `stops` are the texts of the tokens that end generation (None: the file names no vocabulary). `pieces` are
    those of the ids that were requested; `size` is the number of tokens.
    """

    templates: Mapping[str, str]
    special_tokens: Mapping[str, str]
    adds_bos: bool | None
    stops: frozenset[str] | None
    pieces: Mapping[int, str]
    size: int


def read_gguf_chat(path: Path, ids: Collection[int] = ()) -> GgufChat:
    """The chat templates and special tokens of a .gguf file, and what stands at some `ids` of its vocabulary;
    ValueError, with a clause, for a file that is none, ends too early, or holds more than can be meant; OSError."""
    with path.open("rb") as file:
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size < 24:
            raise ValueError("it is too short to be a GGUF file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            try:
                return _Head(data).chat(ids)
            except (struct.error, UnicodeDecodeError) as error:
                raise ValueError(f"it is a damaged GGUF file ({error})") from error


class _Head(GgufHead):
    """The metadata of a file, gone through once: plain values by their key, and where the vocabulary's texts stand."""

    noun, versions = "a text", " and ".join(map(str, VERSIONS))

    def __init__(self, data: mmap.mmap) -> None:
        super().__init__(data)
        self._passed = 0
        self._tokens = array("Q")
        self._values: dict[str, Any] = {}
        if self.count > MOST_KEYS:
            raise ValueError(f"it claims {self.count:,} metadata keys, more than the limit of {MOST_KEYS:,}")
        templates = 0
        for _ in range(self.count):
            key = self._short(MOST_KEY, "a key")
            kind, wanted = self.number(UINT32), key.startswith("tokenizer.")
            if kind == STRING:
                templates += key.startswith(TEMPLATE)
                if templates > MOST_TEMPLATES:
                    raise ValueError(f"it has more than {MOST_TEMPLATES} chat templates")
                if wanted:
                    self._values[key] = self._short(MOST_TEXT, key[:60])
                else:
                    self.pass_text()
            elif kind == ARRAY:
                self._array(key)
            elif kind in NUMBERS:
                value = self.number(kind)
                if wanted:
                    self._values[key] = value
            else:
                raise ValueError(f"its metadata holds a value of unknown type {kind}")

    def chat(self, ids: Collection[int]) -> GgufChat:
        values, model = self._values, self._values.get("tokenizer.ggml.model")
        templates = {
            key[len(TEMPLATE) + 1 :] or "default": value
            for key, value in values.items()
            if isinstance(value, str) and (key == TEMPLATE or key.startswith(TEMPLATE + "."))
        }
        bos = self._piece(self._id("bos", _BOS_OF.get(str(model))))
        eos = self._piece(self._id("eos", _EOS_OF.get(str(model))))
        special = {f"{name}_token": piece for name, piece in (("bos", bos), ("eos", eos)) if piece is not None}
        pieces = {one: piece for one in ids if (piece := self._piece(one)) is not None}
        return GgufChat(templates, special, self._adds_bos(model), self._stops(eos), pieces, len(self._tokens))

    def _adds_bos(self, model: Any) -> bool | None:
        value = self._values.get("tokenizer.ggml.add_bos_token")
        if isinstance(value, bool):
            return value
        if model == "gpt2":
            return self._values.get("tokenizer.ggml.pre") in _BOS_PRE
        return True if model in ("llama", "bert") else None

    def _stops(self, eos: str | None) -> frozenset[str] | None:
        if not self._tokens:
            return None
        found = {piece for piece in (self._piece(at) for at in range(len(self._tokens))) if piece in ENDS}
        found |= {one for one in (eos, *(self._piece(self._id(name)) for name in ("eot", "eom"))) if one is not None}
        if found >= _HARMONY:
            found.discard("<|end|>")
        return frozenset(one for one in found if one is not None)

    def _id(self, name: str, default: int | None = None) -> int | None:
        value = self._values.get(f"tokenizer.ggml.{name}_token_id")
        return value if type(value) is int else default

    def _piece(self, token: int | None) -> str | None:
        if token is None or not 0 <= token < len(self._tokens):
            return None
        place = self._tokens[token]
        (length,) = struct.unpack_from("<Q", self.data, place)
        return self.data[place + 8 : place + 8 + length].decode("utf-8", "replace")

    def _array(self, key: str) -> None:
        inner, count = self.number(UINT32), self.number(UINT64)
        if inner in NUMBERS:
            self.pass_numbers(inner, count)
            return
        if inner != STRING:
            raise ValueError(f"its metadata holds a value of unknown type {inner}")
        self._passed += count
        if self._passed > MOST_TEXTS or count * 8 > len(self.data):
            raise ValueError(f"its metadata claims {count:,} strings in one array")
        tokens = key == "tokenizer.ggml.tokens"
        if tokens and count > MOST_TOKENS:
            raise ValueError(f"it claims a vocabulary of {count:,} tokens")
        for _ in range(count):
            at = self.pass_text()
            if tokens:
                self._tokens.append(at)

    def _short(self, most: int, what: str) -> str:
        text_at = self.pass_text() + 8
        if self.place - text_at > most:
            raise ValueError(f"{what} in its metadata has more than {most:,} bytes")
        return self.data[text_at : self.place].decode("utf-8")
