"""LLaMA-Factory's v1 engine: samples, converters, templates, weights, cuts and batching strategies."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import late_cases
from case import Case
from late_cases import Setting

QWEN, QWEN3, LLAMA, PHI, MINI = "qwen2.5", "made:qwen3", "llama-3-8b-instruct", "phi-3-mini", "minimind"
ALPACA, SHAREGPT = {"converter": "alpaca"}, {"converter": "sharegpt"}
BATCH = {"size": 4, "count": 40}

SUFFIXED = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token or '' }}{% if loop.last %}!{% endif %}\n"
    "{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"
)
"""A template whose last message ends otherwise, so that prompts of several turns still begin the whole."""
CLOSED = (
    "{% for m in messages %}{% if loop.last %}<last>{% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
"""A template that writes the last message otherwise than the same one before others: no prompt begins the whole."""
OWN_TEMPLATE = {"custom_chat_template": SUFFIXED}
FREE = {"batching_strategy": "padding_free", "flash_attn": "flash_attention_2"}
BY_TOKENS = {"batching_strategy": "dynamic_batching", "max_steps": 10}

CASES = (
    # the README's defaults: samples, alpaca and sharegpt rows, the tokenizer's own template
    Case("default_demo_qwen", "weights", QWEN, default=True),
    Case("default_demo_llama", "weights", LLAMA, default=True),
    Case("default_alpaca_qwen", "alpaca", QWEN, dataset=ALPACA, default=True),
    Case("default_alpaca_zh_phi", "alpaca_zh", PHI, dataset=ALPACA, default=True),
    Case("default_turkish_qwen", "turkish.v1", QWEN, default=True),
    Case("default_glaive_qwen", "glaive", QWEN, dataset=SHAREGPT, default=True),
    Case("default_reason_qwen3", "reason", QWEN3, template="trl_qwen3", default=True),
    # every shape of sample, under templates that read thoughts and calls, or do not
    Case("made_qwen3", "v1_made", QWEN3, template="trl_qwen3", batch=BATCH),
    Case("made_qwen", "v1_made", QWEN, batch=BATCH),
    Case("made_llama", "v1_made", LLAMA, template="trl_llama3_1", batch=BATCH),
    Case("made_phi", "v1_made", PHI),
    Case("made_mini", "v1_made", MINI),
    Case("made_lfm", "v1_made", QWEN, template="trl_lfm2"),
    Case("made_glm", "v1_made", QWEN, template="trl_glm4moe"),
    Case("made_bytes", "v1_made", "new:bytes"),
    Case("made_metaspace", "v1_made", "new:metaspace"),
    # long samples: cut, and dropped where the answer lies beyond
    Case("cut_64", "v1_made", QWEN, {"cutoff_len": 64}, batch=BATCH),
    Case("cut_200_turkish", "turkish.v1_weighted", LLAMA, {"cutoff_len": 200}),
    Case("cut_128_reason", "reason", QWEN3, {"cutoff_len": 128}, template="trl_qwen3"),
    Case("cut_100_glaive", "glaive", QWEN, {"cutoff_len": 100}, dataset=SHAREGPT, limit=200),
    # batches
    Case("batch_4", "v1_made", LLAMA, {"micro_batch_size": 4, "cutoff_len": 512}, batch=BATCH),
    Case("padding_free", "v1_made", PHI, {"micro_batch_size": 4, "cutoff_len": 96, **FREE}, batch=BATCH),
    Case("dynamic_batching", "v1_made", PHI, {"micro_batch_size": 2, "cutoff_len": 256, **BY_TOKENS}, batch=BATCH),
    Case(
        "dynamic_padding_free",
        "v1_made",
        PHI,
        {"micro_batch_size": 2, "cutoff_len": 256, **FREE, "batching_strategy": "dynamic_padding_free"},
        batch=BATCH,
    ),
    # weights
    Case("weighted", "turkish.v1_weighted", QWEN, {"micro_batch_size": 2}, batch=BATCH),
    Case("unweighted", "turkish.v1.v1_unweighted", QWEN, limit=200),
    # converters
    Case("sharegpt_qwen", "v1_sharegpt", QWEN, dataset=SHAREGPT, batch=BATCH),
    Case("sharegpt_llama", "v1_sharegpt", LLAMA, template="trl_llama3_1", dataset=SHAREGPT),
    Case("sharegpt_fastchat", "fastchat", MINI, dataset=SHAREGPT),
    Case("alpaca_system", "v1_alpaca", QWEN, dataset=ALPACA),
    Case("alpaca_system_phi", "v1_alpaca", PHI, dataset=ALPACA),
    # templates: one in the config, none at all, and one whose prompts begin no whole
    Case("own_template", "v1_made", QWEN, OWN_TEMPLATE),
    Case("no_template", "v1_made", "bert-base-cased", limit=400),
    Case("unstable", "turkish.v1", QWEN, {"custom_chat_template": CLOSED}, limit=200),
    # rows that are odd, or stop the engine
    Case("tricky_qwen", "tricky.v1", QWEN),
    Case("tricky_llama", "tricky.v1", LLAMA),
    Case("tricky_phi", "tricky.v1_weighted", PHI),
    Case("special_texts", "special_texts.v1", QWEN),
    Case("broken_qwen", "v1_broken", QWEN),
    Case("broken_qwen3", "v1_broken", QWEN3, template="trl_qwen3"),
    Case("broken_mini", "v1_broken", MINI),
    Case("openai_contents", "turkish", QWEN, limit=20),
)

LATE: tuple[Setting, ...] = (
    (late_cases.ALPACA, "alpaca", {}, {"converter": "alpaca"}),
    (late_cases.SHAREGPT, "share", {}, {"converter": "sharegpt"}),
)


def config_of(case: Case, tokenizer: str, work: Path) -> dict[str, Any]:
    """A case as the engine's config; its dataset file and the data are put beside it, into `work`."""
    import yaml

    data = case.data_path()
    shutil.copy(data, work / data.name)
    entry = {"path": str(work / data.name), "source": "local", **case.dataset}
    listed = work / "dataset_info.yaml"
    listed.write_text(yaml.safe_dump({"rows": entry}), encoding="utf-8")
    return {"model": tokenizer, "model_class": "llm", "train_dataset": str(listed), **case.config}
