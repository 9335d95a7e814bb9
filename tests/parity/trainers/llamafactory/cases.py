"""LLaMA-Factory: templates, masks, proportional cuts, packing, on rows of its formats."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import late_cases
from case import Case
from late_cases import Setting
from trainers.llamafactory.rows import STOPPING, UNPAIRED

QWEN, LLAMA, PHI, MINI = "qwen2.5", "llama-3-8b-instruct", "phi-3-mini", "minimind"
OPENAI_TAGS = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "system_tag": "system",
}
MESSAGES = {"formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": OPENAI_TAGS}
SHAREGPT = {"formatting": "sharegpt", "columns": {"messages": "conversations"}}
TOOLS = {"formatting": "sharegpt", "columns": {"messages": "conversations", "tools": "tools"}}
OPENAI: dict[str, Any] = {
    "formatting": "openai",
    "columns": {"messages": "messages", "tools": "tools"},
    "tags": {**OPENAI_TAGS, "observation_tag": "tool", "function_tag": "function_call"},
}
TEXT = {"columns": {"prompt": "text"}}
STRINGS = {"columns": {"prompt": "prompt", "response": "completion"}}
HISTORY = {
    "columns": {
        "prompt": "instruction",
        "query": "input",
        "response": "output",
        "system": "system",
        "history": "history",
    }
}
RANKED = {
    "ranking": True,
    "columns": {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"},
}
RANKED_ALL = {
    **RANKED,
    "columns": {**RANKED["columns"], "system": "system", "tools": "tools", "history": "history"},  # type: ignore[dict-item]
}
SIDES = {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"}
RANKED_TURNS = {"formatting": "sharegpt", "ranking": True, "columns": {**SIDES, "tools": "tools"}}
RANKED_MESSAGES = {
    "formatting": "sharegpt",
    "ranking": True,
    "columns": SIDES,
    "tags": {**OPENAI_TAGS, "observation_tag": "tool", "function_tag": "function"},
}
RANKED_OPENAI = {**RANKED_MESSAGES, "formatting": "openai", "columns": {**SIDES, "tools": "tools"}}


EACH_RUN = (
    "alpaca_rm_llama3 alpaca_packing tools_glaive texts_qwen3_null texts_breeze turns_qwen messages_qwen openai_qwen"
    " kto_alpaca kto_texts kto_turns stopping_unknown stopping_kto_uneven"
)


def pairs(name: str, data: str, tokenizer: str, dataset: Any, template: str, **config: Any) -> Case:
    """A preference, every row of it in batches, too."""
    more = {"stage": "dpo", "template": template or None, **config}
    whole = {"size": 4, "count": 400}
    return Case(f"pairs_{name}", data, tokenizer, more, dataset=dataset, batch=whole, long=name not in EACH_RUN.split())


TAGGED = {"columns": {"prompt": "instruction", "query": "input", "response": "output", "kto_tag": "kto_tag"}}
TAGGED_TURNS = {
    "formatting": "sharegpt",
    "columns": {"messages": "conversations", "kto_tag": "kto_tag", "tools": "tools"},
}
UNTOOLED = {"formatting": "sharegpt", "columns": {"messages": "conversations", "kto_tag": "kto_tag"}}
PAIRS = (
    pairs("alpaca_qwen", "alpaca.ranked", QWEN, RANKED, "qwen"),
    pairs("alpaca_rm_llama3", "alpaca.ranked", LLAMA, RANKED, "llama3", stage="rm"),
    pairs("alpaca_cut", "alpaca.ranked", QWEN, RANKED, "qwen", cutoff_len=64),
    pairs("alpaca_packing", "alpaca.ranked", QWEN, RANKED, "qwen", cutoff_len=64, packing=True),
    pairs("tools_glaive", "glaive.preferred", QWEN, RANKED_TURNS, "qwen", cutoff_len=600),
    pairs("turkish", "turkish.preferred", MINI, RANKED_MESSAGES, "chatml"),
    pairs("texts_default", "pairs_of_texts", QWEN, RANKED_ALL, "default", cutoff_len=100),
    *(
        pairs(f"texts_qwen3_{name}", "pairs_of_texts", QWEN, RANKED_ALL, "qwen3", cutoff_len=cut, **more)
        for name, cut, more in (
            ("thinking", 2048, {"enable_thinking": True}),
            ("off", 80, {"enable_thinking": False}),
            ("null", 120, {"enable_thinking": None}),
            ("kept", 2048, {"enable_thinking": False, "preserve_thinking": True}),
        )
    ),
    pairs("texts_llama2", "pairs_of_texts", PHI, RANKED_ALL, "llama2", cutoff_len=90),
    pairs("texts_breeze", "pairs_of_texts", LLAMA, RANKED_ALL, "breeze", cutoff_len=50),
    pairs("texts_pad_labels", "pairs_of_texts", QWEN, RANKED_ALL, "falcon", ignore_pad_token_for_loss=False),
    pairs("turns_qwen", "pairs_of_turns", QWEN, RANKED_TURNS, "qwen", cutoff_len=70),
    pairs("turns_llama3", "pairs_of_turns", LLAMA, RANKED_TURNS, "llama3", cutoff_len=200),
    pairs("turns_qwen3_null", "pairs_of_turns", QWEN, RANKED_TURNS, "qwen3", enable_thinking=None),
    pairs("turns_deepseekr1_rm", "pairs_of_turns", LLAMA, RANKED_TURNS, "deepseekr1", stage="rm", cutoff_len=150),
    pairs("turns_mistral", "pairs_of_turns", PHI, RANKED_TURNS, "mistral", cutoff_len=2048),
    pairs("messages_qwen", "pairs_of_messages", QWEN, RANKED_MESSAGES, "qwen", cutoff_len=128),
    pairs("openai_qwen", "pairs_of_messages", QWEN, RANKED_OPENAI, "qwen", cutoff_len=256),
    pairs("openai_qwen3", "pairs_of_messages", QWEN, RANKED_OPENAI, "qwen3", enable_thinking=False),
    pairs("kto_alpaca", "alpaca.ranked.tagged", QWEN, TAGGED, "qwen", stage="kto", preprocessing_batch_size=100),
    pairs(
        "kto_texts", "pairs_of_texts.tagged", QWEN, TAGGED, "qwen3", stage="kto", cutoff_len=64, enable_thinking=None
    ),
    pairs("kto_turns", "pairs_of_turns.tagged", LLAMA, TAGGED_TURNS, "llama3", stage="kto"),
    *(
        pairs(f"stopping_{name}", f"pair_of_{name}", QWEN, {**RANKED_TURNS, "columns": SIDES}, "qwen")
        for name in STOPPING
    ),
    *(pairs(f"stopping_kto_{name}", f"kto_{name}", QWEN, UNTOOLED, "qwen", stage="kto") for name in UNPAIRED),
    pairs("tokenizers_own", "pairs_of_turns", QWEN, RANKED_TURNS, "", cutoff_len=128),
)

CASES = (
    *PAIRS,
    # the README's defaults: alpaca, sharegpt and openai rows, one template a model family
    Case("default_alpaca_qwen", "alpaca", QWEN, {"template": "qwen"}, default=True),
    Case("default_alpaca_llama3", "alpaca", LLAMA, {"template": "llama3"}, default=True),
    Case("default_alpaca_zh_qwen", "alpaca_zh", QWEN, {"template": "qwen"}, default=True),
    Case("default_messages_qwen", "turkish", QWEN, {"template": "qwen"}, dataset=MESSAGES, default=True),
    Case("default_messages_llama3", "turkish.system", LLAMA, {"template": "llama3"}, dataset=MESSAGES, default=True),
    Case("default_messages_phi", "turkish.system", PHI, {"template": "phi"}, dataset=MESSAGES, default=True),
    Case("default_sharegpt_chatml", "fastchat", MINI, {"template": "chatml"}, dataset=SHAREGPT, default=True),
    Case("default_tricky_qwen", "tricky", QWEN, {"template": "qwen"}, dataset=MESSAGES, default=True),
    Case("default_tricky_llama3", "tricky", LLAMA, {"template": "llama3"}, dataset=MESSAGES, default=True),
    Case("default_tricky_phi", "tricky", PHI, {"template": "phi"}, dataset=MESSAGES, default=True),
    Case("default_strings_qwen", "wwdc", QWEN, {"template": "qwen"}, dataset=STRINGS, default=True),
    # a history of whatever gives two things
    Case("history_of_objects", "history_of_objects", QWEN, {"template": "qwen"}, dataset=HISTORY),
    Case("history_of_texts", "history_of_texts", QWEN, {"template": "qwen"}, dataset=HISTORY),
    # every one of the ten templates
    *(
        Case(f"template_{name}", "tricky", tokenizer, {"template": name}, dataset=MESSAGES)
        for name, tokenizer in (
            ("default", QWEN),
            ("alpaca", QWEN),
            ("chatml", QWEN),
            ("qwen3", QWEN),
            ("gemma", QWEN),
            ("mistral", LLAMA),
            ("phi", LLAMA),
            ("deepseek3", QWEN),
            ("llama3", QWEN),
            ("empty", QWEN),
        )
    ),
    *(
        Case(f"template_{name}", "tricky", tokenizer, {"template": name}, dataset=MESSAGES)
        for name, tokenizer in (
            ("chatml_de", MINI),
            ("yi", LLAMA),
            ("smollm", QWEN),
            ("smollm2", PHI),
            ("deepseek", LLAMA),
            ("deepseekr1", LLAMA),
            ("falcon", QWEN),
            ("gemma2", PHI),
            ("granite3", QWEN),
            ("llama2", PHI),
            ("phi4", LLAMA),
            ("solar", QWEN),
            ("vicuna", PHI),
            ("zephyr", PHI),
            ("mimo", QWEN),
        )
    ),
    *(
        Case(f"tools_{name}", "glaive", tokenizer, {"template": name, "cutoff_len": 4096}, dataset=TOOLS, limit=60)
        for name, tokenizer in (
            ("llama2", PHI),
            ("gemma2", QWEN),
            ("zephyr", PHI),
            ("granite3", LLAMA),
            ("deepseekr1", PHI),
            ("solar", LLAMA),
        )
    ),
    Case("template_default_turkish", "turkish.system", LLAMA, {"template": "default"}, dataset=MESSAGES, limit=200),
    Case("template_alpaca_turkish", "turkish.system", LLAMA, {"template": "alpaca"}, dataset=MESSAGES, limit=200),
    Case("template_gemma_turkish", "turkish.system", PHI, {"template": "gemma"}, dataset=MESSAGES, limit=200),
    Case("template_mistral_turkish", "turkish.system", PHI, {"template": "mistral"}, dataset=MESSAGES, limit=200),
    Case("template_deepseek3_turkish", "turkish.system", LLAMA, {"template": "deepseek3"}, dataset=MESSAGES, limit=200),
    Case("template_of_tokenizer", "turkish.system", QWEN, {"template": None}, dataset=MESSAGES, limit=100),
    Case("template_of_tokenizer_phi", "turkish", PHI, {"template": None}, dataset=MESSAGES, limit=100),
    # masks
    Case("train_on_prompt", "turkish.system", QWEN, {"template": "qwen", "train_on_prompt": True}, dataset=MESSAGES),
    Case("mask_history", "turkish.system", QWEN, {"template": "qwen", "mask_history": True}, dataset=MESSAGES),
    Case(
        "mask_history_and_prompt",
        "turkish",
        QWEN,
        {"template": "qwen", "mask_history": True, "train_on_prompt": True},
        dataset=MESSAGES,
        limit=10,
    ),
    Case("efficient_eos", "turkish.system", LLAMA, {"template": "breeze"}, dataset=MESSAGES, limit=200),
    Case(
        "efficient_eos_mask_history",
        "turkish",
        LLAMA,
        {"template": "breeze", "mask_history": True},
        dataset=MESSAGES,
        limit=200,
    ),
    Case(
        "efficient_eos_cut",
        "turkish.system",
        LLAMA,
        {"template": "breeze", "cutoff_len": 64},
        dataset=MESSAGES,
        limit=200,
    ),
    # system, roles, dropped rows
    Case(
        "default_system",
        "turkish",
        QWEN,
        {"template": "qwen", "default_system": "Be brief."},
        dataset=MESSAGES,
        limit=200,
    ),
    Case(
        "default_system_llama",
        "turkish",
        LLAMA,
        {"template": "llama3", "default_system": "Kısa konuş."},
        dataset=MESSAGES,
        limit=100,
    ),
    Case("broken_turns", "turkish.broken", QWEN, {"template": "qwen"}, dataset=MESSAGES),
    Case(
        "no_system_tag",
        "turkish.system",
        QWEN,
        {"template": "qwen"},
        dataset={**MESSAGES, "tags": {k: v for k, v in OPENAI_TAGS.items() if k != "system_tag"}},
        limit=40,
    ),
    Case(
        "openai_format",
        "turkish.system",
        QWEN,
        {"template": "qwen"},
        dataset={"formatting": "openai", "columns": {"messages": "messages"}, "tags": OPENAI_TAGS},
        limit=200,
    ),
    Case("history", "turkish.history", QWEN, {"template": "qwen"}, dataset=HISTORY),
    Case(
        "history_masked",
        "turkish.history",
        LLAMA,
        {"template": "llama3", "mask_history": True},
        dataset=HISTORY,
        limit=200,
    ),
    Case(
        "query_not_mapped",
        "alpaca",
        QWEN,
        {"template": "qwen"},
        dataset={"columns": {"prompt": "instruction", "response": "output"}},
        limit=100,
    ),
    Case("columns_absent", "wwdc", QWEN, {"template": "qwen"}, limit=10),
    Case("max_samples", "alpaca", QWEN, {"template": "qwen", "max_samples": 30}, limit=100),
    # length
    Case("cut_many_turns", "turkish.system", QWEN, {"template": "qwen", "cutoff_len": 64}, dataset=MESSAGES),
    Case("cut_many_turns_llama", "turkish.system", LLAMA, {"template": "llama3", "cutoff_len": 100}, dataset=MESSAGES),
    Case("cut_one_turn", "alpaca", QWEN, {"template": "qwen", "cutoff_len": 64}),
    Case("cut_one_turn_tiny", "alpaca", LLAMA, {"template": "llama3", "cutoff_len": 12}, limit=300),
    Case(
        "cut_mask_history",
        "turkish.system",
        QWEN,
        {"template": "qwen", "cutoff_len": 64, "mask_history": True},
        dataset=MESSAGES,
    ),
    Case(
        "cut_train_on_prompt",
        "turkish",
        PHI,
        {"template": "phi", "cutoff_len": 48, "train_on_prompt": True},
        dataset=MESSAGES,
    ),
    # packing and the collator
    Case("packing", "turkish", QWEN, {"template": "qwen", "packing": True, "cutoff_len": 512}, dataset=MESSAGES),
    Case("packing_alpaca", "alpaca", LLAMA, {"template": "llama3", "packing": True, "cutoff_len": 256}),
    Case(
        "neat_packing", "turkish", QWEN, {"template": "qwen", "neat_packing": True, "cutoff_len": 512}, dataset=MESSAGES
    ),
    Case(
        "neat_packing_flash",
        "turkish",
        QWEN,
        {"template": "qwen", "neat_packing": True, "cutoff_len": 512, "flash_attn": "fa2"},
        dataset=MESSAGES,
        limit=60,
        batch={"size": 1, "count": 8},
    ),
    Case(
        "neat_packing_small_group",
        "alpaca",
        QWEN,
        {"template": "qwen", "neat_packing": True, "cutoff_len": 400, "preprocessing_batch_size": 100},
    ),
    Case(
        "packing_groups_with_dropped",
        "turkish.broken",
        QWEN,
        {"template": "qwen", "packing": True, "cutoff_len": 512, "preprocessing_batch_size": 3},
        dataset=MESSAGES,
    ),
    Case(
        "pad_labels",
        "turkish",
        LLAMA,
        {"template": "llama3", "ignore_pad_token_for_loss": False},
        dataset=MESSAGES,
        limit=40,
    ),
    Case("left_padding_tokenizer", "turkish", PHI, {"template": "phi"}, dataset=MESSAGES, limit=40),
    # tools and reasoning
    Case("tools_qwen", "glaive", QWEN, {"template": "qwen", "cutoff_len": 4096}, dataset=TOOLS),
    Case("tools_llama3", "glaive", LLAMA, {"template": "llama3", "cutoff_len": 4096}, dataset=TOOLS),
    Case("tools_default", "glaive", LLAMA, {"template": "default", "cutoff_len": 4096}, dataset=TOOLS),
    Case("tools_mistral", "glaive", PHI, {"template": "mistral", "cutoff_len": 4096}, dataset=TOOLS, limit=100),
    *(
        Case(f"tools_{name}", "glaive", tokenizer, {"template": name, "cutoff_len": 4096}, dataset=TOOLS, limit=60)
        for name, tokenizer in (
            ("alpaca", QWEN),
            ("chatml", LLAMA),
            ("qwen3", QWEN),
            ("qwen3_nothink", LLAMA),
            ("gemma", PHI),
            ("phi", PHI),
            ("deepseek3", LLAMA),
            ("empty", MINI),
            ("breeze", MINI),
        )
    ),
    Case("tools_of_tokenizer", "glaive", QWEN, {"template": None, "cutoff_len": 4096}, dataset=TOOLS, limit=60),
    Case(
        "tools_thinking_off_qwen3",
        "glaive",
        QWEN,
        {"template": "qwen3", "cutoff_len": 4096, "enable_thinking": False},
        dataset=TOOLS,
        limit=60,
    ),
    Case(
        "tools_mask_history_llama3",
        "glaive",
        LLAMA,
        {"template": "llama3", "cutoff_len": 700, "mask_history": True},
        dataset=TOOLS,
        limit=60,
    ),
    Case(
        "tools_openai_qwen",
        "glaive.openai",
        QWEN,
        {"template": "qwen", "cutoff_len": 4096},
        dataset={**OPENAI, "tags": {**OPENAI["tags"], "function_tag": "assistant"}},
        limit=60,
    ),
    Case("tools_calls_openai", "reason.reasoned", QWEN, {"template": "qwen", "cutoff_len": 4096}, dataset=OPENAI),
    Case(
        "tool_format_llama3_efficient",
        "glaive",
        LLAMA,
        {"template": "breeze", "tool_format": "llama3", "cutoff_len": 4096},
        dataset=TOOLS,
        limit=60,
    ),
    Case("template_qwen3_nothink", "tricky", LLAMA, {"template": "qwen3_nothink"}, dataset=MESSAGES),
    Case("template_breeze", "tricky", PHI, {"template": "breeze"}, dataset=MESSAGES),
    Case("template_chatml_minimind", "tricky", MINI, {"template": "chatml"}, dataset=MESSAGES),
    Case(
        "tool_format_qwen_on_default",
        "glaive",
        QWEN,
        {"template": "default", "tool_format": "qwen", "cutoff_len": 4096},
        dataset=TOOLS,
        limit=100,
    ),
    Case("thinking_qwen3", "turkish", QWEN, {"template": "qwen3"}, dataset=MESSAGES),
    Case("thinking_off_qwen3", "turkish", QWEN, {"template": "qwen3", "enable_thinking": False}, dataset=MESSAGES),
    Case("thinking_text_qwen3", "reason.think_text", QWEN, {"template": "qwen3", "cutoff_len": 4096}, dataset=MESSAGES),
    Case(
        "thinking_text_off_qwen3",
        "reason.think_text",
        QWEN,
        {"template": "qwen3", "cutoff_len": 4096, "enable_thinking": False},
        dataset=MESSAGES,
    ),
    Case(
        "thinking_preserved_qwen3",
        "reason.think_text",
        QWEN,
        {"template": "qwen3", "cutoff_len": 4096, "preserve_thinking": True},
        dataset=MESSAGES,
    ),
    Case(
        "thinking_mask_history_qwen3",
        "reason.think_text",
        QWEN,
        {"template": "qwen3", "cutoff_len": 4096, "mask_history": True},
        dataset=MESSAGES,
    ),
    Case("thinking_nothink_template", "turkish", QWEN, {"template": "qwen3_nothink"}, dataset=MESSAGES, limit=100),
    # tokens that the config adds
    Case(
        "add_tokens",
        "turkish",
        QWEN,
        {"template": "qwen", "add_tokens": "ne, bir", "resize_vocab": True},
        dataset=MESSAGES,
        limit=60,
    ),
    Case(
        "add_special_tokens",
        "turkish",
        LLAMA,
        {"template": "llama3", "add_special_tokens": "bir,<|extra|>", "resize_vocab": True},
        dataset=MESSAGES,
        limit=60,
    ),
    # stage pt
    Case("pretrain_blocks", "c4", QWEN, {"template": "qwen", "stage": "pt", "cutoff_len": 256}, dataset=TEXT),
    Case(
        "pretrain_blocks_said",
        "c4",
        LLAMA,
        {"template": "llama3", "stage": "pt", "cutoff_len": 256, "packing": True},
        dataset=TEXT,
    ),
    Case(
        "pretrain_rows",
        "c4",
        LLAMA,
        {"template": "llama3", "stage": "pt", "cutoff_len": 300, "packing": False},
        dataset=TEXT,
    ),
    Case(
        "pretrain_rows_phi",
        "c4",
        PHI,
        {"template": "phi", "stage": "pt", "cutoff_len": 300, "packing": False},
        dataset=TEXT,
    ),
    Case("pretrain_rows_qwen", "c4", QWEN, {"template": "default", "stage": "pt", "packing": False}, dataset=TEXT),
    Case(
        "pretrain_bos",
        "c4",
        PHI,
        {"template": "default", "stage": "pt", "cutoff_len": 300, "packing": False},
        dataset=TEXT,
        tokens={"add_bos_token": True},
    ),
    Case(
        "pretrain_bos_blocks",
        "c4",
        PHI,
        {"template": "default", "stage": "pt", "cutoff_len": 300},
        dataset=TEXT,
        tokens={"add_bos_token": True},
    ),
    Case(
        "pretrain_chat",
        "turkish",
        QWEN,
        {"template": "qwen", "stage": "pt", "packing": False},
        dataset=MESSAGES,
        limit=60,
    ),
)

LATE_ALL = {"prompt": "instruction", "query": "input", "response": "output", "system": "system", "history": "history"}
LATE_COLUMNS = {"system": "system", "tools": "tools"}
LATE: tuple[Setting, ...] = (
    (
        ("tools_text", "system", "nested"),
        "named",
        {"template": "qwen"},
        {**MESSAGES, "columns": {"messages": "messages", **LATE_COLUMNS}},
    ),
    (late_cases.CHATS, "plain", {"template": "qwen"}, MESSAGES),
    (
        late_cases.SHAREGPT,
        "named",
        {"template": "qwen"},
        {**SHAREGPT, "columns": {"messages": "conversations", **LATE_COLUMNS}},
    ),
    (late_cases.ALPACA, "default", {"template": "qwen"}, {}),
    (late_cases.ALPACA, "named", {"template": "qwen"}, {"columns": LATE_ALL}),
)


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as LLaMA-Factory's config; dataset_info.json and the data are put beside it, into `work`."""
    data = case.data_path()
    shutil.copy(data, work / data.name)
    info = {"rows": {"file_name": data.name, **case.dataset}}
    (work / "dataset_info.json").write_text(json.dumps(info), encoding="utf-8")
    return {
        "model_name_or_path": tokenizer,
        "stage": "sft",
        "do_train": True,
        "dataset": "rows",
        "dataset_dir": str(work),
        **case.config,
    }
