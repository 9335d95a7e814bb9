"""ms-swift: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import CONTROL, NEIGHBOURS, Broken

SWIFT = {"render.template": "ms-swift/qwen2_5"}
"""ms-swift goes by the model, of which there is none here."""
BROKEN = (
    Broken("ms-swift@4.6", "LAB002", ("mask.rule",), ("others",), {**SWIFT, "mask.rule": "all"}),
    Broken("ms-swift@4.6", "LAB009", ("mask.turns",), ("answers", "behind stops"), {**SWIFT, "mask.turns": "last"}),
    Broken(
        "ms-swift@4.6",
        "TRU006",
        ("length.max",),
        ("cut",),
        {**SWIFT, "length.max": 30},
        comes=("EOS008", "TPL027"),
    ),
    Broken(
        "ms-swift@4.6", "TRU002", ("length.max",), ("cut",), {**SWIFT, "length.max": 30, "length.over": "cut_right"}
    ),
    Broken("ms-swift@4.6", "TPL006", changes=SWIFT, rows=NEIGHBOURS, repair="merge-neighbours"),
    Broken("ms-swift@4.6", "INJ001", changes=SWIFT, rows=CONTROL, repair="strip-tokens"),
)
