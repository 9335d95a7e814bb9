"""The built-in templates, and which of them suit a tokenizer that brings none."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from importlib.resources import files
from typing import Any, Protocol

from sftui.errors import TemplateError
from sftui.nearest import did_you_mean
from sftui.templates.rendering.behaviour import NEWEST, Rendering
from sftui.templates.rendering.template import ChatTemplate, compile_template

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


def builtin_template(name: str, rendering: Rendering = NEWEST) -> ChatTemplate:
    """One of sftui's own templates; TemplateError with the nearest name for an unknown one."""
    if name not in _NAMES:
        fix = did_you_mean(name, _NAMES, f"the built-in ones are {', '.join(_NAMES)}")
        raise TemplateError(f"there is no built-in template {name!r}", fix=fix)
    source = (files("sftui.templates") / "builtin" / f"{name}.jinja").read_text(encoding="utf-8")
    return compile_template(source, f"builtin:{name}", rendering=rendering)


class HasSpecialTokens(Protocol):
    """The facts of a tokenizer, as far as they are looked at here."""

    @property
    def special_tokens(self) -> Mapping[str, Any]: ...


def family_of(tokenizer_name: str, known: Collection[str] | HasSpecialTokens = ()) -> tuple[str, ...]:
    """Built-in templates to offer for a tokenizer without one, best first; never empty.

    `known` are all special and added tokens, or the tokenizer's facts, which name only some of them. A
    family of that name comes first, unless all tokens are known and its own are not among them; then what the
    vocabulary can spell; then templates of plain text, which any tokenizer can take.
    """
    complete = isinstance(known, Collection) and bool(known)
    tokens = set(known) if isinstance(known, Collection) else _named(known.special_tokens)
    found: list[str] = []
    name = tokenizer_name.rstrip("/").rsplit("/", 1)[-1].lower()
    named = next((families for pattern, families in _BY_NAME if re.search(pattern, name)), ())
    spelled = [
        family for needed, families in _BY_TOKENS if all(token in tokens for token in needed) for family in families
    ]
    if "chatml" in spelled:
        spelled.append("qwen2.5")
    found += [family for family in named if family in spelled or family not in _NEED_TOKENS or not complete]
    found += spelled
    return tuple(dict.fromkeys([*found, *_PLAIN]))


def families_for(
    tokenizer_name: str, facts: HasSpecialTokens, token_id: Callable[[str], int | None]
) -> tuple[str, ...]:
    """`family_of` with the vocabulary at hand: a tokenizer's facts name its special tokens by their jobs only."""
    had = {token for needed, _ in _BY_TOKENS for token in needed if token_id(token) is not None}
    return family_of(tokenizer_name, had or facts)


def _named(special_tokens: Mapping[str, Any]) -> set[str]:
    tokens: set[str] = set()
    for value in special_tokens.values():
        tokens.update([value] if isinstance(value, str) else value)
    return tokens
