"""What the ordinary tests are told of LLaMA-Factory."""

from __future__ import annotations

from facts import ALPACA, Facts

from sftui.trainers.llamafactory.config import TABLE

FACTS = Facts(
    preset="llamafactory@0.9",
    table=TABLE,
    back=17,
    deciding=(
        ("builtin:chatml", ALPACA, {}),
        (
            "builtin:chatml",
            {
                "conversations": [
                    {"from": "human", "value": "Hi"},
                    {"from": "gpt", "value": "Hello."},
                    {"from": "human", "value": "More?"},
                    {"from": "gpt", "value": "Yes."},
                ]
            },
            {"mask.turns": "last"},
        ),
    ),
    transformers="5.6.0",
    converted="llamafactory@0.9.5",
    audited="llamafactory@0.9",
)
