"""Whether the turns of a conversation alternate as strict trainers and templates demand."""

from __future__ import annotations

from collections.abc import Sequence

from sftui.model import Message

_ASKING = frozenset({"user", "tool", "function", "ipython"})


def turns_problem(messages: Sequence[Message]) -> str | None:
    """What breaks `[system] (user|tool, assistant)…`, or None.

    The rule of LLaMA-Factory's ShareGPT converter: after a leading system message, asking roles
    (user, tool) and the assistant take turns, the asking one first and the assistant last.
    """
    turns = messages[1:] if messages and messages[0].role in {"system", "developer"} else messages
    for i, message in enumerate(turns):
        asking = i % 2 == 0
        fits = message.role in _ASKING if asking else message.role == "assistant"
        if not fits:
            wanted = "a user or tool message" if asking else "an assistant message"
            return f"{message.origin or f'message {i}'} is `{message.role}` where {wanted} should stand"
    if not turns:
        return "there is only a system message"
    return "the last message is not the assistant's" if len(turns) % 2 else None
