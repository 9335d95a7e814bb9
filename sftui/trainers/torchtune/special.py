"""The special tokens of torchtune's tokenizers: a table of its own, or the file that `special_tokens_path` names.

Source: torchtune 0.6.1, models/qwen2/_tokenizer.py QWEN2_SPECIAL_TOKENS, models/qwen2_5/_tokenizer.py
QWEN2_5_SPECIAL_TOKENS, models/llama3/_tokenizer.py LLAMA3_SPECIAL_TOKENS, models/phi3/_tokenizer.py
PHI3_SPECIAL_TOKENS, the `*_tokenizer` builders beside them
(special_tokens_path: None is the table) and modules/transforms/tokenizers/_utils.py parse_hf_tokenizer_json. What else
a tokenizer.json adds (`<think>`, say) is plain text to them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.model import common_prefix
from sftui.runs import Flat, flat
from sftui.tokens import LoadedTokenizer
from sftui.tokens.loaded import FastEngine, LayeredEngine, TextEncoding

OPTION = "special_tokens_path"
"""The option, and the key of the `tokenizer` block."""
LARGEST = 64 << 20
"""Bytes of a special_tokens_path that are read; a large tokenizer.json has about 17 million."""

_QWEN2 = {"<|endoftext|>": 151643, "<|im_start|>": 151644, "<|im_end|>": 151645}
_QWEN2_5 = (
    *(f"<|{name}_{side}|>" for name in ("object_ref", "box", "quad", "vision") for side in ("start", "end")),
    *("<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>"),
    *("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"),
)
_LLAMA3 = (
    *("<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>"),
    *("<|finetune_right_pad_id|>", "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>"),
    *("<|eom_id|>", "<|eot_id|>", "<|python_tag|>"),
)
_PHI3 = (
    *("<|endoftext|>", "<|assistant|>", *(f"<|placeholder{i}|>" for i in range(1, 5)), "<|system|>", "<|end|>"),
    *("<|placeholder5|>", "<|placeholder6|>", "<|user|>"),
)
BUILT_IN: Mapping[str, Mapping[str, int]] = {
    "qwen2": _QWEN2,
    "qwen2_5": {**_QWEN2, **{name: 151646 + i for i, name in enumerate(_QWEN2_5)}},
    "llama3": {
        **{name: 128000 + i for i, name in enumerate(_LLAMA3)},
        "<|image|>": 128256,
        "<|video|>": 128012,
        **{f"<|reserved_special_token_{2 + i}|>": 128013 + i for i in range(256 - len(_LLAMA3) - 2)},
    },
    "phi3_mini": {name: 32000 + i for i, name in enumerate(_PHI3)},
}
NEEDED: Mapping[str, Sequence[str]] = {
    "qwen2": tuple(_QWEN2),
    "qwen2_5": (*_QWEN2, "<tool_call>", "</tool_call>"),
    "llama3": (*(name for name in _LLAMA3 if "reserved" not in name), "<|image|>"),
    "phi3_mini": ("<|endoftext|>",),
}
"""What each constructor looks up, and stops without."""


class OwnSpecials(LayeredEngine):
    """A table of special tokens, whose texts are found in a text, over an engine without added tokens.

    All of torchtune's begin with `<|`: a text without what all begin with holds none, which is told in a hundredth of
    the time that the pattern of all takes.
    """

    def __init__(self, inner: FastEngine, special: Mapping[str, int]) -> None:
        super().__init__(inner)
        self._special = dict(special)
        self._names = {token: name for name, token in special.items()}
        names = sorted(special)
        self._opening = names[0][: common_prefix(names[0], names[-1])] if special else ""
        longest_first = sorted(special, key=len, reverse=True)
        self._pattern = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")") if special else None

    def over(self, inner: FastEngine) -> OwnSpecials:
        return OwnSpecials(inner, self._special)

    def encode_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        return self._placed(texts, self.inner.encode_batch)

    def encode_many(self, texts: Sequence[str], add_special_tokens: bool) -> list[TextEncoding]:
        return self._placed(texts, self.inner.encode_many)

    def ids_batch(self, texts: Sequence[str], add_special_tokens: bool) -> list[Flat]:
        if not any(map(self.may_hold, texts)):
            return self.inner.ids_batch(texts, False)
        parts = self._split(texts)
        plain = iter(self.inner.ids_batch([part for some in parts for part in some[::2]], False))
        found: list[Flat] = []
        for some in parts:
            runs = ((self._special[part],) if at % 2 else next(plain) for at, part in enumerate(some))
            found.append(next(plain) if len(some) == 1 else flat([*chain.from_iterable(runs)]))
        return found

    def _split(self, texts: Sequence[str]) -> list[list[str]]:
        """Texts in parts, of which every second one is a special token."""
        pattern = self._pattern
        return [[text] if pattern is None or not self.may_hold(text) else pattern.split(text) for text in texts]

    def _placed(
        self, texts: Sequence[str], encode: Callable[[list[str], bool], list[TextEncoding]]
    ) -> list[TextEncoding]:
        parts = self._split(texts)
        plain = iter(encode([part for some in parts for part in some[::2]], False))
        found = []
        for some in parts:
            ids, starts, ends, at = list[int](), list[int](), list[int](), 0
            for number, part in enumerate(some):
                if number % 2:
                    ids.append(self._special[part])
                    starts.append(at)
                    ends.append(at + len(part))
                else:
                    made = next(plain)
                    ids += made.ids
                    starts += [at + place for place in made.starts]
                    ends += [at + place for place in made.ends]
                at += len(part)
            found.append(TextEncoding(flat(ids), tuple(starts), tuple(ends)))
        return found

    def may_hold(self, text: str) -> bool:
        """Whether special tokens may stand in a text; False is sure."""
        return self._pattern is not None and self._opening in text

    def plain(self, text: str) -> tuple[int, ...] | None:
        """The ids of a text in which special tokens are ordinary text, as Llama's tiktoken encodes it; None where it
        holds none."""
        if self._pattern is None or not self.may_hold(text) or self._pattern.search(text) is None:
            return None
        return tuple(self.inner.ids_batch([text], False)[0])

    def piece(self, token: int) -> str | None:
        return self._names.get(token) or super().piece(token)

    def token_id(self, piece: str) -> int | None:
        found = self._special.get(piece)
        return found if found is not None else super().token_id(piece)

    def added(self) -> Mapping[int, tuple[str, bool]]:
        return {token: (name, True) for name, token in self._special.items()}


def special_tokens(model: str, tokenizer: LoadedTokenizer, path: Any, folder: Path | None) -> Mapping[str, int]:
    """The special tokens of a model tokenizer, text → id; RecipeError where torchtune would stop over them.

    `path` is special_tokens_path, None for torchtune's own table. A file that is not there is the one of that name
    in `folder`, where the open tokenizer is, as `path` of the config is.
    """
    if path is None:
        return BUILT_IN[model]
    if not isinstance(path, str):
        raise RecipeError(f"{OPTION} cannot be {path!r}", fix="name a tokenizer.json, or leave it out")
    file = Path(path)
    if not os.path.isfile(file) and folder is not None:
        file = folder / file.name
    if not os.path.isfile(file) and file.name == "tokenizer.json":
        found = {content: token for token, (content, _) in tokenizer.engine.added().items()}
    else:
        found = _read(file)
    for name in NEEDED[model]:
        if name not in found:
            raise RecipeError(
                f"torchtune's {model} tokenizer stops with these special tokens",
                where=path,
                why=f"it looks for {name}, which is not in the file",
                fix=f"omit {OPTION}: torchtune then uses its own",
            )
    return found


def special_id(tokenizer: LoadedTokenizer, text: str) -> int:
    """The id of a special token that torchtune inserts; RecipeError where the tokenizer has none."""
    found = tokenizer.token_id(text)
    if found is None:
        why, fix = "torchtune's tokenizer adds it to every row", "choose another with render.template"
        raise RecipeError(f"the tokenizer has no {text}", why=why, fix=fix)
    return found


def _read(file: Path) -> dict[str, int]:
    try:
        with file.open("rb") as opened:
            tokens = json.loads(opened.read(LARGEST))["added_tokens"]
        return {str(token["content"]): int(token["id"]) for token in tokens}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise RecipeError(
            f"{OPTION} cannot be read",
            where=str(file),
            why=str(error) or type(error).__name__,
            fix="name a file with added_tokens, like tokenizer.json",
        ) from error
