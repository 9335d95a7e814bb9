"""NeMo Automodel: chats and agents' chats, questions and answers, its masks, cuts, packs, and what stops it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from case import Case, shared_folder
from late_cases import CHATS, Setting

from sftui.trainers.nemo_automodel.config import COLLATER, HF_TOKENIZER, TARGETS, THD

QWEN, QWEN3, LLAMA, PHI, MINI, BERT, T5 = (
    "qwen2.5",
    "made:qwen3",
    "llama-3-8b-instruct",
    "phi-3-mini",
    "minimind",
    "bert-base-cased",
    "t5-small",
)
BATCH = {"size": 4, "count": 40}
LEFT = {"padding_side": "left"}
"""A tokenizer that pads on the left: with that and its BOS, Llama 3's is the second one of every run."""
AGENT: dict[str, Any] = {"_target_": TARGETS["agent"]}
COLUMNS: dict[str, Any] = {"_target_": TARGETS["columns"]}
PAIRS = {**COLUMNS, "column_mapping": {"question": "prompt", "answer": "completion"}}
ALPACA = {**COLUMNS, "column_mapping": {"context": "input", "question": "instruction", "answer": "output"}}
GSM = {**COLUMNS, "column_mapping": {"question": "question", "answer": "answer"}}
SQUAD, XLAM = {"_target_": TARGETS["squad"]}, {"_target_": TARGETS["xlam"]}
LAST: dict[str, Any] = {"mask_history": True}
OPENED: dict[str, Any] = {"mask_generation_prompt": True}
THOUGHTS: dict[str, Any] = {"mask_reasoning_content": True}
DIVISIBLE = {"_target_": COLLATER, "pad_seq_len_divisible": 64}
ODD = {"context": "c", "question": "q", "answer": "a"}
TAGS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\n{% endfor %}"
)
TEMPLATES = {
    "trl_deepseekv3": QWEN3,
    "trl_gemma": QWEN3,
    "trl_gemma3": MINI,
    "trl_glm4moe": QWEN3,
    "trl_gptoss": QWEN3,
    "trl_llama3_1": LLAMA,
    "trl_llama3_2": LLAMA,
    "trl_lfm2": QWEN,
    "trl_nemotron_3_ultra": QWEN3,
    "trl_phi3_5": PHI,
    "trl_qwen3_5_nothink": QWEN3,
    "trl_qwen3_vl": QWEN3,
    "trl_tiny_aya": QWEN,
    "trl_llama3_training": LLAMA,
    "trl_gemma3_training": MINI,
    "trl_phi3_training": PHI,
    "trl_qwen3_instruct_2507_training": QWEN3,
}
"""Published templates and the tokenizers that they are tried with."""
WITH_SYSTEM = ("trl_gemma", "trl_phi3_5", "trl_gemma3", "trl_llama3_1")


def by(template: str) -> dict[str, Any]:
    """A published template as a file that the dataset's `chat_template` names."""
    return {"chat_template": str(shared_folder() / "testdata" / "templates" / f"{template}.jinja")}


def cut(size: int, **more: Any) -> dict[str, Any]:
    return {"seq_length": size, "truncation": True, **more}


def packed(size: int, strategy: str) -> dict[str, Any]:
    return {"packed_sequence": {"packed_sequence_size": size, "packing_strategy": strategy}}


