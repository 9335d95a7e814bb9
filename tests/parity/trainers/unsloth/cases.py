"""Unsloth: text, messages and prompt/completion, with and without train_on_responses_only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from case import Case
from late_cases import CHATS, PAIRS, TEXTS, Setting
from trainers.trl.cases import PREFERENCES

QWEN, LLAMA, PHI, MINI, T5 = "qwen2.5", "llama-3-8b-instruct", "phi-3-mini", "minimind", "t5-small"
CHATML = {"instruction_part": "<|im_start|>user\n", "response_part": "<|im_start|>assistant\n"}
LLAMA3 = {
    "instruction_part": "<|start_header_id|>user<|end_header_id|>\n\n",
    "response_part": "<|start_header_id|>assistant<|end_header_id|>\n\n",
}
PHI3 = {"instruction_part": "<|user|>\n", "response_part": "<|assistant|>\n"}
LONG = {"max_length": 2048}
NEW = ("2026.10.9", "2026.10.7")
ALWAYS = ("messages_qwen", "pairs_qwen", "implicit_llama")
"""Of preferences those that are always tried, since the code is TRL's."""


def text(responses: Any = None, **more: Any) -> dict[str, Any]:
    """The notebooks' script: messages rendered to a text column, then the masking call."""
    steps = {"text_from": "messages", **more}
    return steps if responses is None else {**steps, "responses": responses}


