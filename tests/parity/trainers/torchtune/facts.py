"""What the ordinary tests are told of torchtune."""

from __future__ import annotations

from facts import ALPACA, CHAT, Facts

from sftui.trainers.torchtune.config import DATASET, TOP

FACTS = Facts(
    preset="torchtune@0.7",
    table=(*TOP, *DATASET),
    back=5,
    deciding=(
        ("builtin:llama3", CHAT, {}),
        ("builtin:llama3", ALPACA, {}),
    ),
    converted="torchtune@0.6.1",
    audited="torchtune@0.7",
)
