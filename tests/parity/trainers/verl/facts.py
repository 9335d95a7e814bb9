"""What the ordinary tests are told of verl."""

from __future__ import annotations

from facts import CHAT, Facts

from sftui.trainers.verl.config import TABLE

FACTS = Facts(
    preset="verl@0.9",
    table=TABLE,
    back=13,
    deciding=(
        ("builtin:chatml", CHAT, {}),
        ("builtin:llama3", CHAT, {"length.over": "cut_right", "length.max": 30}),
    ),
    transformers="5.10.4",
    converted="verl@0.9",
    audited="verl@0.9",
)
