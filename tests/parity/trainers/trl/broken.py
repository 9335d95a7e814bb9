"""TRL: settings and data that are wrong (see `broken`)."""

from __future__ import annotations

from broken import ALIASES, APART, CONTROL, PLAIN, TAGGED, TEXTS, Broken

BROKEN = (
    Broken("trl@1.16", "LAB002", ("mask.rule",), ("others",), template=TAGGED),
    Broken("trl@1.16", "LAB002", ("render.template", "mask.rule"), ("others",), template=PLAIN),
    Broken("trl@1.16", "GEN001", ("render.template",), ("answers",), {"mask.rule": "generation_tag"}, template=PLAIN),
    Broken("trl@1.16", "TRU002", ("length.max",), ("cut",), {"length.max": 24}),
    Broken("trl@1.16", "PAC001", APART, (), {"pack.strategy": "wrapped", "length.max": 64}),
    Broken("trl@1.16", "PAC003", (*APART, "length.max"), (), {"pack.strategy": "wrapped", "length.max": 32}),
    Broken("trl@1.16", "EOS003", ("tokenizer.eos_token",), ("stops",), {"tokenizer.eos_token": "<|endoftext|>"}),
    Broken("trl@1.16", "ROL001", rows=ALIASES, repair="map-roles"),
    Broken("trl@1.16", "INJ001", rows=CONTROL, repair="strip-tokens"),
    Broken("trl@1.14", "EOS009", ("preset",), ("appended",), {"own.dataset_text_field": "body"}, rows=TEXTS),
)
