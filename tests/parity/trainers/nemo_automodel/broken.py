"""NeMo Automodel: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import NEIGHBOURS, SPACES, Broken

BROKEN = (
    Broken(
        "nemo-automodel@0.7",
        "LAB009",
        ("mask.turns",),
        ("answers", "headers", "behind stops"),
        {"mask.turns": "last"},
    ),
    Broken("nemo-automodel@0.7", "GEN002", ("own.mask_generation_prompt",), ("others",)),
    Broken("nemo-automodel@0.7", "TRU002", ("length.max",), ("cut",), {"length.max": 24}, comes=("EOS008",)),
    Broken("nemo-automodel@0.7", "CON004", rows=SPACES, repair="trim"),
    Broken("nemo-automodel@0.7", "TPL006", rows=NEIGHBOURS, repair="merge-neighbours"),
)