CASES = (
    # preferences, as TRL's trainers prepare them; the length is the config's
    *(
        replace(case, config={"max_length": 1024, **case.config}, only=NEW, long=not case.name.endswith(ALWAYS))
        for case in PREFERENCES
    ),
    # the notebooks' defaults: text, then responses only
    Case("default_responses_qwen", "turkish", QWEN, LONG, dataset=text(CHATML), default=True),
    Case("default_responses_llama", "turkish.system", LLAMA, LONG, dataset=text(LLAMA3), default=True),
    Case("default_responses_phi", "turkish.system", PHI, LONG, dataset=text(PHI3), default=True),
    Case("default_responses_minimind", "weights.text", MINI, LONG, dataset=text(CHATML), default=True),
    Case("default_messages_qwen", "turkish.system", QWEN, LONG, default=True, only=NEW),
    Case("default_text_qwen", "wikisql", QWEN, LONG, default=True),
    Case("default_text_llama", "c4", LLAMA, LONG, default=True),
    Case("default_strings_qwen", "wwdc", QWEN, LONG, default=True),
    Case("default_strings_llama", "gsm8k.strings", LLAMA, LONG, default=True),
    Case("default_tricky_qwen", "tricky", QWEN, LONG, dataset=text(CHATML), default=True),
    Case("default_tricky_llama", "tricky", LLAMA, LONG, dataset=text(LLAMA3), default=True),
    Case(
        "default_sharegpt_minimind",
        "fastchat",
        MINI,
        LONG,
        default=True,
        dataset={"standardize": True, "text_from": "conversations", "responses": CHATML},
    ),
    # masks
    Case("text_only_all_trained", "turkish", QWEN, LONG, dataset=text(), limit=200),
    Case("responses_found_qwen", "turkish", QWEN, LONG, dataset=text({})),
    Case("responses_found_llama", "turkish.system", LLAMA, LONG, dataset=text({}), limit=200),
    Case("responses_found_phi", "turkish.system", PHI, LONG, dataset=text({}), limit=200),
    Case("responses_messages", "turkish.system", QWEN, LONG, dataset={"responses": CHATML}, only=NEW),
    Case("last_only", "turkish", QWEN, LONG, dataset=text({**CHATML, "last_response_only": True})),
    Case("last_only_llama", "tricky", LLAMA, LONG, dataset=text({**LLAMA3, "last_response_only": True})),
    Case("force_match_off", "turkish.system", QWEN, LONG, dataset=text({**CHATML, "force_match": False}), limit=200),
    Case("force_match_off_phi", "turkish.system", PHI, LONG, dataset=text({**PHI3, "force_match": False}), limit=200),
    Case(
        "mask_out_tokens",
        "reason.think_text",
        QWEN,
        {"max_length": 4096},
        template="trl_qwen3",
        only=NEW,
        dataset=text({**CHATML, "mask_out_tokens": ["</think>"]}),
    ),
    Case(
        "eos_is_not_terminator",
        "turkish.system",
        QWEN,
        LONG,
        tokens={"eos_token": "<|endoftext|>"},
        dataset=text(CHATML),
        limit=200,
    ),
    Case("eos_is_not_terminator_phi", "tricky", PHI, LONG, dataset=text(PHI3)),
    Case(
        "plain_text_markers",
        "alpaca.instruct_text",
        QWEN,
        LONG,
        dataset={"responses": {"instruction_part": "### Instruction:\n", "response_part": "### Response:\n"}},
        limit=400,
    ),
    Case(
        "plain_text_markers_llama",
        "alpaca.instruct_text",
        LLAMA,
        LONG,
        dataset={"responses": {"instruction_part": "### Instruction:\n", "response_part": "### Response:\n"}},
        limit=400,
    ),
    Case("markers_absent", "wikisql", QWEN, LONG, dataset={"responses": CHATML}, limit=20),
    Case("broken_turns", "turkish.broken", QWEN, LONG, dataset=text(CHATML)),
    Case("assistant_only_marker", "turkish", QWEN, {"assistant_only_loss": True, **LONG}, only=NEW, limit=200),
    Case("assistant_only_swap", "turkish.system", LLAMA, {"assistant_only_loss": True, **LONG}, only=NEW, limit=200),
    Case(
        "assistant_only_tag",
        "turkish",
        QWEN,
        {"assistant_only_loss": True, **LONG},
        template="trl_qwen2_5_training",
        only=NEW,
        limit=200,
    ),
    Case("assistant_only_fallback", "weights.text", MINI, {"assistant_only_loss": True, **LONG}, only=NEW, limit=200),
    # prompt and completion
    Case("completion_off", "wwdc", QWEN, {"completion_only_loss": False, **LONG}, limit=300),
    Case("completion_conversational", "turkish.split_last", QWEN, LONG),
    Case("completion_conversational_think", "turkish.split_last", QWEN, LONG, template="trl_qwen3_5_think", limit=200),
    Case("boundary_spaced", "gsm8k.strings.spaced", QWEN, LONG, limit=400),
    Case("boundary_inside_word", "wwdc.inside_word", LLAMA, LONG, limit=400),
    Case("completion_cut", "wwdc", PHI, {"max_length": 48}, limit=400),
    # BOS, EOS
    Case("double_bos_text", "wikisql.with_bos", LLAMA, LONG, limit=100),
    Case("text_template_without_bos", "wikisql", LLAMA, LONG, template="trl_qwen2_5", limit=100),
    Case("text_t5", "c4", T5, {"max_length": 256}, limit=60),
    # formatting function, length, packing, collator
    Case("formatting_func", "turkish", QWEN, LONG, dataset=text(CHATML, formatting=True), limit=60),
    Case("length_cut", "turkish", QWEN, {"max_length": 64}, dataset=text(CHATML)),
    Case("length_cut_llama", "turkish.system", LLAMA, {"max_length": 40}, dataset=text(LLAMA3)),
    Case("length_all_dropped", "turkish", QWEN, {"max_length": 6}, dataset=text(CHATML), limit=40),
    Case("packing", "turkish", QWEN, {"packing": True, "max_length": 512}, dataset=text()),
    Case("packing_responses", "turkish", QWEN, {"packing": True, "max_length": 512}, dataset=text(CHATML)),
    Case("pad_is_eos", "turkish", QWEN, LONG, tokens={"pad_token": "<|im_end|>"}, dataset=text(CHATML), limit=60),
    # tools, reasoning, ready ids
    Case("tools_messages", "toolset.messages", QWEN, {"max_length": 8192}, only=NEW, dataset={"responses": CHATML}),
    Case("tools_json_text", "glaive.openai", QWEN, {"max_length": 8192}, only=NEW, dataset={"responses": CHATML}),
    Case(
        "tools_reasoning",
        "reason.reasoned",
        QWEN,
        {"max_length": 8192},
        template="trl_qwen3",
        only=NEW,
        dataset={"responses": CHATML},
    ),
    Case("think_text", "reason.think_text", QWEN, {"max_length": 4096}, template="trl_qwen3", dataset=text(CHATML)),
    Case("template_kwargs", "turkish.no_think", QWEN, LONG, template="trl_qwen3", only=NEW, limit=100),
    Case("ids", "turkish.ids", QWEN, LONG, limit=60),
    Case("ids_empty", "turkish.ids_empty", QWEN, LONG, limit=40, long=True),
    Case("ids_completion_mask", "turkish.ids_completion", QWEN, LONG, limit=60),
    Case("ids_labels", "turkish.ids_labels", QWEN, LONG, limit=60),
)

LATE: tuple[Setting, ...] = (
    (CHATS, "script", LONG, {"text_from": "messages", "responses": CHATML}),
    ((*CHATS, *PAIRS, *TEXTS), "default", LONG, {}),
)


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the options that sftui takes for Unsloth's arguments."""
    return {"tokenizer": tokenizer, "data": str(case.data_path()), **case.config, **case.dataset}
