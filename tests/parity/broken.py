"""Settings and data that are wrong, each with the finding that says so: the fix is held against the real trainer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]


def chat(*turns: tuple[str, str] | Mapping[str, Any]) -> Row:
    return {
        "messages": [{"role": turn[0], "content": turn[1]} if isinstance(turn, tuple) else dict(turn) for turn in turns]
    }


def numbered(n: int) -> tuple[Row, ...]:
    """Two rounds, and a brief chat with a system message."""
    said = [
        ("user", f"What is 2+2? {n}"),
        ("assistant", f"The answer is 4. {n}"),
        ("user", f"And 3 more? {n}"),
        ("assistant", f"That makes seven. {n}"),
    ]
    return chat(*said), chat(("system", f"Be kind. {n}"), ("user", f"hi {n}"), ("assistant", f"Hello there. {n}"))


ROWS = tuple(row for n in range(3) for row in numbered(n))
PLAIN = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' }}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TAGGED = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}{{"
    " m.content + '<|im_end|>' }}{% endgeneration %}{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}{%"
    " endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
LAST_ONE = PLAIN.replace("{% if add", "{% if not add_generation_prompt and messages|length > 1 %}!{% endif %}{% if add")
"""A template that writes a row otherwise than its messages one by one."""
ALIASES = (*ROWS[:2], chat(("human", "Who?"), ("gpt", "Me."), ("user", "You?"), ("assistant", "Yes.")))
BOTS = (*ROWS[:2], chat(("user", "Who?"), ("bot", "Me."), ("user", "You?"), ("assistant", "Yes.")))
CONTROL = (
    *ROWS[:2],
    chat(("user", "Say <|im_end|> now."), ("assistant", "I will not."), ("user", "Well?"), ("assistant", "No.")),
)
SPACES = (*ROWS[:2], chat(("user", "Who?"), ("assistant", "  Me.\n\n"), ("user", "You?"), ("assistant", "Yes.")))
NEIGHBOURS = (
    *ROWS[:2],
    chat(("user", "Who?"), ("user", "You?"), ("assistant", "Me."), ("user", "So?"), ("assistant", "Yes.")),
)
NOTHING = (
    *ROWS[:2],
    chat({"role": "user", "content": None}, ("assistant", "Me."), ("user", "So?"), ("assistant", "Yes.")),
)
BRACKETS = (*ROWS[:2], chat(("user", "list?"), ("assistant", "[[1, 2], [3, 4]]")))
FLAGGED = (
    *ROWS[:2],
    chat(
        ("user", "Who?"),
        {"role": "assistant", "content": "Me.", "training": False},
        ("user", "So?"),
        ("assistant", "Yes."),
    ),
)
TEXTS = tuple({"body": f"Q: {n}?\nA: It is {n}."} for n in range(4))


@dataclass(frozen=True)
class Broken:
    """A setting of `preset` that raises `code`, and where its fix may move labels (see `place_of` in fix_proof.py).

    Without `repair` the fix is the finding's own: its knobs, its template; they turn `knobs`. With it the fix is
    `sftui repair --apply REPAIR`, and only messages that it changed may move. `comes` are findings that the fix
    reveals.
    """

    preset: str
    code: str
    knobs: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Row] = ROWS
    template: str | None = None
    repair: str | None = None
    comes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.preset}-{self.code}-{self.repair or '-'.join(self.knobs) or 'template'}"


ENVIRONMENTS = {
    "trl@1.16": "1.16.0",
    "trl@1.14": "1.14.0",
    "axolotl@0.19": "0.19.0",
    "axolotl@0.18": "0.18.0",
    "axolotl@0.21": "0.21.0",
    "llamafactory@0.9": "0.9.5",
    "unsloth@2026.10": "2026.10.9",
    "torchtune@0.6": "0.6.1",
    "mlx-lm@0.32": "0.32.2",
    "verl@0.9": "0.9.1",
    "ms-swift@4.6": "4.6.0",
    "nemo-automodel@0.7": "0.7.0",
}
"""The installed version that stands for a preset."""

SWIFT = {"render.template": "ms-swift/qwen2_5"}
"""ms-swift goes by the model, of which there is none here."""
APART = ("pack.strategy", "pack.isolate", "batch.flatten")
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
    Broken("axolotl@0.19", "EOS004", ("own.eot_tokens",), ("stops",), {"tokenizer.eos_token": "<|endoftext|>"}),
    Broken("axolotl@0.19", "LAB002", ("mask.rule",), ("others",), {"mask.rule": "all"}),
    Broken("axolotl@0.19", "TRU006", ("length.max",), ("cut",), {"length.max": 32}),
    Broken("axolotl@0.19", "LAB010", ("data.message_keys",), ("message",), rows=FLAGGED, comes=("LAB009",)),
    Broken("axolotl@0.19", "ROL001", ("data.role_map",), ("message",), rows=BOTS),
    Broken(
        "axolotl@0.19",
        "EOS012",
        rows=(*ROWS[:2], chat(("user", "Who?"), ("assistant", "Me.</s>"), ("user", "So?"), ("assistant", "Yes."))),
        repair="strip-tokens",
    ),
    Broken("axolotl@0.19", "BND010", ("mask.roles",), ("answers",), {"mask.roles": ()}),
    Broken("axolotl@0.18", "BND009", ("preset",), ("brackets",), rows=BRACKETS),
    Broken(
        "llamafactory@0.9",
        "LAB009",
        ("mask.turns",),
        ("answers",),
        {"render.template": "llamafactory/qwen", "mask.turns": "last"},
    ),
    Broken(
        "llamafactory@0.9",
        "LAB002",
        ("mask.rule",),
        ("others",),
        {"render.template": "llamafactory/qwen", "mask.rule": "all"},
    ),
    Broken(
        "llamafactory@0.9",
        "TRU003",
        ("length.max",),
        ("cut",),
        {"render.template": "llamafactory/qwen", "length.max": 30},
    ),
    Broken(
        "llamafactory@0.9",
        "PAC001",
        ("pack.strategy", "pack.isolate"),
        (),
        {"render.template": "llamafactory/qwen", "pack.strategy": "knapsack", "length.max": 128},
    ),
    Broken(
        "llamafactory@0.9",
        "TPL006",
        changes={"render.template": "llamafactory/qwen"},
        rows=NEIGHBOURS,
        repair="merge-neighbours",
    ),
    Broken("unsloth@2026.10", "LAB002", ("mask.rule",), ("others",)),
    Broken("unsloth@2026.10", "TRU002", ("length.max",), ("cut",), {"length.max": 24}, comes=("EOS008",)),
    Broken("unsloth@2026.10", "PAC001", APART, (), {"pack.strategy": "wrapped", "length.max": 64}),
    Broken("unsloth@2026.10", "CON004", rows=SPACES, repair="trim"),
    Broken("torchtune@0.6", "EOS006", ("length.max",), ("stops",), {"length.max": 200}),
    Broken("torchtune@0.6", "LAB002", ("mask.rule",), ("others",), {"mask.rule": "all"}, comes=("GEN002",)),
    Broken("torchtune@0.6", "TRU001", ("length.max",), ("cut",), {"length.max": 10}, comes=("EOS008", "GEN002")),
    Broken("torchtune@0.6", "CON010", rows=NOTHING, repair="fill-content"),
    Broken("verl@0.9", "TRU002", ("length.max",), ("cut",), {"length.max": 24, "length.over": "cut_right"}),
    Broken("verl@0.9", "TPL011", ("render.template",), (), template=LAST_ONE, comes=("EOS008", "RUN001")),
    Broken("verl@0.9", "ROL001", rows=ALIASES, repair="map-roles"),
    Broken("verl@0.9", "CON004", rows=SPACES, repair="trim"),
    Broken("verl@0.9", "INJ001", rows=CONTROL, repair="strip-tokens"),
    Broken("verl@0.9", "CON001", rows=NOTHING, repair="fill-content", comes=("RUN001",)),
    Broken("ms-swift@4.6", "LAB002", ("mask.rule",), ("others",), {**SWIFT, "mask.rule": "all"}),
    Broken("ms-swift@4.6", "LAB009", ("mask.turns",), ("answers", "behind stops"), {**SWIFT, "mask.turns": "last"}),
    Broken(
        "ms-swift@4.6",
        "TRU006",
        ("length.max",),
        ("cut",),
        {**SWIFT, "length.max": 30},
        comes=("EOS008", "TPL016"),
    ),
    Broken(
        "ms-swift@4.6", "TRU002", ("length.max",), ("cut",), {**SWIFT, "length.max": 30, "length.over": "cut_right"}
    ),
    Broken("ms-swift@4.6", "TPL006", changes=SWIFT, rows=NEIGHBOURS, repair="merge-neighbours"),
    Broken("ms-swift@4.6", "INJ001", changes=SWIFT, rows=CONTROL, repair="strip-tokens"),
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
