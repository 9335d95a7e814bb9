"""TPL016: every template that LLaMA-Factory brings beside every chat template there is, judged.

An error on each wrong family, none on a right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden_records import with_knobs
from judged_templates import BUNDLED, OWN, SHARED, Judged, bundled, of_shared, published, with_template

from sftui.findings import Severity, check_setup
from sftui.tokens import LoadedTokenizer
from sftui.trainers import preset, trainer_named
from sftui.trainers.llamafactory.registry import NAMES, TEMPLATES

FAMILIES: Mapping[str, frozenset[str]] = {
    name: frozenset(members.split())
    for name, members in {
        "chatml": (
            "chatml chatml_de cpm4 dbrx ernie falcon_h1 intern2 intern_s1 intern_vl keye_vl lfm2 lfm2_vl"
            " llava_next_qwen llava_next_video_yi llava_next_yi mimo mimo_v2 mimo_vl minicpm_o minicpm_v"
            " minicpm_v_4_6 opencoder qwen qwen2_audio qwen2_omni qwen2_vl qwen3 qwen3_5 qwen3_5_nothink"
            " qwen3_6 qwen3_nothink qwen3_omni qwen3_omni_nothink qwen3_vl qwen3_vl_nothink smollm smollm2 yi"
        ),
        "llama3": "llama3 llava_next_llama3 mllama",
        "gemma": "gemma gemma2 gemma3 gemma3n paligemma_chat",
        "gemma4": "gemma4 gemma4n",
        "phi": "phi phi_small phi4_mini starchat",
        "deepseek3": "deepseek3 deepseekr1",
        "glm": "aeva chatglm3 glm4 glm4_5v glm4_7 glm4_moe glm4v glm_ocr glmz1",
        "cohere": "cohere",
        "gpt_oss": "gpt_oss",
    }.items()
}
AMBIGUOUS: Mapping[str, Mapping[str, str]] = {
    "minimind": {
        name: "its slots are BOS, role, text and EOS, which are <|im_start|> and <|im_end|> here"
        for name in ("seed_oss", "seed_coder")
    },
    "glm": {
        name: "the same <|user|> and <|assistant|>; only the tokens that end texts tell them apart"
        for name in ("zephyr", "olmo", "granite3_vision", "dots_ocr")
    },
}
RIGHT: Mapping[str, Sequence[str]] = {
    "qwen2_5": ("qwen",),
    "qwen2_5_vl": ("qwen2_vl",),
    "qwen3": ("qwen3", "qwen3_nothink"),
    "qwen3_vl": ("qwen3_vl_nothink",),
    "qwen3_5_think": ("qwen3_5",),
    "qwen3_5_nothink": ("qwen3_5_nothink",),
    "qwen3_6": ("qwen3_6",),
    "qwen3_instruct_2507": ("qwen3_nothink",),
    "lfm2": ("lfm2",),
    "llama3": ("llama3",),
    "llama3_1": ("llama3",),
    "llama3_2": ("llama3",),
    "gemma": ("gemma",),
    "gemma3": ("gemma3",),
    "phi3": ("phi",),
    "phi3_5": ("phi",),
    "deepseekv3": ("deepseek3",),
    "glm4moe": ("glm4_moe",),
    "cohere": ("cohere",),
}
"""What LLaMA-Factory's list of models names for them: neither an error nor a warning. (Its gpt_oss leaves the end of
earlier answers out, of which a warning tells.)"""

HUMAN, GPT = {"from": "human", "value": "What is 2+2?"}, {"from": "gpt", "value": "It is 4."}
ROWS: Mapping[str, dict[str, Any]] = {
    "rounds": {"conversations": [HUMAN, GPT, {"from": "human", "value": "And 3+3?"}, {"from": "gpt", "value": "6."}]},
    "system": {"system": "Be brief.", "conversations": [HUMAN, GPT]},
    "one round": {"conversations": [HUMAN, GPT]},
}


def _knobs(template: str) -> Mapping[str, Any]:
    added = ",".join(sorted(TEMPLATES[template].inserted)) or None
    return {"render.template": f"llamafactory/{template}", "own.add_special_tokens": added}


JUDGED = Judged("llamafactory@0.9", NAMES, ROWS, FAMILIES, _knobs, AMBIGUOUS, RIGHT)


@pytest.mark.one_of(15)
@pytest.mark.parametrize("template", sorted(NAMES))
def test_beside_the_bundled_tokenizers(template: str) -> None:
    for name in BUNDLED:
        JUDGED.hold(template, name, name, bundled(name))


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(OWN))
def test_beside_the_templates_of_published_models(name: str, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = published(name, shared)
    told: Counter[str] = Counter()
    for template in JUDGED.tried(name, OWN[name][0]):
        told += JUDGED.hold(template, name, OWN[name][0], tokenizer)
    with capsys.disabled():
        print(f"\n{name}: {dict(told)}")


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize(("name", "family"), sorted(SHARED.items()))
def test_beside_the_shared_tokenizers(name: str, family: str, shared: Path) -> None:
    tokenizer = of_shared(name, shared)
    for template in JUDGED.tried(name, family):
        JUDGED.hold(template, name, family, tokenizer)


def test_a_template_that_drops_results_tells_its_family_all_the_same() -> None:
    """Phi-3's own writes no turn of a tool: what it makes of the others is held beside the trainer's."""
    phi = "{% for m in messages if m.role != 'tool' %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    call = '{"name": "add", "arguments": {"a": 1}}'
    turns = [
        HUMAN, {"from": "function_call", "value": call}, {"from": "observation", "value": "4"}, GPT,
    ]  # fmt: skip
    tokenizer = with_template(phi, "", "<|im_end|>")
    wrong, right = (JUDGED.found(name, tokenizer, {"conversations": turns}) for name in ("minimax2", "phi"))
    assert wrong is not None and wrong.severity is Severity.ERROR
    assert right is None


def test_an_error_names_the_template_that_fits() -> None:
    one = JUDGED.found("llama3", bundled("chatml"), ROWS["rounds"])
    assert one is not None and one.severity is Severity.ERROR and one.fix is not None
    assert [(change.path, change.after) for change in one.fix.changes] == [("render.template", "llamafactory/chatml")]
    assert one.fix.trainer_keys["llamafactory"] == "template: chatml"
    assert JUDGED.found("chatml", bundled("chatml"), ROWS["rounds"]) is None
    assert "<|start_header_id|>, <|end_header_id|> are not in its vocabulary" in one.sentence.replace(
        "<|eot_id|>, ", ""
    )
    assert (
        one.evidence == "<|eot_id|><|start_header_id|>assistant<|end_header_id|>⏎⏎ ≠ <|im_end|>⏎<|im_start|>assistant⏎"
    )


def test_a_tokenizer_without_a_template_is_not_compared() -> None:
    plain = bundled("chatml")
    bare = LoadedTokenizer(replace(plain.facts, chat_templates={}), plain.engine)
    assert JUDGED.found("llama3", bare, ROWS["rounds"]) is None


@pytest.mark.parametrize(("template", "severity"), [("qwen3", Severity.WARNING), ("qwen", Severity.INFO)])
def test_a_template_that_thinks_is_a_warning_where_the_tokenizers_own_does_not(
    template: str, severity: Severity
) -> None:
    one = JUDGED.found(template, bundled("chatml"), ROWS["one round"])
    assert one is not None and one.severity is severity


@pytest.mark.parametrize(
    ("template", "brings", "split"),
    [("llama3", False, "split"), ("chatml", False, ""), ("llama3", True, "")],
)
def test_control_words_of_a_template_are_looked_up_where_the_tokenizer_brings_none(
    template: str, brings: bool, split: str
) -> None:
    plain = bundled("chatml")
    facts = plain.facts if brings else replace(plain.facts, chat_templates={})
    context, inspection = JUDGED.opened(template, LoadedTokenizer(facts, plain.engine), ROWS["rounds"])
    made = check_setup(context, [inspection])
    told = [each for each in made if each.code == "TPL013"]
    assert [each.severity for each in told] == [Severity.WARNING] * bool(split)
    assert not split or "<|start_header_id|>, <|end_header_id|>" in told[0].sentence


def test_the_same_text_in_other_ids_is_told() -> None:
    """Pieces are encoded apart: two line breaks are one token only where they stand in one of them."""
    answers = {"\nIt is 4.": "[⏎][⏎][It] ≠ [⏎⏎][It][", "It is 4.": ""}
    for text, evidence in answers.items():
        one = JUDGED.found("chatml", bundled("chatml"), {"conversations": [HUMAN, {"from": "gpt", "value": text}]})
        assert (one is not None) == bool(evidence)
        if one is not None:
            assert one.severity is Severity.INFO and "but the trainer encodes it to different ids" in one.sentence
            assert one.evidence.startswith(evidence)


@pytest.mark.parametrize(
    ("preset_name", "template", "brought"),
    [
        ("axolotl@0.19", "axolotl/chatml", True),
        ("axolotl@0.19", "axolotl/tokenizer_default_fallback_chatml", True),
        ("axolotl@0.19", "axolotl/tokenizer_default", False),
        ("axolotl@0.19", "axolotl/jinja", False),
        ("axolotl@0.19", "tokenizer", False),
        ("llamafactory@0.9", "tokenizer", True),
        ("torchtune@0.6.1", "tokenizer", True),
        ("trl@1.16", "builtin:chatml", False),
    ],
)
def test_which_templates_are_the_trainers_own(preset_name: str, template: str, brought: bool) -> None:
    recipe = with_knobs(preset(preset_name), {"render.template": template})
    assert trainer_named(recipe.preset).brings_template(recipe) is brought