EVERY = (
    # ChatDataset as it comes
    Case("default_turkish_qwen", "turkish", QWEN3, default=True, batch=BATCH),
    Case("default_turkish_llama", "turkish.system", LLAMA, default=True),
    Case("default_turkish_phi", "turkish.system", PHI, default=True),
    Case("default_fastchat_qwen", "fastchat", QWEN3, default=True),
    Case("default_fastchat_minimind", "fastchat", MINI, default=True),
    Case("default_toolset_qwen", "toolset.messages", QWEN, default=True),
    Case("default_reason_qwen3", "reason.plain_reasoned", QWEN3, default=True, dataset=by("trl_qwen3")),
    Case("default_toy_llama", "openai_toy", LLAMA, default=True),
    Case("default_weights_qwen", "weights", QWEN, default=True),
    Case("default_gsm8k_qwen", "gsm8k.strings.chat_pairs", QWEN3, default=True),
    Case("default_wwdc_qwen", "wwdc.chat_pairs", QWEN, default=True),
    Case("default_gsm8k_llama", "gsm8k.strings.chat_pairs", LLAMA, default=True),
    Case("default_wwdc_phi", "wwdc.chat_pairs", PHI, default=True),
    Case("default_gsm8k_minimind", "gsm8k.strings.chat_pairs", MINI, default=True),
    Case("default_alpaca_zh_qwen", "alpaca_zh.strings.chat_pairs", QWEN, default=True),
    Case("default_alpaca_llama", "alpaca.strings.chat_pairs", LLAMA, default=True),
    Case("default_fastchat_llama", "fastchat", LLAMA, default=True),
    Case("default_tricky_phi", "tricky.one_line", PHI, default=True),
    # generation tags, and templates of which answers are found by lengths
    *(
        Case(
            f"template_{name}", "turkish.system" if name in WITH_SYSTEM else "turkish", tokenizer, dataset={**by(name)}
        )
        for name, tokenizer in TEMPLATES.items()
    ),
    Case("tags_reason_qwen3", "reason.plain_reasoned", QWEN3, dataset=by("trl_qwen3_training")),
    Case("tags_agents", "nemo_agents_openai", QWEN, dataset={**AGENT, **by("trl_qwen2_5_training")}),
    Case("no_thoughts_qwen3", "reason.plain_reasoned", QWEN3, dataset=by("trl_qwen3_5_think")),
    # what is masked of answers
    Case("last_turkish", "turkish", QWEN, dataset=LAST),
    Case("last_tags", "turkish", QWEN3, dataset={**LAST, **by("trl_qwen2_5_training")}),
    Case("opened_turkish_qwen", "turkish", QWEN, dataset=OPENED),
    Case("opened_turkish_llama", "turkish.system", LLAMA, dataset=OPENED),
    Case("opened_nemotron", "turkish", QWEN3, dataset={**OPENED, **by("trl_nemotron_3_nano")}),
    Case("opened_nemotron_tags", "turkish", QWEN3, dataset={**OPENED, **by("trl_nemotron_3_nano_training")}),
    Case("opened_qwen3", "turkish", QWEN3, dataset={**OPENED, **by("trl_qwen3_training")}),
    Case("thoughts_qwen3", "reason.plain_reasoned", QWEN3, dataset={**THOUGHTS, **by("trl_qwen3_training")}),
    Case("thoughts_nemotron", "reason.plain_reasoned", QWEN3, dataset={**THOUGHTS, **by("trl_nemotron_3_super")}),
    Case(
        "all_masks",
        "reason.plain_reasoned",
        QWEN3,
        dataset={**THOUGHTS, **OPENED, **LAST, **by("trl_qwen3_training")},
    ),
    # cuts, padding, packs
    Case("cut_64", "turkish", LLAMA, dataset=cut(64), tokens=LEFT, limit=100, batch=BATCH),
    Case("cut_200_opened", "turkish", QWEN, dataset=cut(200, **OPENED)),
    Case(
        "cut_120_thoughts",
        "reason.plain_reasoned",
        QWEN3,
        dataset={**cut(120, **THOUGHTS), **by("trl_qwen3_training")},
    ),
    Case("cut_left", "turkish", QWEN, dataset=cut(80), tokens={"truncation_side": "left"}),
    Case(
        "cut_left_tags", "turkish", QWEN, dataset={**cut(80), "chat_template": TAGS}, tokens={"truncation_side": "left"}
    ),
    Case("seq_length_alone", "turkish", QWEN, dataset={"seq_length": 64}, limit=50),
    Case("padded_qwen", "turkish", QWEN, dataset=cut(150, padding="max_length"), batch=BATCH),
    Case("padded_llama", "turkish.system", LLAMA, dataset=cut(150, padding="max_length"), batch=BATCH),
    Case("padded_left", "turkish.system", PHI, dataset=cut(150, padding="max_length"), batch=BATCH),
    Case(
        "padded_left_llama",
        "turkish.system",
        LLAMA,
        dataset=cut(150, padding="max_length"),
        tokens=LEFT,
        limit=100,
        batch=BATCH,
    ),
    Case(
        "padded_left_tags",
        "turkish",
        PHI,
        dataset={**cut(150, padding="max_length"), "chat_template": TAGS},
        batch=BATCH,
    ),
    Case("divisible", "turkish", QWEN, {"dataloader": {"collate_fn": DIVISIBLE}}, batch=BATCH),
    Case("thd_collater", "turkish", QWEN, {"dataloader": {"collate_fn": THD}}, batch=BATCH),
    *(
        Case(
            f"packed_{strategy}_{size}_{short}",
            "turkish",
            tokenizer,
            packed(size, strategy),
            tokens=tokens,
            batch=BATCH,
        )
        for strategy in ("thd", "neat")
        for size, short, tokenizer, tokens in (
            (600, "qwen", QWEN3, {}),
            (150, "llama", LLAMA, LEFT),
            (2048, "mini", MINI, {}),
        )
    ),
    Case("packed_columns", "wwdc", QWEN, packed(512, "neat"), dataset=PAIRS, batch=BATCH),
    # questions and answers
    Case("columns_wwdc_qwen", "wwdc", QWEN, dataset=PAIRS, batch=BATCH),
    Case("columns_wwdc_llama", "wwdc", LLAMA, dataset=PAIRS, batch=BATCH),
    Case("columns_gsm8k_phi", "gsm8k", PHI, dataset=GSM),
    Case("columns_gsm8k_llama", "gsm8k", LLAMA, dataset=GSM, tokens=LEFT, limit=100, batch=BATCH),
    Case("columns_alpaca_mini", "alpaca", MINI, dataset=ALPACA),
    Case("columns_alpaca_zh_t5", "alpaca_zh", T5, dataset=ALPACA, limit=300),
    Case("columns_bert_cut", "alpaca", BERT, dataset={**ALPACA, **cut(40)}, limit=300),
    Case("columns_cut", "gsm8k", LLAMA, dataset={**GSM, **cut(60)}, batch=BATCH),
    Case("columns_all", "gsm8k", QWEN, dataset={**GSM, "answer_only_loss_mask": False}, limit=300),
    Case("columns_chat", "alpaca", QWEN, dataset={**ALPACA, "use_hf_chat_template": True}, limit=300),
    Case("columns_chat_phi", "alpaca", PHI, dataset={**ALPACA, "use_hf_chat_template": True}, limit=300),
    Case(
        "columns_chat_all",
        "gsm8k",
        QWEN,
        dataset={**GSM, "use_hf_chat_template": True, "answer_only_loss_mask": False},
        limit=300,
    ),
    Case(
        "columns_chat_all_tags",
        "gsm8k",
        QWEN,
        dataset={**GSM, "use_hf_chat_template": True, "answer_only_loss_mask": False},
        template="trl_qwen2_5_training",
        limit=100,
    ),
    Case("columns_chat_bare", "gsm8k", BERT, dataset={**GSM, "use_hf_chat_template": True}, limit=100),
    Case("columns_padded", "gsm8k", LLAMA, dataset={**GSM, **cut(150, padding="max_length")}, batch=BATCH),
    Case("columns_padded_left", "gsm8k", PHI, dataset={**GSM, **cut(150, padding="max_length")}, batch=BATCH),
    *(
        Case(
            f"odd_columns_{short}", "nemo_columns", tokenizer, tokens=tokens, dataset={**COLUMNS, "column_mapping": ODD}
        )
        for short, tokenizer, tokens in (
            *(("qwen", QWEN, {}), ("phi", PHI, {}), ("t5", T5, {}), ("bert", BERT, {})),
            ("llama", LLAMA, LEFT),
        )
    ),
    Case(
        "odd_columns_chat",
        "nemo_columns",
        QWEN,
        dataset={**COLUMNS, "column_mapping": ODD, "use_hf_chat_template": True},
    ),
    Case("odd_columns_cut", "nemo_columns", LLAMA, dataset={**COLUMNS, "column_mapping": ODD, **cut(30)}),
    Case(
        "columns_stopping",
        "nemo_columns_stopping",
        QWEN,
        dataset={**COLUMNS, "column_mapping": {"question": "q", "answer": "a"}},
    ),
    Case("squad_qwen", "nemo_squad", QWEN3, dataset=SQUAD),
    Case("squad_bare", "nemo_squad", T5, dataset=SQUAD),
    Case("squad_cut", "nemo_squad", PHI, dataset={**SQUAD, **cut(48)}),
    # agents
    Case("xlam_qwen", "nemo_xlam", QWEN3, dataset=XLAM),
    Case("xlam_qwen3", "nemo_xlam", QWEN3, dataset=XLAM, template="trl_qwen3_training"),
    Case("xlam_minimind", "nemo_xlam", MINI, dataset=XLAM),
    Case("agent_glaive_qwen", "glaive", QWEN, dataset=AGENT),
    Case("agent_glaive_minimind", "glaive", MINI, dataset=AGENT),
    Case("agent_reason", "reason", QWEN3, dataset={**AGENT, **by("trl_qwen3_training")}, limit=50),
    Case("agent_openai", "nemo_agents_openai", QWEN, dataset=AGENT),
    Case("agent_last", "nemo_agents_openai", QWEN, dataset={**AGENT, "train_on_last_turn_only": True}),
    Case(
        "agent_history",
        "nemo_agents_openai",
        QWEN3,
        dataset={**AGENT, "drop_history_reasoning_content": True, **THOUGHTS, **OPENED, **by("trl_qwen3_training")},
    ),
    Case("agent_fits", "glaive", QWEN3, dataset={**AGENT, "truncate_history": True, **cut(300)}),
    *(
        Case(f"agent_fits_uncut_{name}_{size}", name, tokenizer, dataset={**AGENT, "truncate_history": True, **more})
        for name, tokenizer in (
            ("glaive", QWEN3),
            ("turkish", LLAMA),
            ("nemo_agents", QWEN),
            ("nemo_agents_openai", QWEN),
        )
        for size in (60, 90, 300)
        for more in ({"seq_length": size},)
    ),
    Case("agent_filled", "glaive", QWEN3, dataset={**AGENT, "seq_length": 300, "padding": "max_length"}, batch=BATCH),
    Case(
        "agent_fits_filled",
        "glaive",
        QWEN3,
        dataset={**AGENT, "truncate_history": True, "seq_length": 300, "padding": "max_length"},
        batch=BATCH,
    ),
    Case("filled_uncut", "turkish", QWEN, dataset={"seq_length": 150, "padding": "max_length"}, batch=BATCH),
    Case("filled_uncut_left", "turkish.system", PHI, dataset={"seq_length": 150, "padding": "max_length"}, batch=BATCH),
    Case("filled_columns", "wwdc", QWEN, dataset={**PAIRS, "seq_length": 60, "padding": "max_length"}, batch=BATCH),
    *(
        Case(
            f"packed_{strategy}_{name}",
            "turkish",
            QWEN,
            {"packed_sequence": {**packed(600, strategy)["packed_sequence"], **more}},
        )
        for strategy, name, more in (
            ("thd", "aligned", {"pad_to_multiple_of": 8}),
            ("thd", "aligned_50", {"pad_to_multiple_of": 50, "max_packs": 7}),
            ("thd", "few", {"max_packs": 3}),
            ("neat", "few", {"max_packs": 3}),
        )
    ),
    *(
        Case(
            f"packed_{strategy}_unlabelled_{size}", "wwdc", QWEN, packed(256, strategy), dataset={**PAIRS, **cut(size)}
        )
        for strategy in ("thd", "neat")
        for size in (12, 24)
    ),
    Case("agent_fits_untrimmed", "turkish", LLAMA, dataset={**AGENT, "truncate_history": True, **cut(90)}),
    Case("agent_overlong", "glaive", QWEN, dataset={**AGENT, "filter_overlong": True, **cut(300)}, limit=100),
    *(
        Case(f"odd_agents_{short}", "nemo_agents", tokenizer, dataset=AGENT)
        for short, tokenizer in (("qwen", QWEN3), ("llama", LLAMA), ("mini", MINI))
    ),
    Case(
        "odd_agents_trimmed",
        "nemo_agents",
        QWEN,
        dataset={**AGENT, "trim_incomplete_last_turn": True, "filter_no_assistant": True},
    ),
    Case("odd_agents_fit", "nemo_agents", QWEN, dataset={**AGENT, "truncate_history": True, **cut(60)}),
    # rows of every shape
    *(
        Case(f"odd_chats_{short}", "nemo_chats", tokenizer)
        for short, tokenizer in (("qwen", QWEN3), ("llama", LLAMA), ("phi", PHI), ("mini", MINI))
    ),
    *(
        Case(f"odd_chats_{name.removeprefix('trl_')}", "nemo_chats", QWEN3, dataset={**OPENED, **THOUGHTS, **by(name)})
        for name in ("trl_qwen3_training", "trl_qwen3", "trl_gemma", "trl_nemotron_3_nano", "trl_glm4moe", "trl_gptoss")
    ),
    Case("odd_chats_transformers", "nemo_chats", QWEN, dataset={"tokenizer": {"_target_": HF_TOKENIZER}}),
    Case("odd_chats_cut", "nemo_chats", QWEN, dataset=cut(40)),
    Case("tricky_lines", "tricky", QWEN3),
    Case("tricky_llama", "tricky.one_line", LLAMA),
    Case("tricky_phi_last", "tricky.one_line", PHI, dataset=LAST),
    Case("special_texts", "special_texts", QWEN),
    Case("tools_as_text", "glaive.openai", QWEN, limit=100),
    Case("unread_columns", "alpaca", QWEN, limit=20),
    Case("no_template", "turkish", BERT, limit=20),
)

