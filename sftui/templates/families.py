"""The built-in templates, and which of them suit a tokenizer that brings none."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from importlib.resources import files

from sftui.errors import TemplateError
from sftui.templates.template import ChatTemplate, compile_template

_NAMES = ("alpaca", "chatml", "gemma", "llama3", "mistral", "phi3", "qwen2.5", "vicuna", "zephyr")

# A family by the tokens that its template writes: without them in the vocabulary its turns are cut into letters.
_BY_TOKENS = (
    (("<start_of_turn>", "<end_of_turn>"), ("gemma",)),
    (("<|start_header_id|>", "<|eot_id|>"), ("llama3",)),
    (("<|im_start|>", "<|im_end|>"), ("chatml",)),
    (("<|user|>", "<|assistant|>", "<|end|>"), ("phi3",)),
)

# A family by its name, for those whose template writes plain text and EOS only.
_BY_NAME = (
    (r"gemma-?[34]|gemma3", ()),
    (r"gemma", ("gemma",)),
    (r"qwen", ("qwen2.5", "chatml")),
    (r"llama-?3", ("llama3",)),
    (r"phi-?3", ("phi3",)),
    (r"zephyr", ("zephyr",)),
    (r"vicuna", ("vicuna",)),
    (r"alpaca", ("alpaca",)),
    (r"mistral|mixtral|llama-?2", ("mistral",)),
)
_NEED_TOKENS = {"gemma", "llama3", "chatml", "qwen2.5", "phi3"}
_PLAIN = ("alpaca", "vicuna")


def builtin_names() -> tuple[str, ...]:
    """The names that `builtin_template` knows, sorted."""
    return _NAMES


def builtin_template(name: str) -> ChatTemplate:
    """One of sftui's own templates; TemplateError with the nearest name for an unknown one."""
    if name not in _NAMES:
        near = get_close_matches(name, _NAMES, n=1)
        fix = f"did you mean {near[0]}?" if near else f"the built-in ones are {', '.join(_NAMES)}"
        raise TemplateError(f"there is no built-in template {name!r}", fix=fix)
    source = (files("sftui.templates") / "builtin" / f"{name}.jinja").read_text(encoding="utf-8")
    return compile_template(source, f"builtin:{name}")


def family_of(tokenizer_name: str, tokens: Collection[str] = ()) -> tuple[str, ...]:
    """Built-in templates to offer for a tokenizer without one, best first; never empty.

    `tokens` are the special and added tokens. What the vocabulary can spell comes before what the name
    promises; templates of plain text, which any tokenizer can take, come last.
    """
    found: list[str] = []
    name = tokenizer_name.rstrip("/").rsplit("/", 1)[-1].lower()
    named = next((families for pattern, families in _BY_NAME if re.search(pattern, name)), ())
    spelled = [family for needed, families in _BY_TOKENS if all(token in tokens for token in needed) for family in families]
    if "chatml" in spelled:
        spelled.append("qwen2.5")
    found += [family for family in named if family in spelled or family not in _NEED_TOKENS or not tokens]
    found += spelled
    return tuple(dict.fromkeys([*found, *_PLAIN]))
