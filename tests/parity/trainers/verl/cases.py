"""verl's SFT: messages one by one under templates that write them alike alone and together, and such as do not; what
its dataset reads beside them; cuts, padding, and what stops it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from case import Case
from late_cases import CHATS, Setting

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
IGNORE: dict[str, Any] = {"data.ignore_input_ids_mismatch": True}
LONG: dict[str, Any] = {"data.max_length": 4096}
PADDED: dict[str, Any] = {"data.pad_mode": "right"}
JSON = {"file": "json"}
"""Rows that are opened as the JSON lines they are; else as the Parquet that verl gets."""
THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and enable_thinking is defined %}"
    "{{ '[thinks]' if enable_thinking else '[thinks not]' }}{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% if enable_thinking is false %}<think>\n\n</think>\n\n"
    "{% endif %}{% endif %}"
)
"""A template that writes whether there are thoughts to be."""
OPEN = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{% if not loop.last %}\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}\n<the model of this house will now answer>{% endif %}"
)
"""A template that writes the last message otherwise, and a header that no answer has."""
BARE = "{% for m in messages %}{{ m.content }}{% endfor %}"
"""A template of contents alone: nothing is cut off, and nothing masked."""
PREFACED = (
    "Once: {{ bos_token or '' }}{% for m in messages %}{% if m.role == 'user' or m.role == 'assistant' %}"
    "[{{ m.role }}] {{ m.content }} {% endif %}{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)
"""A preface that is plain text, whose last token may reach into what follows; other roles write nothing."""
NEEDS_USER = (
    "{% set found = namespace(user=false) %}{% for m in messages %}{% if m.role == 'user' %}{% set found.user = true %}"
    "{% endif %}{% endfor %}{% if not found.user %}{{ raise_exception('No user query found in messages.') }}{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""A template that renders nothing without a message of the user's, as that of Qwen3.5."""
