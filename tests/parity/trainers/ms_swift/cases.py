"""ms-swift: its templates, loss scales, tools and cuts, on rows of its shapes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import late_rows
from case import Case
from late_cases import ALPACA, CHATS, PAIRS, QUERIES, SHAREGPT, Setting

QWEN, QWEN3, LLAMA, PHI, MINI, BERT, T5 = (
    "qwen2.5",
    "made:qwen3",
    "llama-3-8b-instruct",
    "phi-3-mini",
    "minimind",
    "bert-base-cased",
    "t5-small",
)


def _in(template: str, **more: Any) -> dict[str, Any]:
    return {"template": template, "max_length": 4096, **more}


BATCH = {"size": 4, "count": 3}
PACK: dict[str, Any] = {"packing": True, "max_length": 512, "dataset_shuffle": False}
PRETRAIN: dict[str, Any] = {"use_chat_template": False, "loss_scale": "all"}
TEMPLATES = (
    *(("qwen", QWEN), ("qwen2_5", QWEN), ("qwen2_5_math", QWEN), ("qwen3", QWEN3), ("qwen3_thinking", QWEN3)),
    *(("qwen3_nothinking", QWEN3), ("qwq", QWEN3), ("chatml", MINI), ("default", LLAMA), ("dummy", QWEN)),
    *(("llama", PHI), ("llama3", LLAMA), ("llama3_2", LLAMA), ("gemma", "own:gemma"), ("gemma3_text", "own:gemma")),
    *(("mistral_nemo", PHI), ("mistral_2501", LLAMA), ("phi3", PHI), ("phi4", LLAMA), ("deepseek", LLAMA)),
    *(("deepseek_coder", QWEN), ("deepseek_v2_5", QWEN), ("deepseek_r1", QWEN3), ("deepseek_v3_1", QWEN3)),
    *(("chatglm4", QWEN), ("glm4", QWEN), ("glm4_5", QWEN3), ("glm4_7", QWEN3), ("internlm2", MINI)),
    *(("yi_coder", MINI), ("baichuan", QWEN), ("hunyuan", QWEN3), ("zephyr", PHI), ("minicpm", PHI)),
)
"""The templates that are used most, each with a tokenizer that knows some of its words."""


def _templates(rows: str, kind: str, some: tuple[tuple[str, str], ...], **more: Any) -> tuple[Case, ...]:
    return tuple(Case(f"{kind}_{name}", rows, tokenizer, _in(name, **more), batch=BATCH) for name, tokenizer in some)


EACH_RUN = "odd odd_lists odd_queries text_qwen3 list_cut messages_llama3 pairs_delete"


def preferred(name: str, data: str, tokenizer: str, template: str, **config: Any) -> Case:
    """A preference, every row of it in batches, too."""
    whole, settings = {"size": 4, "count": 400}, {"rlhf_type": "dpo", **_in(template, **config)}
    return Case(f"dpo_{name}", f"{data}", tokenizer, settings, batch=whole, long=name not in EACH_RUN.split())


KTO = {"rlhf_type": "kto"}
TEXT, LIST, WHOLE, QUERY = (f"swift_prefers_{kind}" for kind in ("text", "list", "messages", "pairs"))
PREFERENCES = (
    preferred("text_qwen3", TEXT, QWEN3, "qwen3", loss_scale="default"),
    preferred("text_qwen2_5", TEXT, QWEN, "qwen2_5"),
    preferred("text_left", TEXT, LLAMA, "llama3", max_length=48, truncation_strategy="left"),
    preferred("text_strict", TEXT, QWEN, "qwen2_5", strict=True),
    preferred("list_cut", LIST, QWEN, "qwen2_5", max_length=64, truncation_strategy="right"),
    preferred("list_qwen3", LIST, QWEN3, "qwen3", loss_scale="hermes"),
    preferred("list_react", LIST, QWEN, "chatml", agent_template="react_en", loss_scale="default+react"),
    preferred("messages_llama3", WHOLE, LLAMA, "llama3"),
    preferred("messages_qwen3_all", WHOLE, QWEN3, "qwen3", loss_scale="all", padding_side="left"),
    preferred("pairs_delete", QUERY, QWEN, "qwen2_5", max_length=80),
    preferred("pairs_orpo", QUERY, QWEN3, "qwen3", rlhf_type="orpo"),
    preferred("pairs_simpo", QUERY, LLAMA, "llama3", rlhf_type="simpo", max_length=200),
    preferred("chats_cpo", "turkish.rivalled", QWEN, "qwen2_5", rlhf_type="cpo"),
    preferred("text_rm", TEXT, QWEN, "qwen2_5", rlhf_type="rm"),
    preferred("messages_rm_left", WHOLE, LLAMA, "llama3", rlhf_type="rm", max_length=60, truncation_strategy="left"),
    preferred("pairs_rm_cut", QUERY, QWEN3, "qwen3", rlhf_type="rm", max_length=60, truncation_strategy="right"),
    preferred("odd", "swift_prefers_odd", QWEN3, "qwen3"),
    preferred("odd_lists", "swift_prefers_odd_lists", QWEN3, "qwen3"),
    preferred("odd_queries", "swift_prefers_queries", QWEN, "qwen2_5"),
    preferred("kto", "swift_judged_chats", QWEN3, "qwen3", **KTO),
    preferred("kto_default", "swift_judged_chats", QWEN, "qwen2_5", **KTO, loss_scale="default"),
    preferred("kto_left", "swift_judged_chats", LLAMA, "llama3", **KTO, max_length=48, truncation_strategy="left"),
    preferred("kto_right", "swift_judged_queries", QWEN, "chatml", **KTO, max_length=64, truncation_strategy="right"),
    preferred("kto_queries", "swift_judged_queries", QWEN3, "qwen3", **KTO, loss_scale="all"),
    preferred("none_rejected", "swift_chats", QWEN, "qwen2_5"),
)
SMALL = (
    *(case for case in PREFERENCES if not case.long),
    Case("default_turkish_qwen2_5", "turkish", QWEN, _in("qwen2_5"), default=True, limit=300),
    Case("default_turkish_llama3", "turkish.system", LLAMA, _in("llama3"), default=True, limit=300),
    Case("default_alpaca_qwen3", "alpaca", QWEN3, _in("qwen3"), default=True, limit=200),
    Case("default_glaive_hermes", "glaive", QWEN, _in("qwen2_5"), default=True, limit=60),
    Case("whole_gsm8k_qwen2_5", "gsm8k", QWEN, _in("qwen2_5"), default=True),
    Case("default_reason_qwen3", "reason.reasoned", QWEN3, _in("qwen3", max_length=8192), default=True),
    *_templates("swift_chats", "odd", TEMPLATES[:30:2]),
    *_templates("swift_tools", "tools", (TEMPLATES[1], TEMPLATES[11], TEMPLATES[26])),
    Case("odd_broken", "swift_broken", QWEN, _in("qwen2_5")),
    Case("odd_pairs", "swift_pairs", QWEN, _in("qwen2_5")),
    Case("scale_last_round", "swift_chats", QWEN3, _in("qwen3", loss_scale="last_round")),
    Case("scale_all", "swift_chats", QWEN, _in("qwen2_5", loss_scale="all")),
    Case("scale_hermes", "swift_tools", QWEN, _in("qwen2_5", loss_scale="hermes")),
    Case("left", "turkish", QWEN, _in("qwen2_5", max_length=60, truncation_strategy="left"), limit=100),
    Case("delete", "turkish", QWEN, _in("qwen2_5", max_length=60), limit=100),
    Case(
        "split",
        "c4",
        QWEN,
        {**PRETRAIN, **_in("qwen2_5", max_length=100, truncation_strategy="split", dataset_shuffle=False)},
    ),
    Case("packs", "turkish", QWEN, {**_in("qwen2_5"), **PACK}, limit=200),
    Case("packs_mixed", "turkish", QWEN, {**_in("qwen2_5"), **PACK, "dataset_shuffle": True}, limit=200),
    Case(
        "packs_mixed_split",
        "swift_chats",
        QWEN,
        {**_in("qwen2_5"), **PACK, "dataset_shuffle": True, "data_seed": 7, "split_dataset_ratio": 0.1},
    ),
    Case("aside", "turkish", QWEN, _in("qwen2_5", split_dataset_ratio=0.25), limit=100),
    Case("aside_in_order", "turkish", QWEN, _in("qwen2_5", split_dataset_ratio=0.25, dataset_shuffle=False), limit=99),
)
"""What CI compares."""
LONG = (
    *(case for case in PREFERENCES if case.long),
    # whole sets in default settings
    Case("whole_turkish_qwen2_5", "turkish", QWEN, _in("qwen2_5"), default=True),
    Case("whole_turkish_phi3", "turkish.system", PHI, _in("phi3"), default=True),
    Case("whole_turkish_gemma", "turkish", "own:gemma", _in("gemma"), default=True),
    Case("whole_turkish_deepseek", "turkish", QWEN, _in("deepseek_v2_5"), default=True),
    Case("whole_alpaca_llama3", "alpaca", LLAMA, _in("llama3"), default=True),
    Case("whole_alpaca_zh_qwen3", "alpaca_zh", QWEN3, _in("qwen3"), default=True),
    Case("whole_alpaca_zh_glm4", "alpaca_zh", QWEN, _in("glm4"), default=True),
    Case("whole_gsm8k_llama3_2", "gsm8k", LLAMA, _in("llama3_2"), default=True),
    Case("whole_wwdc_qwen3", "wwdc", QWEN3, _in("qwen3"), default=True),
    Case("whole_fastchat_default", "fastchat", MINI, _in("default"), default=True),
    Case("whole_fastchat_qwen", "fastchat", QWEN, _in("qwen"), default=True),
    Case("whole_wikisql_qwen2_5", "wikisql", QWEN, _in("qwen2_5"), default=True),
    Case("whole_identity_phi4", "identity", LLAMA, _in("phi4"), default=True),
    Case("whole_toy_qwen2_5", "openai_toy", QWEN, _in("qwen2_5"), default=True),
    Case("whole_missing_turns", "missing_turns", QWEN, _in("qwen2_5"), default=True),
    Case("whole_reason_r1", "reason.reasoned", QWEN3, _in("deepseek_r1", max_length=8192), default=True),
    Case("whole_toolset", "toolset", QWEN, _in("qwen2_5"), default=True),
    Case("whole_toolset_messages", "toolset.messages", QWEN, _in("qwen2_5"), default=True),
    Case("whole_weights", "weights", QWEN, _in("qwen2_5"), default=True),
    Case("whole_glaive_hermes", "glaive", QWEN, _in("qwen2_5"), default=True),
    Case("whole_glaive_llama3", "glaive", LLAMA, _in("llama3"), default=True),
    Case("whole_glaive_glm4", "glaive", QWEN, _in("glm4"), default=True),
    Case("whole_glaive_react", "glaive", QWEN, _in("chatml", agent_template="react_en"), default=True),
    Case("whole_tricky_qwen3", "tricky", QWEN3, _in("qwen3"), default=True),
    Case("whole_special_texts", "special_texts", QWEN, _in("qwen2_5"), default=True),
    # every template on rows of every shape
    *_templates("swift_chats", "odd", TEMPLATES[1:30:2] + TEMPLATES[30:]),
    *_templates("turkish.system", "system", TEMPLATES),
    *_templates("swift_tools", "tools", TEMPLATES[:1] + TEMPLATES[2:11] + TEMPLATES[12:26] + TEMPLATES[27:]),
    *_templates("swift_tools", "binary", TEMPLATES[::3], agent_template="hermes"),
    *(
        Case(f"agent_{name}", "swift_tools", QWEN3, _in("qwen3", agent_template=name))
        for name in (
            *("react_en", "react_zh", "react_grpo", "qwen_en", "qwen_zh", "qwen_en_parallel", "qwen_zh_parallel"),
            *(
                "hunyuan_hermes",
                "toolbench",
                "chatglm4",
                "glm4",
                "glm4_5",
                "glm4_7",
                "glm5_1",
                "llama3",
                "llama4",
                "minimax_m2",
            ),
            *("deepseek_v3_1", "mistral"),
        )
    ),
    # eight settings and more, each on a set of chats
    *(
        Case(f"set_{name}_{rows}", made, QWEN3, _in("qwen3", **settings))
        for rows, made in (("chats", "swift_chats"), ("turkish", "turkish.system"), ("tools", "swift_tools"))
        for name, settings in (
            ("last_round", {"loss_scale": "last_round"}),
            ("all", {"loss_scale": "all"}),
            ("hermes", {"loss_scale": "hermes"}),
            ("react_all", {"loss_scale": "all+react", "agent_template": "react_en"}),
            ("qwen", {"loss_scale": "qwen", "agent_template": "qwen_en"}),
            ("chain", {"loss_scale": "last_round+hermes+ignore_empty_think"}),
            ("agentflan", {"loss_scale": "agentflan"}),
            ("alpha_umi", {"loss_scale": "default+alpha_umi"}),
            ("think_prefix", {"loss_scale": "ignore_think_prefix"}),
            ("empty_think", {"disable_ignore_empty_think": True}),
            ("no_prefix", {"add_non_thinking_prefix": False}),
            ("not_binary", {"is_binary_loss_scale": False}),
            ("binary", {"is_binary_loss_scale": True, "loss_scale": "hermes"}),
            ("preserve", {"preserve_thinking": False}),
            ("enable", {"enable_thinking": True, "preserve_thinking": False}),
            ("response_prefix", {"response_prefix": "So:\\n"}),
            ("system", {"system": "You are here.\\nBe brief."}),
            ("right", {"max_length": 40, "truncation_strategy": "right"}),
            ("left", {"max_length": 40, "truncation_strategy": "left", "loss_scale": "hermes"}),
            ("delete", {"max_length": 40}),
            ("pretrain", PRETRAIN),
            ("bare", {"use_chat_template": False}),
            ("padding_left", {"padding_side": "left", "per_device_train_batch_size": 4}),
            ("padding_free", {"padding_free": True}),
        )
    ),
    Case(
        "split_weights",
        "c4",
        LLAMA,
        {**_in("llama3"), **PRETRAIN, "max_length": 64, "truncation_strategy": "split", "dataset_shuffle": False},
    ),
    Case("split_chat", "turkish", QWEN, _in("qwen2_5", max_length=64, truncation_strategy="split"), limit=10),
    Case("no_system", "turkish.system", "own:gemma", _in("gemma3_text", system="x"), limit=10),
    Case("strict", "swift_broken", QWEN, _in("qwen2_5", strict=True)),
    Case("strict_long", "turkish", QWEN, _in("qwen2_5", strict=True, max_length=60), limit=100),
    Case("no_such_template", "turkish", QWEN, _in("qwen9"), limit=10),
    Case("no_such_scale", "turkish", QWEN, _in("qwen2_5", loss_scale="nothing"), limit=10),
    Case("no_such_agent", "swift_tools", QWEN, _in("qwen2_5", agent_template="nothing")),
    Case("no_template", "turkish", "made:no_model", {"max_length": 500}, limit=10),
    # tokenizers that end texts, or have no single token for `a`
    *(
        Case(f"ends_{short}_{name}", "swift_chats", tokenizer, _in(name))
        for short, tokenizer in (("bert", BERT), ("t5", T5), ("bytes", "new:bytes"))
        for name in ("chatml", "default", "qwen2_5")
    ),
    Case("ends_t5_pretrain", "c4", T5, {**_in("chatml"), **PRETRAIN}),
    Case("ends_bert_last", "swift_chats", BERT, _in("chatml", loss_scale="last_round")),
    # columns
    Case("columns", "gsm8k", QWEN, _in("qwen2_5", columns={"question": "response", "answer": "query"}), limit=50),
    Case("columns_off", "gsm8k", QWEN, _in("qwen2_5", disable_auto_column_mapping=True), limit=20),
    Case("columns_many", "alpaca.instruct_columns", QWEN, _in("qwen2_5"), limit=50),
    Case("columns_text", "c4", QWEN, _in("qwen2_5")),
    Case("columns_strings", "alpaca.strings", QWEN, _in("qwen2_5"), limit=100),
    Case("columns_split", "turkish.split_last", QWEN, _in("qwen2_5"), limit=50),
    Case("columns_system", "turkish.system_column", QWEN, _in("qwen2_5"), limit=100),
    Case("columns_sharegpt", "turkish.sharegpt", QWEN, _in("qwen2_5"), limit=100),
    Case("columns_history", "turkish.history", QWEN, _in("qwen2_5"), limit=100),
    Case("columns_parts", "turkish.parts", QWEN, _in("qwen2_5"), limit=50),
    Case("columns_flagged", "turkish.flagged", QWEN, _in("qwen2_5"), limit=50),
    Case("columns_reasoned", "reason.reasoned", QWEN3, _in("qwen3"), limit=50),
    Case("columns_calls", "glaive.openai", QWEN, _in("qwen2_5"), limit=50),
    # packs
    *(
        Case(f"packs_{name}", rows, tokenizer, {**_in(template), **PACK, **more})
        for name, rows, tokenizer, template, more in (
            ("all", "turkish.system", QWEN, "qwen2_5", {}),
            ("in_order", "turkish.system", QWEN, "qwen2_5", {"packing_strategy": "sequential"}),
            ("alpaca", "alpaca", LLAMA, "llama3", {}),
            ("many", "gsm8k", QWEN3, "qwen3", {"max_length": 300}),
            ("many_in_order", "gsm8k", QWEN3, "qwen3", {"packing_strategy": "sequential"}),
            ("length", "turkish", QWEN, "qwen2_5", {"packing_length": 100}),
            ("weights", "swift_tools", QWEN, "qwen2_5", {"loss_scale": "hermes"}),
        )
    ),
)
REJECTED = tuple(
    Case(f"{name}{end}", name, QWEN, _in("qwen2_5", **more))
    for end, more in (("", {}), ("_strict", {"strict": True}))
    for name in late_rows.SETS
    if name.startswith("rejected_")
)
CASES = (*SMALL, *(replace(case, long=True) for case in LONG), *REJECTED)
"""`SFTUI_PARITY_ALL=1` tries those marked long, too: 54,320 rows and packs, half an hour."""

LATE: tuple[Setting, ...] = (
    ((*CHATS, *SHAREGPT, *ALPACA, *QUERIES, *PAIRS, "rejected"), "default", _in("qwen2_5"), {}),
)
LATE_IN_CI = True


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the YAML of `swift sft`."""
    return {"model": tokenizer, "dataset": [str(case.data_path())], **case.config}
