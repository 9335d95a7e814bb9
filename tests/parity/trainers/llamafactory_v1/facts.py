"""What the ordinary tests are told of LLaMA-Factory's v1 engine."""

from __future__ import annotations

from facts import ALPACA, Facts

from sftui.trainers.llamafactory_v1.config import TABLE

FACTS = Facts(
    # it reads no messages in OpenAI's shape, so that nothing is converted
    preset="llamafactory-v1@0.9.6",
    table=TABLE,
    back=6,
    deciding=(("builtin:chatml", ALPACA, {}),),
    transformers="5.8.0",
)
