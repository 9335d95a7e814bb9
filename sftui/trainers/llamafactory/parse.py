"""`template: null`: slots guessed from the tokenizer's chat template by rendering it a few times.

Source: llamafactory 0.9.5, data/template.py `parse_template` and `get_template_and_fix_tokenizer`.
A tokenizer without a template, or with several, gets the template `empty`. And the other way round (`source`): a slot
template as a chat template in jinja, for display and for other tools; rows are rendered from the slots.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sftui.errors import TemplateError
from sftui.tokens import LoadedTokenizer
from sftui.trainers.llamafactory.registry import (
    PLACEHOLDER,
    TEMPLATES,
    Slots,
    SlotTemplate,
    Special,
    TemplateKind,
    TokenSlot,
)

if TYPE_CHECKING:
    from sftui.templates import ChatTemplate

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
