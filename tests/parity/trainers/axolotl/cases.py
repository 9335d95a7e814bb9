"""Axolotl: the keys that decide ids and labels, on rows that it accepts (and some that it refuses).

`dataset` is the entry of `datasets:` (type chat_template unless it says otherwise), `config` the
top-level keys. sequence_len is 2048 where a case is not about length, so that rows are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import late_cases
from case import Case
from late_cases import Setting

QWEN, LLAMA, PHI, MINI, T5 = "qwen2.5", "llama-3-8b-instruct", "phi-3-mini", "minimind", "t5-small"
SHAREGPT = {"field_messages": "conversations", "message_property_mappings": {"role": "from", "content": "value"}}
LLAMA_PAD = {"special_tokens": {"pad_token": "<|end_of_text|>"}}
LONG = {"sequence_len": 2048}
INSTRUCT = (
    "alpaca:chat",
    "alpaca:chatml",
    "alpaca:phi",
    "gpteacher",
    "oasst",
    "jeopardy",
    "summarizetldr",
    "explainchoice",
    "concisechoice",
    "alpaca_chat",
    "alpaca_chat.load_concise",
    "alpaca_chat.load_qa",
    "alpaca_chat.load_camel_ai",
    "alpaca_chat.load_no_prompt",
    "alpaca_instruct",
    "alpaca_instruct.load_no_prompt",
    "alpaca_w_system",
    "alpaca_w_system.load_instruct",
    "alpaca_w_system.load_open_orca",
    "alpaca_w_system.load_open_orca_chatml",
    "orcamini",
    "context_qa",
    "context_qa.load_404",
    "metharme",
)


def long(**more: Any) -> Mapping[str, Any]:
    return {**LONG, **more}


DEFAULT, ARGILLA = "chat_template.default", "chat_template.argilla_chat"
SCORED = "bradley_terry.chat_template"
FORMATS = {"prompt_format": "Q: {prompt}\nA:", "chosen_format": " {chosen}", "rejected_format": " {rejected}."}
SHORT, CUT = {"sequence_len": 64}, {"sequence_len": 64, "excess_length_strategy": "truncate"}


def pairs(name: str, data: str, tokenizer: str, kind: Any, config: Mapping[str, Any] = LONG, **dataset: Any) -> Case:
    """A preference, every row of it in batches, too; `rl` is what its name begins with, or it is for a reward model."""
    rl, size = name.partition("_")[0], config.get("micro_batch_size", 4)
    keys: dict[str, Any] = {"reward_model": True} if rl == "reward" else {"rl": rl}
    keys |= {"remove_unused_columns": False} if rl == "kto" else {}
    keys |= LLAMA_PAD if tokenizer == LLAMA else {}
    batch = {"size": size, "count": 400}
    return Case(name, data, tokenizer, {**keys, **config}, dataset={"type": kind, **dataset}, batch=batch, only=PAIRED)


PAIRED = ("0.21.0",)
"""The releases whose preferences sftui models."""
PREFERENCES = (
    pairs("dpo_default_qwen", "trl_pairs", QWEN, DEFAULT, field_messages="prompt"),
    pairs("dpo_default_llama_short", "trl_pairs", LLAMA, DEFAULT, SHORT, field_messages="prompt"),
    pairs("dpo_argilla_phi", "trl_pairs_implicit", PHI, ARGILLA, {"sequence_len": 200}),
    pairs("dpo_prompt_pairs_qwen", "trl_pairs_texts", QWEN, "chatml.prompt_pairs", {"sequence_len": 48}),
    pairs("dpo_ultra_llama", "trl_pairs_texts", LLAMA, "llama3.prompt_pairs"),
    pairs("dpo_formats_minimind", "trl_pairs_texts", MINI, FORMATS),
    pairs("ipo_chats_llama", "turkish.sides_of", LLAMA, DEFAULT, long(chat_template="chatml"), field_messages="prompt"),
    pairs(
        "dpo_raise", "trl_pairs", QWEN, DEFAULT, {**SHORT, "excess_length_strategy": "raise"}, field_messages="prompt"
    ),
    pairs("dpo_truncate_qwen", "trl_pairs", QWEN, DEFAULT, CUT, field_messages="prompt"),
    pairs("dpo_truncate_llama", "trl_pairs", LLAMA, DEFAULT, CUT, field_messages="prompt"),
    pairs("dpo_truncate_texts", "trl_pairs_texts", MINI, FORMATS, {**CUT, "sequence_len": 24}),
    pairs("kto_chat_qwen", "trl_pairs.labelled.alone", QWEN, "chatml.argilla_chat"),
    pairs("kto_chat_llama", "trl_pairs.labelled.alone", LLAMA, "llama3.argilla_chat", {**SHORT, "micro_batch_size": 7}),
    pairs("kto_prompt_pairs_qwen", "trl_pairs_texts.labelled", QWEN, "chatml.prompt_pairs", long(micro_batch_size=2)),
    pairs("kto_ultra_phi", "trl_pairs_texts.labelled", PHI, "llama3.ultra", {"sequence_len": 120}),
    pairs("kto_formats_minimind", "trl_pairs_texts.labelled", MINI, {"prompt_format": "Q: {prompt}\nA:"}),
    pairs("kto_truncate", "trl_pairs_texts.labelled", QWEN, "chatml.prompt_pairs", CUT),
    pairs("orpo_turns_qwen", "trl_pairs_implicit.turns", QWEN, "chat_template.argilla"),
    pairs("orpo_turns_llama_short", "trl_pairs_implicit.turns", LLAMA, "chat_template.argilla", SHORT),
    pairs("orpo_turns_phi", "trl_pairs_implicit.turns", PHI, "chat_template.argilla", long(pad_to_multiple_of=16)),
    pairs("simpo_default_qwen", "trl_pairs", QWEN, DEFAULT, field_messages="prompt"),
    pairs("simpo_argilla_llama_short", "trl_pairs_implicit", LLAMA, ARGILLA, SHORT),
    pairs("simpo_texts_phi", "trl_pairs_texts", PHI, "chatml.prompt_pairs", {"sequence_len": 48}),
    pairs("reward_qwen", "trl_pairs_texts.systems", QWEN, SCORED),
    pairs("reward_llama_short", "trl_pairs_texts.systems", LLAMA, SCORED, SHORT),
    pairs("reward_phi_longest", "trl_pairs_texts.systems", PHI, SCORED, long(pad_to_sequence_len=False)),
    pairs("reward_qwen3", "trl_pairs_texts.systems", QWEN, SCORED, long(chat_template="qwen3", pad_to_multiple_of=16)),
    pairs("reward_no_system", "trl_pairs_texts.systems", QWEN, SCORED, SHORT, drop_system_message=True),
    pairs("reward_raise", "trl_pairs_texts.systems", MINI, SCORED, {**SHORT, "excess_length_strategy": "raise"}),
)

CASES = (
    *PREFERENCES,
    # the README's defaults, per format and tokenizer
    Case("default_qwen", "turkish", QWEN, default=True),
    Case("default_llama", "turkish.system", LLAMA, LLAMA_PAD, default=True),
    Case("default_phi", "turkish.system", PHI, default=True),
    Case("default_minimind", "weights.text", MINI, default=True),
    Case("default_sharegpt_minimind", "fastchat", MINI, dataset=SHAREGPT, default=True),
    Case("default_chat_minimind", "wwdc.chat", MINI, long(), default=True),
    Case("default_tricky_qwen", "tricky", QWEN, default=True),
    Case("default_tricky_llama", "tricky", LLAMA, LLAMA_PAD, default=True),
    Case("default_tricky_phi", "tricky", PHI, default=True),
    Case("default_tricky_minimind", "tricky", MINI, default=True),
    Case("default_alpaca_qwen", "alpaca", QWEN, dataset={"type": "alpaca"}, default=True),
    Case("default_alpaca_llama", "alpaca", LLAMA, LLAMA_PAD, dataset={"type": "alpaca"}, default=True),
    Case("default_completion_phi", "wikisql", PHI, dataset={"type": "completion"}, default=True),
    # masks
    Case("roles_user", "turkish.system", QWEN, long(), dataset={"roles_to_train": ["user", "assistant"]}),
    Case("roles_none", "turkish", QWEN, long(), dataset={"roles_to_train": []}, limit=60),
    Case("train_on_inputs", "turkish.system", QWEN, long(train_on_inputs=True)),
    Case("train_on_inputs_tricky", "tricky", LLAMA, long(train_on_inputs=True, **LLAMA_PAD)),
    Case("flags", "turkish.flagged", QWEN, long(), dataset={"message_field_training": "training"}),
    Case("flags_unset", "turkish.flagged", QWEN, long(), limit=60),
    Case("detail", "turkish.detailed", QWEN, long(), dataset={"message_field_training_detail": "detail"}),
    Case(
        "detail_tricky",
        "tricky.detailed",
        LLAMA,
        long(**LLAMA_PAD),
        dataset={"message_field_training_detail": "detail"},
    ),
    # EOS, EOT and special tokens
    Case("eos_all", "turkish.system", QWEN, long(), dataset={"train_on_eos": "all"}),
    Case("eos_last", "turkish.system", QWEN, long(), dataset={"train_on_eos": "last"}),
    Case("eos_none", "turkish.system", QWEN, long(), dataset={"train_on_eos": "none"}),
    Case("eos_all_tricky", "tricky", LLAMA, long(**LLAMA_PAD), dataset={"train_on_eos": "all"}),
    Case("eos_is_not_terminator", "turkish", QWEN, long(), tokens={"eos_token": "<|endoftext|>"}, limit=200),
    Case("eot_tokens", "turkish.system", QWEN, long(eot_tokens=["<|im_end|>"]), tokens={"eos_token": "<|endoftext|>"}),
    Case(
        "eot_all_eos_none",
        "turkish.system",
        QWEN,
        long(eot_tokens=["<|im_end|>"]),
        tokens={"eos_token": "<|endoftext|>"},
        dataset={"train_on_eot": "all", "train_on_eos": "none"},
    ),
    Case("eot_last", "turkish", PHI, long(eot_tokens=["<|end|>"]), dataset={"train_on_eot": "last"}),
    Case("eot_phi", "turkish.system", PHI, long(eot_tokens=["<|end|>"])),
    Case("special_tokens", "turkish", PHI, long(special_tokens={"eos_token": "<|end|>"}), limit=200),
    # templates
    Case("template_chatml", "turkish.system", LLAMA, long(chat_template="chatml", **LLAMA_PAD), limit=100),
    Case("template_llama3", "turkish.system", LLAMA, long(chat_template="llama3", **LLAMA_PAD)),
    Case("template_gemma", "turkish", QWEN, long(chat_template="gemma"), limit=100),
    Case("template_qwen_25", "turkish", QWEN, long(chat_template="qwen_25"), limit=100),
    Case("template_phi_3", "turkish", PHI, long(chat_template="phi_3"), limit=100),
    Case("template_mistral", "turkish", PHI, long(chat_template="mistral_v1"), limit=100),
    Case("template_alpaca", "turkish", QWEN, long(chat_template="alpaca"), limit=100),
    Case("template_qwen3", "turkish.system", QWEN, long(chat_template="qwen3"), limit=100),
    Case(
        "template_jinja",
        "turkish",
        MINI,
        long(
            chat_template="jinja",
            chat_template_jinja=(
                "{% for m in messages %}{{ m['role'] ~ ': ' ~ m['content'] ~ eos_token ~ '\\n' }}{% endfor %}"
            ),
        ),
        limit=100,
    ),
    Case("template_fallback", "turkish", T5, long(chat_template="tokenizer_default_fallback_chatml"), limit=60),
    Case(
        "template_kwargs",
        "turkish.system",
        QWEN,
        long(chat_template_kwargs={"enable_thinking": False}),
        template="trl_qwen3",
        limit=100,
    ),
    # roles, system, broken turns
    Case("drop_system", "turkish.system", QWEN, long(), dataset={"drop_system_message": True}, limit=100),
    Case(
        "roles_mapping",
        "turkish",
        QWEN,
        long(),
        dataset={"roles": {"assistant": ["assistant"], "user": ["user"]}},
        limit=100,
    ),
    Case("broken_turns", "turkish.broken", LLAMA, long(**LLAMA_PAD)),
    Case("broken_turns_qwen", "turkish.broken", QWEN, long()),
    Case("missing_turns", "missing_turns", MINI, long(), dataset=SHAREGPT),
    # tools and reasoning
    Case("tools", "toolset.messages", QWEN, {"sequence_len": 8192}),
    Case("tools_json_text", "glaive.openai", QWEN, {"sequence_len": 8192}),
    Case("tools_reasoning", "reason.reasoned", QWEN, {"sequence_len": 8192}, template="trl_qwen3"),
    Case(
        "field_tools_ignored",
        "glaive.openai",
        QWEN,
        {"sequence_len": 8192},
        dataset={"field_tools": "functions"},
        limit=20,
    ),
    Case("reasoning", "reason.plain_reasoned", QWEN, {"sequence_len": 8192}, template="trl_qwen3"),
    Case(
        "split_thinking",
        "reason.think_text",
        QWEN,
        {"sequence_len": 8192},
        dataset={"split_thinking": True},
        template="trl_qwen3",
    ),
    Case("think_text", "reason.think_text", QWEN, {"sequence_len": 8192}, template="trl_qwen3"),
    # length
    Case("length_drop", "turkish", QWEN, {"sequence_len": 120}),
    Case("length_cut", "turkish.system", QWEN, {"sequence_len": 96, "excess_length_strategy": "truncate"}),
    Case("length_cut_short", "turkish", QWEN, {"sequence_len": 24, "excess_length_strategy": "truncate"}, limit=100),
    Case("length_raise", "turkish", QWEN, {"sequence_len": 120, "excess_length_strategy": "raise"}, limit=60),
    Case("length_minimum", "tricky", MINI, long(min_sample_len=20)),
    # packing
    Case(
        "packing",
        "turkish",
        QWEN,
        {"sample_packing": True, "sequence_len": 512, "curriculum_sampling": True},
        batch={"size": 2, "count": 4},
    ),
    Case(
        "packing_cut_labelless",
        "turkish",
        PHI,
        {"sample_packing": True, "sequence_len": 48, "excess_length_strategy": "truncate"},
        batch={"size": 1, "count": 4},
    ),
    Case(
        "packing_llama",
        "alpaca",
        LLAMA,
        {"sample_packing": True, "sequence_len": 1024, **LLAMA_PAD},
        dataset={"type": "alpaca"},
        batch={"size": 1, "count": 4},
    ),
    Case("pad_to_sequence", "turkish", QWEN, {"pad_to_sequence_len": True, "sequence_len": 500}, limit=60),
    Case("pad_multiple", "turkish", PHI, {"pad_to_multiple_of": 8}, limit=60),
    Case("pad_exact", "turkish", QWEN, {"pad_to_sequence_len": False}, limit=60),
    # instruct types and others
    Case(
        "alpaca_train_inputs", "alpaca", QWEN, {"train_on_inputs": True, **LONG}, dataset={"type": "alpaca"}, limit=300
    ),
    Case("alpaca_llama_bos", "alpaca_zh", LLAMA, long(**LLAMA_PAD), dataset={"type": "alpaca"}, limit=300),
    Case("alpaca_t5", "alpaca", T5, long(), dataset={"type": "alpaca"}, limit=100),
    Case(
        "user_defined",
        "gsm8k",
        QWEN,
        long(),
        dataset={
            "type": {
                "field_instruction": "question",
                "field_output": "answer",
                "format": "Q: {instruction}\nA:",
                "no_input_format": "Q: {instruction}\nA:",
            }
        },
        limit=400,
    ),
    Case(
        "user_defined_system",
        "alpaca",
        LLAMA,
        long(**LLAMA_PAD),
        dataset={
            "type": {
                "field_instruction": "instruction",
                "field_input": "input",
                "field_output": "output",
                "system_prompt": "Be brief.",
                "system_format": "<<{system}>>\n",
                "format": "{instruction}\n{input}\n=> ",
                "no_input_format": "{instruction}\n=> ",
            }
        },
        limit=300,
    ),
    Case("input_output", "turkish.segments", QWEN, long(), dataset={"type": "input_output"}, limit=300),
    Case("input_output_llama", "tricky.segments", LLAMA, long(**LLAMA_PAD), dataset={"type": "input_output"}),
    Case(
        "completion_split",
        "c4",
        MINI,
        {"sequence_len": 256, "shuffle_merged_datasets": False},
        dataset={"type": "completion"},
    ),
    Case("completion_llama", "wikisql", LLAMA, LLAMA_PAD, dataset={"type": "completion"}, limit=300),
    Case("tokenized", "turkish.ids_attention", QWEN, limit=100),
    Case("tokenized_empty", "turkish.ids_empty", QWEN, limit=40, long=True),
    Case("deduplicated", "fastchat", MINI, long(dataset_exact_deduplication=True), dataset=SHAREGPT),
    # tokens that the config adds
    Case("tokens_new", "tricky", QWEN, long(tokens=["<|note|>", "answer", "<think>"]), limit=60),
    Case(
        "tokens_in_phi",
        "tricky.system",
        PHI,
        long(tokens=["<|im_start|>", "<|im_end|>"], eot_tokens=["<|end|>"]),
        limit=60,
    ),
    Case(
        "special_tokens_new",
        "tricky",
        LLAMA,
        long(special_tokens={"pad_token": "[PAD]", "additional_special_tokens": ["you", "</s>"]}),
        limit=60,
    ),
    Case(
        "tokens_overridden",
        "tricky",
        LLAMA,
        long(
            chat_template="chatml",
            special_tokens={"eos_token": "<|im_end|>", "pad_token": "<|end_of_text|>"},
            added_tokens_overrides={128011: "<|im_start|>", 128012: "<|im_end|>"},
        ),
    ),
    Case("no_pad_token", "tricky", LLAMA, long(), limit=30),
    # messages under other keys, in parts, with a column `system`
    Case(
        "renamed_keys",
        "reason.plain_reasoned.renamed",
        QWEN,
        {"sequence_len": 8192},
        template="trl_qwen3",
        dataset={
            "field_messages": "turns",
            "message_property_mappings": {"role": "speaker", "content": "body", "reasoning_content": "thought"},
        },
    ),
    Case(
        "field_thinking",
        "reason.plain_reasoned.renamed",
        QWEN,
        {"sequence_len": 8192},
        template="trl_qwen3",
        dataset={
            "field_messages": "turns",
            "message_property_mappings": {"role": "speaker", "content": "body"},
            "field_thinking": "thought",
        },
    ),
    Case(
        "legacy_keys",
        "fastchat",
        MINI,
        long(),
        dataset={
            "field_messages": "conversations",
            "message_field_role": "from",
            "message_field_content": "value",
        },
        limit=60,
    ),
    Case("content_parts", "turkish.parts", QWEN, long(), limit=200),
    Case("content_parts_not_split", "turkish.parts", QWEN, long(), dataset={"split_thinking": True}, limit=60),
    Case("content_parts_tricky", "tricky.parts", LLAMA, long(**LLAMA_PAD)),
    Case(
        "thought_parts",
        "reason.thought_parts",
        QWEN,
        {"sequence_len": 8192},
        template="trl_qwen3",
        dataset={"message_field_training_detail": "detail"},
    ),
    Case("system_column", "turkish.system_column", QWEN, long(), limit=100),
    Case(
        "system_column_dropped", "turkish.system_column", PHI, long(), dataset={"drop_system_message": True}, limit=100
    ),
    Case(
        "train_on_eos_last_eot_all",
        "turkish.system",
        LLAMA,
        long(eot_tokens=["<|eot_id|>", "<|end_header_id|>"], **LLAMA_PAD),
        dataset={"train_on_eos": "last", "train_on_eot": "last"},
        limit=100,
    ),
    Case(
        "eot_conflict",
        "turkish",
        QWEN,
        long(eot_tokens=["<|im_end|>", "<|im_start|>"]),
        dataset={"train_on_eot": "all"},
        limit=20,
    ),
    Case("eot_of_two_tokens", "turkish", QWEN, long(eot_tokens=["helpful assistant"]), limit=20),
    # lengths of two-part rows and of texts, where each part is cut on its own
    *(
        Case(
            f"alpaca_length_{name}",
            "alpaca",
            tokenizer,
            {"sequence_len": 64, "excess_length_strategy": how, **more},
            dataset={"type": "alpaca"},
            limit=300,
        )
        for name, tokenizer, how, more in (
            ("cut", QWEN, "truncate", {}),
            ("cut_llama", LLAMA, "truncate", LLAMA_PAD),
            ("cut_t5", T5, "truncate", {}),
            ("drop", QWEN, "drop", {}),
        )
    ),
    Case(
        "completion_short",
        "c4",
        LLAMA,
        {"sequence_len": 8, "shuffle_merged_datasets": False, "min_sample_len": 4, **LLAMA_PAD},
        dataset={"type": "completion"},
        limit=60,
    ),
    Case(
        "completion_field",
        "c4.body",
        T5,
        long(shuffle_merged_datasets=False),
        dataset={"type": "completion", "field": "body"},
        limit=60,
    ),
    # packing, other ways
    Case(
        "packing_sequential",
        "turkish",
        QWEN,
        {
            "sample_packing": True,
            "sequence_len": 512,
            "curriculum_sampling": True,
            "sample_packing_sequentially": True,
        },
        batch={"size": 2, "count": 4},
    ),
    Case(
        "packing_bins",
        "turkish.system",
        PHI,
        {
            "sample_packing": True,
            "sequence_len": 2000,
            "curriculum_sampling": True,
            "sample_packing_bin_size": 3,
            "sample_packing_group_size": 100,
            "multipack_real_batches": False,
            "pad_to_multiple_of": 16,
        },
        batch={"size": 2, "count": 4},
    ),
    Case(
        "packing_sdpa",
        "turkish",
        LLAMA,
        {"sample_packing": True, "sequence_len": 512, "curriculum_sampling": True, "sdp_attention": True, **LLAMA_PAD},
        batch={"size": 2, "count": 4},
    ),
    Case(
        "packing_exact_width",
        "turkish",
        QWEN,
        {
            "sample_packing": True,
            "sequence_len": 512,
            "curriculum_sampling": True,
            "pad_to_sequence_len": False,
        },
        batch={"size": 2, "count": 4},
    ),
    # instruction types
    *(
        Case(
            f"type_{name.replace(':', '_as_').replace('.', '_')}",
            "alpaca.instruct_columns",
            LLAMA if number % 2 else QWEN,
            long(**(LLAMA_PAD if number % 2 else {})),
            dataset={"type": name},
            limit=40,
        )
        for number, name in enumerate(INSTRUCT)
    ),
)

LATE: tuple[Setting, ...] = (
    (late_cases.CHATS, "chat", LONG, {}),
    (late_cases.SHAREGPT, "sharegpt", LONG, SHAREGPT),
    (late_cases.ALPACA, "alpaca", LONG, {"type": "alpaca"}),
    (late_cases.TEXTS, "completion", LONG, {"type": "completion"}),
)


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as Axolotl's config."""
    entry = {"type": "chat_template", **case.dataset, "path": str(case.data_path()), "ds_type": "json"}
    return {
        "base_model": tokenizer,
        "sequence_len": 512,
        "micro_batch_size": case.batch.get("size", 1),  # as the runner gives it
        "datasets": [entry],
        **case.config,
    }
