"""Row → Conversation: which format a set has, and each row as messages, strings, text or ids."""

from sftui.conversations.convert import convert, turns_problem
from sftui.conversations.detect import detect
from sftui.conversations.detected import Detection
from sftui.conversations.strings import as_chat

__all__ = ["Detection", "as_chat", "convert", "detect", "turns_problem"]
