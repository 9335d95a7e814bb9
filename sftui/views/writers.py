"""Who wrote something: the colour of each role, which always stands next to its name or its letter."""

from __future__ import annotations

from sftui.views.cells import Role

WRITERS = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "gpt": Role.ASSISTANT,
    "chatbot": Role.ASSISTANT,
    "function_call": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
    "observation": Role.TOOL,
    "ipython": Role.TOOL,
    "environment": Role.TOOL,
}
"""The roles of messages, as trainers and data name them."""


def writer(name: str, other: Role) -> Role:
    """How the role of a message is drawn; one that is not known as `other`."""
    return WRITERS.get(name.lower(), other)
