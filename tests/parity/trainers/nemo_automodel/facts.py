"""What the ordinary tests are told of NeMo Automodel."""

from __future__ import annotations

from facts import CHAT, PAIR, Facts

from sftui.trainers.nemo_automodel.config import TABLE

FACTS = Facts(
    preset="nemo-automodel@0.7",
    table=TABLE,
    back=5,
    deciding=(
        ("builtin:llama3", CHAT, {}),
        ("builtin:chatml", CHAT, {"own.mask_generation_prompt": True, "mask.turns": "last"}),
        ("builtin:chatml", PAIR, {"own.dataset": "columns", "length.max": 20}),
    ),
    transformers="5.18.0",
    converted="nemo-automodel@0.7",
    audited="nemo-automodel@0.7",
)
