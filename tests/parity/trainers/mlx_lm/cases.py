"""mlx-lm: chats, prompts and completions, texts, with and without mask_prompt, and what stops it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from case import Case
from late_cases import CHATS, PAIRS, TEXTS, Setting

QWEN, QWEN3, LLAMA, PHI, MINI, BERT, T5 = (
    "qwen2.5",
    "made:qwen3",
    "llama-3-8b-instruct",
    "phi-3-mini",
    "minimind",
    "bert-base-cased",
    "t5-small",
)
MASKED: dict[str, Any] = {"mask_prompt": True}
BATCH = {"size": 4, "count": 40}
OPEN = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% if not loop.last %}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}\n<the model of this house will now answer>{% endif %}"
)
"""A template without ends of turns, whose header of an answer to come is none of an answer: prompts reach past rows."""
BARE = "{% for m in messages %}{{ m.content }}{% endfor %}"
"""A template of contents alone: an empty answer ends where its prompt does."""
THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and enable_thinking is defined %}"
    "{{ '[thinks]' if enable_thinking else '[thinks not]' }}{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking is false %}<think>\n\n</think>\n\n"
    "{% endif %}{% endif %}"
)
"""A template that writes whether there are thoughts to be."""

CASES = (
    # as the README has it: no mask
    Case("default_wikisql_qwen", "wikisql", QWEN, default=True),
    Case("default_wikisql_phi", "wikisql", PHI, default=True),
    Case("default_wwdc_qwen", "wwdc", QWEN, default=True),
    Case("default_wwdc_llama", "wwdc", LLAMA, default=True),
    Case("default_turkish_qwen", "turkish", QWEN, default=True),
    Case("default_turkish_llama", "turkish.system", LLAMA, default=True),
    Case("default_turkish_phi", "turkish.system", PHI, default=True),
    Case("default_c4_minimind", "c4", MINI, default=True),
    Case("default_gsm8k_llama", "gsm8k.strings", LLAMA, default=True),
    Case("default_toolset_qwen", "toolset.messages", QWEN, default=True),
    Case("default_tricky_qwen", "tricky", QWEN, default=True),
    Case("default_text_bert", "wikisql", BERT, limit=300, default=True),
    Case("default_text_t5", "c4", T5, limit=100, default=True),
    # the last message alone
    Case("masked_wwdc_qwen", "wwdc", QWEN, MASKED, batch=BATCH),
    Case("masked_gsm8k_llama", "gsm8k.strings", LLAMA, MASKED, batch=BATCH),
    Case("masked_gsm8k_phi", "gsm8k.strings", PHI, MASKED),
    Case("masked_turkish_qwen", "turkish", QWEN, MASKED),
    Case("masked_turkish_llama", "turkish.system", LLAMA, MASKED),
    Case("masked_zh_minimind", "alpaca_zh.strings", MINI, MASKED),
    Case("masked_tricky_llama", "tricky", LLAMA, MASKED, batch=BATCH),
    Case("masked_tricky_phi", "tricky", PHI, MASKED),
    Case("masked_special_texts", "special_texts", QWEN, MASKED),
    Case("masked_toolset", "toolset.messages", QWEN, MASKED),
    Case("masked_reason_qwen3", "reason.plain_reasoned", QWEN3, MASKED, template="trl_qwen3"),
    Case("masked_ends_with_user", "turkish.broken", QWEN, MASKED),
    Case("masked_texts", "wikisql", QWEN, MASKED, limit=40),
    # prompts that are no beginning of the whole, and such as reach past it
    Case("past_the_end", "wwdc", QWEN, MASKED, template=OPEN, limit=400, batch=BATCH),
    Case("past_the_end_odd", "mlx_pairs", QWEN, MASKED, template=OPEN),
    Case("nothing_answered", "mlx_pairs", QWEN, MASKED, template=BARE),
    Case("boundary_spaced", "gsm8k.strings.spaced", PHI, MASKED, template=BARE, limit=400, batch=BATCH),
    Case("boundary_inside_word", "wwdc.inside_word", LLAMA, MASKED, template=BARE, limit=400, batch=BATCH),
    Case("qwen3_drops_thoughts", "reason.think_text", QWEN3, MASKED, template="trl_qwen3"),
    # what mlx-lm hands to templates
    Case("thinks_by_vocabulary", "turkish", QWEN3, MASKED, template=THINKS, limit=200),
    Case("thinks_not", "turkish", QWEN, MASKED, template=THINKS, limit=200),
    Case("thinks_qwen3_template", "turkish", QWEN, MASKED, template="trl_qwen3", limit=200),
    Case("kwargs_of_rows_unread", "turkish.no_think", QWEN3, template="trl_qwen3", limit=200),
    Case("tools_as_lists", "reason.reasoned", QWEN3, template="trl_qwen3"),
    Case("tools_as_text", "glaive.openai", QWEN, limit=100),
    # long rows
    Case("cut_64", "turkish", LLAMA, {**MASKED, "max_seq_length": 64}, batch=BATCH),
    Case("cut_33", "wwdc", PHI, {"max_seq_length": 33, "batch_size": 8}, batch=BATCH),
    Case("cut_32_texts", "wikisql", QWEN, {"max_seq_length": 32, "batch_size": 3}, limit=300, batch=BATCH),
    Case("cut_long_texts", "c4", QWEN, {"max_seq_length": 500, "batch_size": 2}, batch=BATCH),
    Case("few_rows", "wwdc", QWEN, {"batch_size": 16}, limit=9),
    # columns of other names, and keys that Python holds for true
    Case("text_feature", "wikisql.body", LLAMA, {"text_feature": "body"}, limit=200),
    Case("chat_feature", "toolset", QWEN, {"chat_feature": "conversations", **MASKED}),
    Case(
        "pair_features",
        "gsm8k",
        QWEN,
        {"prompt_feature": "question", "completion_feature": "answer", "mask_prompt": "no"},
    ),
    Case("unread_columns", "alpaca", QWEN, limit=20),
    Case("unread_sharegpt", "fastchat", QWEN, limit=20),
    Case("from_value", "fastchat", MINI, {"chat_feature": "conversations"}, limit=40),
    # rows of every shape
    *(
        Case(f"odd_{name}_{short}{'_masked' * masked}", f"mlx_{name}", tokenizer, MASKED if masked else {})
        for name, masks in (("chats", (False, True)), ("pairs", (False, True)), ("texts", (False,)))
        for short, tokenizer in (("qwen", QWEN), ("llama", LLAMA), ("phi", PHI), ("mini", MINI))
        for masked in masks
    ),
    Case("odd_chats_qwen3", "mlx_chats", QWEN3, MASKED, template="trl_qwen3"),
    Case("odd_chats_own_llama3", "mlx_chats", "own:llama3", MASKED),
    Case("odd_chats_chatml", "mlx_chats", "own:chatml", template="own:chatml"),
    Case("odd_chats_chatml_masked", "mlx_chats", "own:chatml", MASKED, template="own:chatml"),
    Case("odd_chats_gemma", "mlx_chats", "own:gemma", MASKED),
    Case("odd_texts_bert", "mlx_texts", BERT),
    Case("odd_texts_t5", "mlx_texts", T5),
    Case("odd_texts_bytes", "mlx_texts", "new:bytes"),
    Case("no_template", "wwdc", BERT, limit=20),
)

LATE: tuple[Setting, ...] = (((*CHATS, *PAIRS, *TEXTS), "default", {}, {}),)
LATE_IN_CI = True


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the YAML of mlx_lm.lora; its folder with train.jsonl is put beside it, into `work`."""
    folder = work / "data"
    folder.mkdir(exist_ok=True)
    shutil.copy(case.data_path(), folder / "train.jsonl")
    return {"model": tokenizer, "train": True, "data": str(folder), **case.config}
