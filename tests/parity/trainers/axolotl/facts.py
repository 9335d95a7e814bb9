"""What the ordinary tests are told of Axolotl."""

from __future__ import annotations

from facts import ALPACA, CHAT, FLAGGED, Facts

from sftui.trainers.axolotl.table import DATASET, TOP

FACTS = Facts(
    preset="axolotl@0.19",
    table=(*TOP, *DATASET),
    back=30,
    deciding=(
        ("builtin:chatml", CHAT, {}),
        ("builtin:chatml", CHAT, {"mask.turns": "last"}),
        ("builtin:llama3", FLAGGED, {"data.message_keys": {"train_flag": "train"}}),
        ("builtin:chatml", ALPACA, {}),
        ("builtin:chatml", CHAT, {"mask.terminator": "mask", "length.max": 20}),
    ),
    transformers="5.16.1",
    converted="axolotl@0.19",
    audited="axolotl@0.19",
)