IN_EACH_RUN = frozenset(
    (
        "default_turkish_qwen",
        "default_gsm8k_qwen",
        "default_fastchat_qwen",
        "template_trl_gemma",
        "template_trl_nemotron_3_ultra",
        "last_tags",
        "thoughts_nemotron",
        "all_masks",
        "cut_64",
        "padded_left_llama",
        "packed_thd_150_llama",
        "packed_neat_600_qwen",
        "columns_gsm8k_llama",
        "odd_columns_llama",
        "squad_qwen",
        "xlam_qwen",
        "agent_history",
        "agent_fits",
        "odd_agents_qwen",
        "odd_chats_qwen",
        "odd_chats_qwen3_training",
        "tricky_lines",
    )
)
"""The cases of every run of parity, of two tokenizers, whose proof takes the most of its time; the others are long."""
CASES = tuple(replace(case, long=case.name not in IN_EACH_RUN) for case in EVERY)

LATE: tuple[Setting, ...] = (
    (CHATS, "chat", {}, {}),
    (CHATS, "agent", {}, {"_target_": TARGETS["agent"]}),
)
LATE_IN_CI = True


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the YAML of `automodel`; its data is put beside it, into `work`."""
    block = {"_target_": TARGETS["chat"], **case.dataset}
    kind = next(kind for kind, target in TARGETS.items() if target == block["_target_"])
    data = str(case.data_path())
    if kind in ("squad", "xlam"):
        folder = work / "data"
        folder.mkdir(exist_ok=True)
        shutil.copy(data, folder / "train.jsonl")
        block["dataset_name"] = str(folder)
    else:
        block["path" if kind == "agent" else "path_or_dataset_id"] = data
    return {"model": {"pretrained_model_name_or_path": tokenizer}, "dataset": block, **case.config}
