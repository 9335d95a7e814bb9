"""torchtune: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import NOTHING, Broken

BROKEN = (
    Broken("torchtune@0.6", "EOS006", ("length.max",), ("stops",), {"length.max": 200}),
    Broken("torchtune@0.6", "LAB002", ("mask.rule",), ("others",), {"mask.rule": "all"}, comes=("GEN002",)),
    Broken("torchtune@0.6", "TRU001", ("length.max",), ("cut",), {"length.max": 10}, comes=("EOS008", "GEN002")),
    Broken("torchtune@0.6", "CON010", rows=NOTHING, repair="fill-content", comes=("CON020",)),
)
