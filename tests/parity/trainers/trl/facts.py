"""What the ordinary tests are told of TRL."""

from __future__ import annotations

from facts import CHAT, CHATS, PAIR, TEXT, Facts

from sftui.trainers.trl.config import TABLE

FACTS = Facts(
    preset="trl@1.16",
    table=TABLE,
    back=12,
    deciding=(
        ("builtin:llama3", CHAT, {}),
        ("builtin:chatml", CHATS, {}),
        ("builtin:chatml", PAIR, {}),
        ("builtin:chatml", TEXT, {}),
        ("builtin:chatml", CHATS, {"length.max": 24}),
    ),
    transformers="5.24.0",
    converted="trl@1.16",
    audited="trl@1.16",
)
