"""TPL016: the templates of torchtune's tokenizers and of Axolotl's registry beside every chat template, judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from judged_templates import BUNDLED, NO_BOS, OWN, SHARED, Judged, bundled, of_shared, published, with_template

from sftui.trainers.axolotl.templates import REGISTRY

USER, ANSWER = {"role": "user", "content": "What is 2+2?"}, {"role": "assistant", "content": "It is 4."}
ROWS: Mapping[str, Mapping[str, Any]] = {
    "rounds": {"messages": [USER, ANSWER, {"role": "user", "content": "3+3?"}, {"role": "assistant", "content": "6."}]},
    "system": {"messages": [{"role": "system", "content": "Be brief."}, USER, ANSWER]},
    "one round": {"messages": [USER, ANSWER]},
}
TORCHTUNE = Judged(
    "torchtune@0.6.1",
    ("qwen2", "qwen2_5", "llama3"),
    ROWS,
    {"chatml": frozenset(("qwen2", "qwen2_5")), "llama3": frozenset(("llama3",))},
    lambda template: {"render.template": f"torchtune/{template}"},
    right={
        **{name: ("qwen2", "qwen2_5") for name in ("chatml", "qwen2.5", "qwen2_5", "qwen2_5_vl", "qwen3", "qwen3_vl")},
        **{name: ("llama3",) for name in ("llama3", "llama-3-8b-instruct", "llama3_1", "llama3_2")},
    },
)
AXOLOTL = Judged(
    "axolotl@0.19",
    REGISTRY,
    ROWS,
    {
        "chatml": frozenset(("chatml", "falcon_h1", "nemotron_h", "qwen2_vl", "qwen3", "qwen3_5", "qwen_25")),
        "llama3": frozenset(("llama3", "llama3_2_vision")),
        "gemma": frozenset(("gemma", "gemma3", "gemma3n")),
        "phi": frozenset(("phi_3", "phi_35")),
        "deepseek3": frozenset(("deepseek_v2", "deepseek_v3")),
        "cohere": frozenset(("aya", "cohere")),
    },
    lambda template: {"render.template": f"axolotl/{template}", "length.max": 100_000},
    right={
        "chatml": ("chatml",),
        "qwen2.5": ("qwen_25",),
        "qwen2_5": ("qwen_25",),
        "qwen2_5_vl": ("qwen2_vl",),
        "qwen3": ("qwen3",),
        "qwen3_instruct_2507": ("chatml",),
        "qwen3_5_think": ("qwen3_5",),
        "qwen3_5_nothink": ("qwen3_5",),
        "qwen3_6": ("qwen3_5",),
        "lfm2": ("chatml",),
        "llama3": ("llama3",),
        "llama-3-8b-instruct": ("llama3",),
        "llama3_1": ("llama3",),
        "llama3_2": ("llama3", "llama3_2_vision"),
        "gemma": ("gemma",),
        "gemma3": ("gemma3", "gemma3n"),
        "phi-3-mini": ("phi_3",),
        "phi3": ("phi_3",),
        "phi3_5": ("phi_35",),
        "deepseekv3": ("deepseek_v3",),
        "cohere": ("cohere",),
    },
    refuses={
        "gemma": {"system": "its template raises at a system message"},
        "llama3": {NO_BOS: "its template adds bos_token to a text"},
    },
)
INSTRUCTION = (
    "{% for m in messages %}{% if m.role == 'user' %}{{ bos_token + '[INST] ' + m.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + m.content + ' ' + eos_token }}{% endif %}{% endfor %}"
)
"""As Llama 2's, but for system messages."""
PIECES = Path(__file__).parents[2] / "golden" / "trainers" / "pieces" / "bpe.model"
SENTENCEPIECE = Judged(
    "torchtune@0.6.1",
    ("gemma", "llama2", "mistral", "phi3_mini"),
    {"one round": ROWS["one round"]},  # a process for each
    {"phi": frozenset(("phi3_mini",)), "instruction": frozenset(("llama2", "mistral"))},
    lambda template: {"render.template": f"torchtune/{template}", "own.tokenizer_path": str(PIECES)},
    right={"phi-3-mini": ("phi3_mini",), "phi3_5": ("phi3_mini",)},
)
TRAINERS = {"torchtune": TORCHTUNE, "axolotl": AXOLOTL}


@pytest.mark.one_of(5)
@pytest.mark.parametrize("name", BUNDLED)
@pytest.mark.parametrize("trainer", TRAINERS)
def test_beside_the_bundled_tokenizers(trainer: str, name: str) -> None:
    for template in sorted(TRAINERS[trainer].templates):
        TRAINERS[trainer].hold(template, name, name, bundled(name))


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("name", sorted((*OWN, *SHARED)))
@pytest.mark.parametrize("trainer", TRAINERS)
def test_beside_published_templates(trainer: str, name: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    family, tokenizer = (
        (OWN[name][0], published(name, shared)) if name in OWN else (SHARED[name], of_shared(name, shared))
    )
    told: Counter[str] = Counter()
    for template in TRAINERS[trainer].tried(name, family):
        told += TRAINERS[trainer].hold(template, name, family, tokenizer)
    with capsys.disabled():
        print(f"\n{trainer} {name}: {dict(told)}")


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "family"), [("instruction", "instruction"), ("phi-3-mini", "phi"), ("phi3_5", "phi"), ("gemma3", "gemma")]
)
def test_sentencepiece_tokenizers(name: str, family: str, shared: Path) -> None:
    """torchtune's Gemma puts no words around turns: beside a template that does it is of another family."""
    pytest.importorskip("sentencepiece")
    if name == "instruction":
        tokenizer = with_template(INSTRUCTION, "<s>", "</s>")
    else:
        tokenizer = of_shared(name, shared) if name in SHARED else published(name, shared)
    for template in SENTENCEPIECE.templates:
        SENTENCEPIECE.hold(template, name, family, tokenizer)
