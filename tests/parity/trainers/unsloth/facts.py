"""What the ordinary tests are told of Unsloth."""

from __future__ import annotations

from facts import CHAT, CHATS, Facts

from sftui.trainers.unsloth.options import TABLE

FACTS = Facts(
    preset="unsloth@2026.10",
    table=TABLE,
    back=16,
    deciding=(
        ("builtin:chatml", CHAT, {}),
        ("builtin:chatml", CHATS, {}),
    ),
    transformers="5.17.0",
    converted="unsloth@2026.10",
    audited="unsloth@2026.10",
)
