"""LLaMA-Factory's own chat templates as data: every one of its registry.

Source: llamafactory 0.9.5, data/template.py (`register_template` and its defaults, `Template`); what each of them holds
is recorded from the installed package (templates.json, written by tests/parity/record_llamafactory_templates.py).
A format is a tuple of slots: text with at most one `{{content}}`, BOS/EOS for the tokenizer's own token, or a token by
its name, inserted as an id. Every slot is encoded alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from sftui.errors import SftuiError

PLACEHOLDER = "{{content}}"
ErrorT = TypeVar("ErrorT", bound=SftuiError)


def stop(
    kind: type[ErrorT], what: str, rest: str = " at such a row", fix: str = "fix or remove the row", where: str = ""
) -> ErrorT:
    """The error for a row at which LLaMA-Factory stops; `rest` is what it says there, or where that is."""
    return kind(what, where=where, why=f"LLaMA-Factory stops the whole run{rest}", fix=fix)


class Special(Enum):
    """A slot that stands for a special token of the tokenizer; absent ones are left out."""

    BOS = "bos_token"
    EOS = "eos_token"


class TokenSlot(NamedTuple):
    """A slot that stands for the token of this name."""

    token: str


BOS, EOS = Special.BOS, Special.EOS
Slots = tuple["str | Special | TokenSlot", ...]


class TemplateKind(str, Enum):
    """How turns are put together: as they are, system inside the first user turn, with thoughts (of which an empty one
    is its closing word alone for `REASONING_CLOSING`)."""

    PLAIN = "plain"
    LLAMA2 = "llama2"
    REASONING = "reasoning"
    REASONING_CLOSING = "reasoning_closing"


@dataclass(frozen=True, slots=True)
class SlotTemplate:
    """One template: what stands around each kind of turn, and what it does to the tokenizer.

    `function_format` and `tools_format` name a tool format (see `tools`); where `tools_slots` stand, the first of them
    is all that is put around a list of tools. `replace_eos` makes the first stop word the tokenizer's EOS; stop words
    that are missing are added to it. `efficient_eos`: no EOS between turns, the label of the next turn's first token is
    EOS instead. `media` are what the model behind it sees beside texts: it then needs a processor.
    """

    name: str
    user: Slots
    assistant: Slots
    system: Slots
    function: Slots
    observation: Slots
    prefix: Slots = ()
    function_format: str = "default"
    tools_format: str = "default"
    tools_slots: Slots = ()
    default_system: str = ""
    stop_words: tuple[str, ...] = ()
    efficient_eos: bool = False
    replace_eos: bool = False
    kind: TemplateKind = TemplateKind.PLAIN
    thought: tuple[str, str] = ("<think>\n", "\n</think>\n\n")
    tool_call: tuple[str, str] = ("<tool_call>", "</tool_call>")
    media: tuple[str, ...] = ()

    @property
    def terminator(self) -> str:
        """The text that ends an assistant's turn; empty where the EOS id or nothing does."""
        for slot in self.assistant:
            if isinstance(slot, str) and PLACEHOLDER in slot:
                return slot.partition(PLACEHOLDER)[2].strip()
        return ""

    @property
    def inserted(self) -> frozenset[str]:
        """The tokens that it inserts by their name."""
        formats = (self.prefix, self.system, self.user, self.assistant, self.observation, self.function)
        return frozenset(slot.token for slots in formats for slot in slots if isinstance(slot, TokenSlot))

    @property
    def reasons(self) -> bool:
        """Whether thoughts are taken out of answers, and empty ones put in."""
        return self.kind in (TemplateKind.REASONING, TemplateKind.REASONING_CLOSING)

    @property
    def empty_thought(self) -> str:
        """What is put in where an answer has no thought."""
        return self.thought[1] if self.kind is TemplateKind.REASONING_CLOSING else "".join(self.thought)


def _slots(recorded: Sequence[Any]) -> Slots:
    return tuple(slot if isinstance(slot, str) else _token(**slot) for slot in recorded)


def _token(token: str = "", special: str = "") -> TokenSlot | Special:
    return TokenSlot(token) if token else Special(f"{special}_token")


def _made(name: str, facts: Mapping[str, Any]) -> SlotTemplate:
    """A template with the registry's own defaults for what is not recorded."""
    slots: dict[str, Any] = {key: _slots(facts[key]) for key in _SLOTS if key in facts}
    answer: Slots = (PLACEHOLDER,) if facts.get("efficient_eos") else (PLACEHOLDER, EOS)
    user, assistant = slots.get("user", (PLACEHOLDER,)), slots.get("assistant", answer)
    usual = {"user": user, "assistant": assistant, "function": assistant, "observation": user}
    rest: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in facts.items()}
    rest |= {"system": (PLACEHOLDER,), **usual, **slots, "kind": TemplateKind(facts.get("kind", "plain"))}
    rest["tools_format"] = facts.get("tools_format", "default") or ""
    return SlotTemplate(name, **rest)


_SLOTS = ("user", "assistant", "system", "function", "observation", "prefix", "tools_slots")
_RECORDED = json.loads((files(__package__) / "templates.json").read_text(encoding="utf-8"))

RELEASE: str = _RECORDED["llamafactory"]
"""The release that they are recorded from."""

TEMPLATES: Mapping[str, SlotTemplate] = MappingProxyType(
    {name: _made(name, facts) for name, facts in _RECORDED["templates"].items()}
)
"""The templates by LLaMA-Factory's own names."""

NAMES = frozenset(TEMPLATES)

PROMPTS: Mapping[str, str] = MappingProxyType(_RECORDED["prompts"])
"""What tool formats write around a list of tools, by the beginning of the constant's name in data/tool_utils.py."""
