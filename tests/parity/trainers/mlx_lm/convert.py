"""How rows come to mlx-lm before and after `sftui convert` (see `converting`)."""

from __future__ import annotations

from converting import MENDED, SAME, STOPS, UNREAD

PRESET = "mlx-lm@0.32"
FILES = {
    "alpaca_en_demo.json": UNREAD,
    "mlx_wwdc25_prompt_completion.jsonl": SAME,
    "glaive_toolcall_en_demo.json": UNREAD,
}
MADE = {
    "function_call and observation": UNREAD,
    "question and answer": UNREAD,
    "prompt and completion": SAME,
    "prompt and completion of messages": MENDED,
    "messages as text": MENDED,
    "calls and tools as text": MENDED,
    "functions of OpenAI before tools": STOPS,
}
