"""The built-in templates against the published ones: same text, same refusals."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from template_cases import CONVERSATIONS, TOOLS, all_templates, sampled_rows

from sftui.errors import TemplateError
from sftui.templates import ChatTemplate, builtin_names, builtin_template, compile_template, families_for, family_of

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
TWINS = {
    "gemma": ("trl_gemma",),
    "llama3": ("trl_llama3", "llama-3-8b-instruct"),
    "phi3": ("trl_phi3", "phi-3-mini"),
    "qwen2.5": ("trl_qwen2_5", "qwen2.5"),
}


def _outcome(template: ChatTemplate, messages: Any, tools: Any, prompt: bool) -> tuple[str, str]:
    try:
        return "text", template.text(messages, tools=tools, add_generation_prompt=prompt, variables=SPECIAL)[0]
    except TemplateError as error:
        return "refused", f"{error.what}, {error.why}"


def _compare(name: str, published: ChatTemplate, table: list[tuple[Any, Any]]) -> int:
    ours = builtin_template(name)
    for messages, tools in table:
        for prompt in (False, True):
            assert _outcome(ours, messages, tools, prompt) == _outcome(published, messages, tools, prompt), messages
    return 2 * len(table)


def _conversations() -> list[tuple[Any, Any]]:
    return [(messages, tools) for messages in CONVERSATIONS.values() for tools in (None, TOOLS)]


@pytest.mark.one_of(2)
@pytest.mark.shared
@pytest.mark.parametrize("name", sorted(TWINS))
def test_a_builtin_template_equals_the_published_one_on_real_rows(name: str, shared: Path) -> None:
    sources = all_templates(shared)
    table = _conversations() + [(row["messages"], row.get("tools")) for row in sampled_rows(shared, per_file=60)]
    compared = sum(_compare(name, compile_template(sources[twin], twin), table) for twin in TWINS[name])
    print(f"\nbuiltin:{name}: {compared:,} renders equal the published template's")


ONE = [{"role": "user", "content": "Add 1 and 2."}, {"role": "assistant", "content": "3"}]
TWO = [*ONE, {"role": "user", "content": "And 4?"}, {"role": "assistant", "content": "7"}]
SYSTEM = {"role": "system", "content": "Be brief."}
VICUNA = (
    "A chat between a curious user and an artificial intelligence assistant. The assistant gives helpful, detailed, and"
    " polite answers to the user's questions."
)
STANFORD = "Below is an instruction that describes a task. Write a response that appropriately completes the request."
STANFORD_INPUT = (
    "Below is an instruction that describes a task, paired with an input that provides further context. "
    "Write a response that appropriately completes the request."
)


@pytest.mark.parametrize(
    ("name", "messages", "prompt", "expected"),
    [
        (
            "chatml",
            [SYSTEM, *ONE],
            False,
            (
                "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nAdd 1 and"
                " 2.<|im_end|>\n<|im_start|>assistant\n3<|im_end|>\n"
            ),
        ),
        ("mistral", TWO, False, "<s> [INST] Add 1 and 2. [/INST] 3</s> [INST] And 4? [/INST] 7</s>"),
        ("mistral", [SYSTEM, *ONE], False, "<s> [INST] Be brief.\n\nAdd 1 and 2. [/INST] 3</s>"),
        ("mistral", ONE[:1], True, "<s> [INST] Add 1 and 2. [/INST]"),
        (
            "zephyr",
            [SYSTEM, *ONE],
            False,
            "<|system|>\nBe brief.</s>\n<|user|>\nAdd 1 and 2.</s>\n<|assistant|>\n3</s>\n",
        ),
        ("chatml", ONE[:1], True, "<|im_start|>user\nAdd 1 and 2.<|im_end|>\n<|im_start|>assistant\n"),
        (
            "zephyr",
            [{"role": "tool", "content": "x"}, *ONE],
            False,
            "<|user|>\nAdd 1 and 2.</s>\n<|assistant|>\n3</s>\n",
        ),
        ("zephyr", ONE[:1], True, "<|user|>\nAdd 1 and 2.</s>\n<|assistant|>\n"),
        ("vicuna", TWO, False, f"{VICUNA} USER: Add 1 and 2. ASSISTANT: 3</s>USER: And 4? ASSISTANT: 7</s>"),
        ("vicuna", ONE[:1], True, f"{VICUNA} USER: Add 1 and 2. ASSISTANT:"),
        ("vicuna", [SYSTEM, *ONE], False, "Be brief. USER: Add 1 and 2. ASSISTANT: 3</s>"),
        ("alpaca", ONE, False, f"{STANFORD}\n\n### Instruction:\nAdd 1 and 2.\n\n### Response:3</s>"),
        ("alpaca", ONE[:1], True, f"{STANFORD}\n\n### Instruction:\nAdd 1 and 2.\n\n### Response:"),
        (
            "alpaca",
            [{"role": "user", "content": "Add.\n\n### Input:\n1, 2"}, ONE[1]],
            False,
            f"{STANFORD_INPUT}\n\n### Instruction:\nAdd.\n\n### Input:\n1, 2\n\n### Response:3</s>",
        ),
        (
            "alpaca",
            [SYSTEM, *TWO],
            False,
            (
                "Be brief.\n\n### Instruction:\nAdd 1 and 2.\n\n### Response:3</s>### Instruction:\nAnd 4?\n\n###"
                " Response:7</s>"
            ),
        ),
    ],
)
def test_the_plain_formats_are_written_as_published(name: str, messages: Any, prompt: bool, expected: str) -> None:
    assert builtin_template(name).text(messages, add_generation_prompt=prompt, variables=SPECIAL)[0] == expected


@pytest.mark.parametrize("name", ["mistral", "vicuna", "alpaca"])
def test_a_tool_turn_is_refused_where_the_format_has_none(name: str) -> None:
    with pytest.raises(TemplateError, match="rejects this conversation"):
        builtin_template(name).text([*ONE, {"role": "tool", "content": "x"}], variables=SPECIAL)


def test_mistral_refuses_two_users_in_a_row_in_the_published_words() -> None:
    with pytest.raises(
        TemplateError, match="After the optional system message, conversation roles must alternate user/assistant"
    ):
        builtin_template("mistral").text([ONE[0], ONE[0]], variables=SPECIAL)


def test_every_builtin_name_loads_and_an_unknown_one_names_its_neighbour() -> None:
    assert {builtin_template(name).name for name in builtin_names()} == {f"builtin:{name}" for name in builtin_names()}
    with pytest.raises(TemplateError, match=r"did you mean `qwen2\.5`\?"):
        builtin_template("qwen2")


@pytest.mark.parametrize(
    ("name", "tokens", "first"),
    [
        ("google/gemma-2b", {"<start_of_turn>", "<end_of_turn>"}, "gemma"),
        ("google/gemma-2b", set(), "gemma"),
        ("Qwen/Qwen2.5-7B", {"<|im_start|>", "<|im_end|>"}, "qwen2.5"),
        ("someone/base", {"<|im_start|>", "<|im_end|>"}, "chatml"),
        ("meta-llama/Meta-Llama-3-8B", {"<|start_header_id|>", "<|eot_id|>"}, "llama3"),
        ("meta-llama/Llama-2-7b-hf", {"<s>", "</s>"}, "mistral"),
        ("mistralai/Mistral-7B-v0.1", {"<s>", "</s>"}, "mistral"),
        ("openai-community/gpt2", {"<|endoftext|>"}, "alpaca"),
        ("my/zephyr-sft", {"<s>"}, "zephyr"),
    ],
)
def test_a_tokenizer_without_a_template_is_offered_its_family_first(name: str, tokens: set[str], first: str) -> None:
    assert family_of(name, tokens)[0] == first


def test_a_family_whose_tokens_are_missing_is_not_offered() -> None:
    assert "gemma" not in family_of("gemma-like-gpt2", {"<|endoftext|>"})


def test_facts_that_name_only_some_tokens_rule_nothing_out() -> None:
    llama = SimpleNamespace(special_tokens={"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"})
    gemma = SimpleNamespace(
        special_tokens={"bos_token": "<bos>", "additional_special_tokens": ["<start_of_turn>", "<end_of_turn>"]}
    )
    assert family_of("meta-llama/Meta-Llama-3-8B", llama)[0] == "llama3"
    assert family_of("someone/mine", gemma)[0] == "gemma"


def test_the_vocabulary_tells_a_family_that_the_facts_do_not_name() -> None:
    facts = SimpleNamespace(special_tokens={"eos_token": "<|endoftext|>"})
    vocabulary = {"<|endoftext|>": 0, "<|im_start|>": 1, "<|im_end|>": 2}
    assert family_of("someone/mine", facts)[0] == "alpaca"
    assert families_for("someone/mine", facts, vocabulary.get)[0] == "chatml"
    assert families_for("someone/mine", facts, lambda token: None)[0] == "alpaca"
