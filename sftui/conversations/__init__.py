"""Row → Conversation: which format a set has, and each row as messages, strings, text or ids."""

from sftui.conversations.convert import as_chat, convert, turns_problem
from sftui.conversations.detect import detect
from sftui.conversations.detected import Detection

__all__ = ["Detection", "as_chat", "convert", "detect", "turns_problem"]
