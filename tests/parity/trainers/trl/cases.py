"""TRL: the settings that decide ids and labels, on rows that TRL accepts (and some that it refuses)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from case import Case
from late_cases import CHATS, PAIRS, SHAREGPT, TEXTS, Setting

QWEN, LLAMA, PHI, MINI, BERT, T5 = (
    "qwen2.5",
    "llama-3-8b-instruct",
    "phi-3-mini",
    "minimind",
    "bert-base-cased",
    "t5-small",
)


def pairs(name: str, objective: str, data: str, tokenizer: str, template: str | None = None, **config: Any) -> Case:
    """A preference, every row of it in batches, too."""
    batch = {"size": config.get("per_device_train_batch_size", 4), "count": 400}
    tokens = {"pad_token": "<|eot_id|>"} if objective in ("orpo", "cpo") and tokenizer == LLAMA else {}
    return Case(f"{objective}_{name}", data, tokenizer, config, template, tokens, batch=batch, objective=objective)


PREFERENCES = (
    *(
        case
        for objective in ("dpo", "orpo", "reward")
        for case in (
            pairs("messages_qwen", objective, "trl_pairs", QWEN),
            pairs("messages_llama_cut", objective, "trl_pairs", LLAMA, max_length=64),
            pairs("messages_phi", objective, "trl_pairs", PHI, max_length=200),
            pairs("messages_qwen3", objective, "trl_pairs.asked", QWEN, "trl_qwen3", max_length=96),
            pairs("implicit_llama", objective, "trl_pairs_implicit", LLAMA),
            pairs("tools_qwen", objective, "trl_pairs_tools", QWEN, max_length=300),
            pairs("texts_llama", objective, "trl_pairs_texts", LLAMA, max_length=48),
            pairs("texts_qwen", objective, "trl_pairs_texts", QWEN),
            pairs("texts_implicit_minimind", objective, "trl_pairs_texts_implicit", MINI),
            pairs("chats_turkish", objective, "turkish.sides_of", QWEN),
        )
    ),
    pairs("keep_end", "dpo", "trl_pairs", QWEN, max_length=64, truncation_mode="keep_end"),
    pairs("texts_keep_end", "dpo", "trl_pairs_texts", LLAMA, max_length=24, truncation_mode="keep_end"),
    pairs("multiple", "dpo", "trl_pairs", LLAMA, pad_to_multiple_of=16),
    pairs("messages_qwen", "cpo", "trl_pairs", QWEN, max_length=128),
    pairs("texts_llama", "cpo", "trl_pairs_texts", LLAMA),
    pairs("messages_qwen", "kto", "trl_pairs.labelled", QWEN, per_device_train_batch_size=4),
    pairs("messages_llama_cut", "kto", "trl_pairs.labelled", LLAMA, max_length=64, per_device_train_batch_size=7),
    pairs("messages_qwen3", "kto", "trl_pairs.labelled", QWEN, "trl_qwen3", per_device_train_batch_size=2),
    pairs("tools_qwen", "kto", "trl_pairs_tools.labelled", QWEN, per_device_train_batch_size=8),
    pairs("texts_llama", "kto", "trl_pairs_texts.labelled", LLAMA, max_length=40, per_device_train_batch_size=3),
    pairs("apo", "kto", "trl_pairs.labelled", QWEN, loss_type="apo_zero_unpaired", per_device_train_batch_size=4),
    pairs("pairs_qwen", "kto", "trl_pairs", QWEN, per_device_train_batch_size=4),
    pairs("implicit_llama", "kto", "trl_pairs_implicit", LLAMA, max_length=128, per_device_train_batch_size=4),
    pairs("chats_turkish", "kto", "turkish.sides_of.labelled", MINI, per_device_train_batch_size=4),
)

CASES = (
    *PREFERENCES,
    # the README's defaults, per format and tokenizer
    Case("default_messages_qwen", "turkish", QWEN, default=True),
    Case("default_messages_llama", "turkish.system", LLAMA, default=True),
    Case("default_messages_phi", "turkish.system", PHI, default=True),
    Case("default_messages_minimind", "weights.text", MINI, default=True),
    Case("default_strings_qwen", "wwdc", QWEN, default=True),
    Case("default_strings_llama", "gsm8k.strings", LLAMA, default=True),
    Case("default_text_phi", "wikisql", PHI, default=True),
    Case("default_text_minimind", "c4", MINI, default=True),
    Case("default_conversational_completion_qwen", "turkish.split_last", QWEN, default=True),
    Case("default_from_value_minimind", "fastchat", MINI, default=True),
    Case("default_from_value_llama", "fastchat", LLAMA, default=True),
    Case("default_tricky_qwen", "tricky", QWEN, default=True),
    Case("default_tricky_llama", "tricky", LLAMA, default=True),
    Case("default_tricky_phi", "tricky", PHI, default=True),
    Case("default_text_bert", "wikisql", BERT, limit=300, default=True),
    Case("default_text_t5", "c4", T5, limit=100, default=True),
    Case("default_strings_zh_minimind", "alpaca_zh.strings", MINI, default=True),
    # masks
    Case("assistant_only_swap_qwen", "turkish", QWEN, {"assistant_only_loss": True}),
    Case("assistant_only_swap_llama", "turkish.system", LLAMA, {"assistant_only_loss": True}),
    Case("assistant_only_swap_phi", "turkish.system", PHI, {"assistant_only_loss": True}, template="trl_phi3"),
    Case("assistant_only_swap_qwen3", "turkish.system", QWEN, {"assistant_only_loss": True}, template="trl_qwen3"),
    Case("assistant_only_own_marker", "tricky", QWEN, {"assistant_only_loss": True}, template="trl_qwen2_5_training"),
    Case("assistant_only_unknown_template", "turkish", MINI, {"assistant_only_loss": True}, limit=20),
    Case("assistant_only_no_assistant", "turkish.broken", QWEN, {"assistant_only_loss": True}, limit=40),
    Case("assistant_only_tricky_llama", "tricky", LLAMA, {"assistant_only_loss": True}),
    Case("assistant_only_tricky_phi", "tricky", PHI, {"assistant_only_loss": True}, template="trl_phi3"),
    Case("assistant_only_strings", "wwdc", QWEN, {"assistant_only_loss": True}, limit=20),
    Case("completion_only_off", "wwdc", QWEN, {"completion_only_loss": False}, limit=400),
    Case("completion_only_on_messages", "turkish", QWEN, {"completion_only_loss": True}, limit=100),
    Case("completion_and_assistant", "turkish.split_first", QWEN, {"assistant_only_loss": True}),
    Case(
        "completion_off_and_assistant",
        "turkish.split_last",
        LLAMA,
        {"assistant_only_loss": True, "completion_only_loss": False},
    ),
    Case("completion_many_turns", "turkish.split_first", LLAMA, limit=200),
    Case("boundary_spaced_qwen", "gsm8k.strings.spaced", QWEN, limit=400),
    Case("boundary_spaced_phi", "gsm8k.strings.spaced", PHI, limit=400),
    Case("boundary_inside_word_llama", "wwdc.inside_word", LLAMA, limit=400),
    Case("boundary_inside_word_minimind", "alpaca_zh.strings.inside_word", MINI, limit=400),
    Case("boundary_bert", "gsm8k.strings", BERT, limit=200),
    Case("boundary_think_qwen3", "turkish.split_last", QWEN, template="trl_qwen3_5_think", limit=200),
    # EOS and special tokens
    Case("eos_token_strings", "wwdc", QWEN, {"eos_token": "<|endoftext|>"}, limit=300),
    Case("eos_token_messages", "turkish", QWEN, {"eos_token": "<|endoftext|>"}, limit=100),
    Case("eos_token_unknown", "wwdc", QWEN, {"eos_token": "<eos>"}, limit=5),
    Case("text_field", "wikisql.body", LLAMA, {"dataset_text_field": "body"}, limit=300),
    Case("bos_and_eos_in_text", "wikisql.with_bos", LLAMA, limit=60),
    Case("text_bert_eos", "wikisql", BERT, tokens={"eos_token": "[SEP]"}, limit=200),
    Case("strings_bert_eos", "gsm8k.strings", BERT, tokens={"eos_token": "[SEP]"}, limit=200),
    # length
    Case("length_start", "turkish.split_last", QWEN, {"max_length": 64}),
    Case("length_end", "turkish.split_last", LLAMA, {"max_length": 64, "truncation_mode": "keep_end"}),
    Case("length_strings", "wwdc", PHI, {"max_length": 24}, limit=600),
    Case("length_all_dropped", "turkish.split_last", QWEN, {"max_length": 5}, limit=20),
    Case("length_none", "c4", QWEN, {"max_length": None}, limit=100),
    Case("length_assistant", "turkish", QWEN, {"assistant_only_loss": True, "max_length": 48}),
    # packing and the collator
    Case("pack_bfd", "turkish", QWEN, {"packing": True, "max_length": 512}),
    Case("pack_bfd_completion", "wwdc", LLAMA, {"packing": True, "max_length": 128}),
    Case("pack_bfd_split", "c4", MINI, {"packing": True, "packing_strategy": "bfd_split", "max_length": 256}),
    Case("pack_wrapped", "wikisql", QWEN, {"packing": True, "packing_strategy": "wrapped", "max_length": 256}),
    Case(
        "pack_wrapped_completion",
        "gsm8k.strings",
        QWEN,
        {"packing": True, "packing_strategy": "wrapped", "max_length": 200},
    ),
    *(
        Case(
            f"pack_shuffled_{strategy}_{seed}",
            data,
            QWEN,
            {"packing": True, "packing_strategy": strategy, "max_length": 256, "shuffle_dataset": True, **more},
        )
        for strategy, data in (("bfd", "turkish"), ("bfd_split", "wikisql"), ("wrapped", "wikisql"))
        for seed, more in ((42, {}), (7, {"seed": 7}))
    ),
    Case("shuffled", "turkish", QWEN, {"max_length": 128, "shuffle_dataset": True}),
    Case("pack_no_length", "wikisql", QWEN, {"packing": True, "max_length": None}, limit=10),
    Case("padding_free", "turkish", QWEN, {"padding_free": True, "max_length": None}, limit=60),
    Case("padding_free_with_length", "turkish", QWEN, {"padding_free": True}, limit=10),
    Case("pad_multiple", "turkish", PHI, {"pad_to_multiple_of": 16}, limit=60),
    Case("pad_is_eos", "wwdc", LLAMA, limit=60),
    # tools, reasoning, template variables
    Case("tools_qwen", "toolset.messages", QWEN),
    Case("tools_json_text", "glaive.openai", QWEN),
    Case("tools_reasoning_qwen3", "reason.reasoned", QWEN, {"max_length": 8192}, template="trl_qwen3"),
    Case(
        "tools_reasoning_assistant",
        "reason.reasoned",
        QWEN,
        {"assistant_only_loss": True, "max_length": 8192},
        template="trl_qwen3",
    ),
    Case("reasoning_completion", "reason.plain_reasoned.split_last", QWEN, {"max_length": 4096}, template="trl_qwen3"),
    Case("think_in_text_qwen3", "reason.think_text", QWEN, {"max_length": 4096}, template="trl_qwen3"),
    Case("template_kwargs", "turkish.no_think.split_last", QWEN, template="trl_qwen3", limit=200),
    # other inputs
    Case("typed_parts", "weights", QWEN, limit=20),
    Case("alpaca_columns", "alpaca", QWEN, limit=10),
    Case("conversations_role_content", "toolset", QWEN, limit=10),
    Case("ids", "turkish.ids", QWEN, limit=100),
    Case("ids_empty", "turkish.ids_empty", QWEN, limit=40, long=True),
    Case("ids_empty_uncut", "turkish.ids_empty", QWEN, {"max_length": None}, limit=40, long=True),
    Case("ids_empty_bfd", "turkish.ids_empty", QWEN, {"packing": True, "max_length": 64}, limit=40, long=True),
    Case("ids_completion_mask", "turkish.ids_completion", QWEN, limit=100),
    Case("ids_completion_mask_on", "turkish.ids_completion", QWEN, {"completion_only_loss": True}, limit=100),
    Case("ids_assistant_masks", "turkish.ids_assistant", QWEN, limit=100),
    Case("ids_labels", "turkish.ids_labels", QWEN, {"max_length": 24}, limit=100),
)

LATE: tuple[Setting, ...] = (
    ((*CHATS, *PAIRS, *TEXTS, *SHAREGPT), "default", {}, {}),
    (CHATS, "answers", {"assistant_only_loss": True}, {}),
)


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the config of TRL's script."""
    data = {"path": "json", "data_files": str(case.data_path())}
    return {"model_name_or_path": tokenizer, "datasets": [data], **case.config}
