"""What the ordinary tests are told of mlx-lm."""

from __future__ import annotations

from facts import CHAT, PAIR, TEXT, Facts

from sftui.trainers.mlx_lm.config import TABLE

FACTS = Facts(
    preset="mlx-lm@0.32",
    table=TABLE,
    back=5,
    deciding=(
        ("builtin:llama3", CHAT, {}),
        ("builtin:chatml", CHAT, {"mask.rule": "completion"}),
        ("builtin:chatml", PAIR, {"mask.rule": "completion", "length.max": 20}),
        ("builtin:chatml", TEXT, {}),
    ),
    transformers="5.24.0",
    converted="mlx-lm@0.32",
    audited="mlx-lm@0.32",
    own_json=True,
)
