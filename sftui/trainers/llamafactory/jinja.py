"""A slot template as a chat template in jinja, for display and for other tools: rows are rendered from the slots."""

from __future__ import annotations

from sftui.tokens import LoadedTokenizer
from sftui.trainers.llamafactory.registry import PLACEHOLDER, Named, Slots, SlotTemplate, Special

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
            elif isinstance(slot, Named):
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