STRICT = (
    "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
"""A template that refuses two messages of the user's in a row, as those of Gemma and Mistral."""

_CASES = (
    # as it is without a setting: error where longer than 1024 tokens, error where the whole is other than its parts
    Case("default_turkish_qwen", "turkish", QWEN, default=True),
    Case("default_turkish_llama", "turkish.system", LLAMA, default=True),
    Case("default_turkish_phi", "turkish.system", PHI, default=True),
    Case("default_turkish_minimind", "turkish", MINI, default=True),
    Case("default_wwdc_qwen", "wwdc.chat_pairs", QWEN, default=True),
    Case("default_wwdc_llama", "wwdc.chat_pairs", LLAMA, default=True),
    Case("default_gsm8k_phi", "gsm8k.strings.chat_pairs", PHI, default=True),
    Case("default_gsm8k_llama", "gsm8k.strings.chat_pairs", LLAMA, default=True),
    Case("default_gsm8k_qwen", "gsm8k.strings.chat_pairs", QWEN, default=True),
    Case("default_zh_qwen", "alpaca_zh.strings.chat_pairs", QWEN, default=True),
    Case("default_alpaca_llama", "alpaca.strings.chat_pairs", LLAMA, default=True),
    Case("default_toolset_qwen", "toolset.messages", QWEN, default=True),
    Case("default_fastchat_minimind", "fastchat.openai", MINI, limit=300, default=True),
    Case("default_glaive_qwen", "glaive.openai", QWEN, limit=100, default=True),
    Case("default_reason_qwen3", "reason.reasoned", QWEN3, template="trl_qwen3", default=True),
    Case("default_tricky_qwen", "tricky", QWEN, default=True),
    Case("default_tricky_llama", "tricky", LLAMA, default=True),
    Case("default_wild_qwen", "verl_wild", QWEN, default=True),
    Case("default_wild_phi", "verl_wild", PHI, default=True),
    # rows whose parts are other than the whole, trained all the same
    Case("ignore_tools_qwen", "glaive.openai.with_lists", QWEN, {**IGNORE, **LONG}, limit=300),
    Case("ignore_reason_qwen3", "reason.reasoned.with_lists", QWEN3, {**IGNORE, **LONG}, template="trl_qwen3"),
    Case("ignore_reason_qwen", "reason.reasoned.with_lists", QWEN, {**IGNORE, **LONG}),
    Case("ignore_think_text_qwen3", "reason.think_text", QWEN3, {**IGNORE, **LONG}, template="trl_qwen3"),
    Case("ignore_turkish_qwen3", "turkish", QWEN3, IGNORE, template="trl_qwen3"),
    Case("ignore_wild_llama", "verl_wild", LLAMA, IGNORE),
    Case("ignore_wild_minimind", "verl_wild", MINI, IGNORE),
    Case("ignore_wild_own_gemma", "verl_wild", "own:gemma", IGNORE, template=PREFACED),
    Case("ignore_open", "turkish", QWEN, IGNORE, template=OPEN, limit=300),
    # templates
    Case("mismatch_qwen3", "turkish", QWEN3, template="trl_qwen3", limit=200),
    Case("mismatch_open", "turkish", QWEN, template=OPEN, limit=100),
    Case("bare", "verl_wild", QWEN, template=BARE),
    Case("bare_t5", "turkish", T5, template=BARE, limit=200),
    Case("prefaced_qwen", "verl_wild", QWEN, IGNORE, template=PREFACED),
    Case("prefaced_phi", "verl_wild", PHI, IGNORE, template=PREFACED),
    Case("prefaced_bert", "turkish", BERT, IGNORE, template=PREFACED, limit=200),
    Case("needs_user", "verl_chats", QWEN, template=NEEDS_USER),
    Case("needs_user_turkish", "turkish.system", QWEN, template=NEEDS_USER),
    Case("needs_user_tools", "verl_tools", QWEN, template=NEEDS_USER),
    Case("qwen3_5", "turkish.system", QWEN3, template="trl_qwen3_5_think", limit=200),
    Case("qwen3_5_ignored", "verl_keys", QWEN3, IGNORE, template="trl_qwen3_5_think"),
    Case("qwen3_2507", "turkish.system", QWEN3, template="trl_qwen3_instruct_2507"),
    Case("llama3_1", "turkish.system", LLAMA, template="trl_llama3_1", limit=300),
    Case("glm", "verl_chats", QWEN, IGNORE, template="trl_glm4moe"),
    Case("lfm2", "verl_chats", QWEN, IGNORE, template="trl_lfm2"),
    Case("deepseek", "verl_chats", QWEN, IGNORE, template="trl_deepseekv3"),
    Case("strict", "turkish", QWEN, template=STRICT, limit=50),
    Case("gemma_refuses", "turkish", "own:gemma", limit=50),
    Case("no_template", "turkish", BERT, limit=20),
    Case("own_template", "turkish", PHI, {"model.custom_chat_template": THINKS}, limit=200),
    # what templates are handed
    Case("thinks_by_default", "turkish", QWEN, template=THINKS, limit=200),
    Case("thinks_not", "turkish", QWEN, {"data.enable_thinking_default": False}, template=THINKS, limit=200),
    Case("thinks_null", "turkish", QWEN, {"data.enable_thinking_default": None}, template=THINKS, limit=200),
    Case("thinks_by_column", "verl_thinking", QWEN, template=THINKS),
    Case("thinks_by_texts", "verl_thinking_texts", QWEN, template=THINKS),
    Case(
        "thinks_by_kwargs",
        "turkish",
        QWEN,
        {"data.apply_chat_template_kwargs": {"enable_thinking": False}},
        template=THINKS,
        limit=100,
    ),
    Case(
        "thinks_by_kwargs_alone",
        "turkish",
        QWEN,
        {"data.apply_chat_template_kwargs": {"enable_thinking": False}, "data.enable_thinking_default": None},
        template=THINKS,
        limit=100,
    ),
    Case("thinking_key", "verl_thinking", QWEN, {"data.enable_thinking_key": "other"}, template=THINKS),
    # cuts and padding
    Case("cut_right_64", "turkish", LLAMA, {"data.truncation": "right", "data.max_length": 64}, batch=BATCH),
    Case("cut_left_64", "turkish", LLAMA, {"data.truncation": "left", "data.max_length": 64}, batch=BATCH),
    Case("cut_left_padded", "turkish", QWEN, {"data.truncation": "left", "data.max_length": 64, **PADDED}, batch=BATCH),
    Case(
        "cut_right_padded", "turkish", QWEN, {"data.truncation": "right", "data.max_length": 50, **PADDED}, batch=BATCH
    ),
    Case("padded_phi", "wwdc.chat_pairs", PHI, {**PADDED, "data.max_length": 300}, batch=BATCH),
    Case("padded_llama", "wwdc.chat_pairs", LLAMA, {**PADDED, "data.max_length": 300}, batch=BATCH),
    Case("nested", "wwdc.chat_pairs", PHI, batch=BATCH),
    Case("too_long", "turkish", LLAMA, {"data.max_length": 64}, limit=300),
    Case("first_rows", "turkish", QWEN, {"data.train_max_samples": 40}, limit=100),
    *(
        Case(
            f"drawn_{seed}_{most}",
            "turkish",
            QWEN,
            {"data.train_max_samples": most, "data.shuffle": True, "data.seed": seed},
            limit=100,
        )
        for seed in (0, 42)
        for most in (20, 99, 100, 300)
    ),
    # columns
    Case("renamed", "toolset", QWEN, {"data.messages_key": "conversations"}),
    Case("tools_key", "verl_tools", QWEN, {"data.tools_key": "other"}),
    Case("unread_alpaca", "alpaca", QWEN, limit=20),
    Case("unread_sharegpt", "fastchat", QWEN, limit=20),
    # rows of every shape
    *(
        Case(f"odd_{name}{'_ignored' * ignored}_{short}", f"verl_{name}", tokenizer, IGNORE if ignored else {})
        for name in ("chats", "keys", "tools")
        for ignored in (False, True)
        for short, tokenizer in (("qwen", QWEN), ("llama", LLAMA), ("phi", PHI), ("mini", MINI))
    ),
    Case("odd_keys_qwen3", "verl_keys", QWEN3, IGNORE, template="trl_qwen3"),
    Case("odd_tools_qwen3", "verl_tools", QWEN3, IGNORE, template="trl_qwen3"),
    Case("odd_chats_own_llama3", "verl_chats", "own:llama3", IGNORE),
    *(
        Case(f"odd_{name}", f"verl_{name}", QWEN)
        for name in (
            *("tools_or_null", "text_tools", "thinking", "thinking_texts", "parts", "media", "strings"),
            *("text_messages", "roleless", "contents", "numbers"),
        )
    ),
    Case("odd_parts_needs_user", "verl_parts", QWEN, template=NEEDS_USER),
    # the same read from JSON lines, as pandas would store them
    Case("json_turkish", "turkish", QWEN, limit=100, dataset=JSON),
    Case("json_keys", "verl_keys", QWEN3, IGNORE, template="trl_qwen3", dataset=JSON),
    Case("json_tools", "verl_tools_or_null", QWEN, IGNORE, dataset=JSON),
    Case("json_mixed", "verl_mixed", QWEN, dataset=JSON),
    Case("json_media", "verl_media", QWEN, dataset=JSON),
)


SHORT = frozenset(
    {
        *("default_turkish_qwen", "default_wwdc_qwen", "cut_left_padded", "cut_right_padded", "first_rows", "renamed"),
        *("drawn_42_20", "drawn_0_99"),
        *("unread_alpaca", "odd_chats_qwen", "odd_chats_ignored_qwen", "odd_tools_or_null", "odd_text_tools"),
        *("odd_media", "odd_strings", "odd_contents", "json_tools", "json_mixed", "needs_user"),
    }
)
"""What each run of parity tries: of few tokenizers and templates, which take the most of its time."""
CASES = tuple(replace(case, long=case.name not in SHORT) for case in _CASES)

LATE: tuple[Setting, ...] = ((tuple(kind for kind in CHATS if kind not in ("parts", "number")), "default", {}, {}),)
"""Kinds that pandas stores as Parquet."""


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as a YAML over the trainer's own; its rows as Parquet are put beside it, into `work`."""
    path = case.data_path()
    if case.dataset.get("file") != "json":
        path = stored(path, work / "train.parquet")
    config: dict[str, Any] = {"data": {"train_files": str(path)}, "model": {"path": tokenizer}}
    for key, value in case.config.items():
        section, _, name = key.partition(".")
        config[section][name] = value
    return config


def stored(path: Path, target: Path) -> Path:
    """Rows of JSON lines as Parquet, as pandas stores them."""
    import pyarrow
    import pyarrow.parquet

    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    names = dict.fromkeys(name for row in rows for name in row)
    table = pyarrow.table({name: pyarrow.array([row.get(name) for row in rows]) for name in names})
    pyarrow.parquet.write_table(table, target)
    return target
