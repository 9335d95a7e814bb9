"""What the ordinary tests are told of ms-swift."""

from __future__ import annotations

from facts import ALPACA, CHAT, Facts

from sftui.trainers.ms_swift.config import TABLE

FACTS = Facts(
    preset="ms-swift@4.6",
    table=TABLE,
    back=20,
    deciding=(
        ("builtin:chatml", CHAT, {"render.template": "ms-swift/chatml"}),
        ("builtin:llama3", CHAT, {"render.template": "ms-swift/llama3", "mask.turns": "last"}),
        ("builtin:chatml", ALPACA, {"render.template": "ms-swift/qwen3", "length.max": 200}),
    ),
    transformers="5.19.0",
    converted="ms-swift@4.6",
    audited="ms-swift@4.6",
)
