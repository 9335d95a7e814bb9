"""LLaMA-Factory's own chat templates as data: every one of its registry.

Source: llamafactory 0.9.5, data/template.py (`register_template` and its defaults, `Template`); what each of them holds
is recorded from the installed package (templates.json, written by tests/parity/record_llamafactory_templates.py).
A format is a tuple of slots: text with at most one `{{content}}`, BOS/EOS for the tokenizer's own token, or a token by
its name, inserted as an id. Every slot is encoded alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sftui.errors import SftuiError, TemplateError
from sftui.tokens import LoadedTokenizer

if TYPE_CHECKING:
    from sftui.templates import ChatTemplate


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


_HOLDER = re.compile(r"\{\{[a-zA-Z_][a-zA-Z0-9_]*\}\}")
"""What LLaMA-Factory takes for a placeholder, whatever its name; only `{{content}}` is filled in."""


def parse(templates: Mapping[str, ChatTemplate], special_tokens: Mapping[str, Any], prefix: str) -> SlotTemplate:
    """The slots of a chat template; `prefix` is what the tokenizer puts around an empty text.

    TemplateError where LLaMA-Factory stops: the template refuses a probe, or drops its content.
    """
    if len(templates) != 1:
        return TEMPLATES["empty"]
    template = next(iter(templates.values()))

    def shown(*messages: tuple[str, str], generate: bool) -> str:
        turns = [{"role": role, "content": content} for role, content in messages]
        return template.text(turns, add_generation_prompt=generate, variables=special_tokens)[0][len(prefix) :]

    system = shown(("system", PLACEHOLDER), generate=False)
    without_default = shown(("system", ""), ("user", PLACEHOLDER), generate=True)
    user = shown(("user", PLACEHOLDER), generate=True)
    assistant = shown(("user", PLACEHOLDER), ("assistant", PLACEHOLDER), generate=False)[len(user) :]
    thinks = "<think>" in assistant
    assistant = assistant.replace("<think>", "").replace("</think>", "").lstrip("\n")
    default_system = ""
    if len(user) > len(without_default):
        default_system = _inserted(without_default, user)
        user = user[len(system.replace(PLACEHOLDER, default_system, 1)) :]
    for name, slot in (("system", system), ("user", user), ("assistant", assistant)):
        if not _HOLDER.search(slot):
            raise TemplateError(
                f"LLaMA-Factory cannot parse the tokenizer's chat template: no content is left of a {name} message",
                why="template is null",
                fix="name one of LLaMA-Factory's templates",
            )
    return SlotTemplate(
        name="parsed",
        user=(user,),
        assistant=(assistant,),
        system=(system,),
        function=(assistant,),
        observation=(user,),
        prefix=(prefix,) if prefix else (),
        default_system=default_system,
        kind=TemplateKind.REASONING if thinks else TemplateKind.PLAIN,
    )


def _inserted(short: str, long: str) -> str:
    """The characters of `long` that a walk along `short` skips, until either ends."""
    i, skipped = 0, []
    for char in long:
        if i >= len(short):
            break
        if char == short[i]:
            i += 1
        else:
            skipped.append(char)
    return "".join(skipped)


CONTENT = "message['content']"


def source(template: SlotTemplate, tokenizer: LoadedTokenizer) -> str:
    """The chat template that says what the slots say, for rows of plain turns."""
    facts = tokenizer.facts

    def said(slots: Slots, variable: str) -> str:
        parts: list[str] = []
        for slot in slots:
            if isinstance(slot, str):
                head, found, tail = slot.partition(PLACEHOLDER)
                parts += [repr(head)] if head else []
                parts += [variable] if found else []
                parts += [repr(tail)] if tail else []
            elif isinstance(slot, TokenSlot):
                parts.append(repr(slot.token))
            else:
                token = facts.bos_token if slot is Special.BOS else facts.eos_token
                parts += [repr(token)] if token else []
        return " + ".join(parts) or "''"

    return (
        f"{{{{ {said(template.prefix, '')} }}}}"
        f"{{% set ns = namespace(system={template.default_system!r}) %}}"
        "{% if messages[0]['role'] == 'system' %}{% set ns.system = messages[0]['content'] %}{% endif %}"
        f"{{% if ns.system %}}{{{{ {said(template.system, 'ns.system')} }}}}{{% endif %}}"
        "{% for message in messages %}{% if message['role'] == 'user' %}"
        f"{{{{ {said(template.user, CONTENT)} }}}}"
        "{% elif message['role'] == 'assistant' %}"
        f"{{{{ {said(template.assistant, CONTENT)} }}}}"
        "{% endif %}{% endfor %}"
    )
