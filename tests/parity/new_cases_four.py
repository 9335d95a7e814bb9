"""The four trainers that were added last on the fourth round of tokenizers and datasets (see `new_material_four`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import cycle
from typing import Any

import cases_nemo_automodel as nemo
import new_material_four as four
from case import Case
from cases_ms_swift import TEMPLATES
from cases_verl import IGNORE, JSON, LLAMA, MINI, PHI, QWEN, QWEN3

from sftui.trainers.ms_swift import registry

BATCHES = {"size": 3, "count": 12}
Keys = Mapping[str, Any]
Setting = tuple[str, str, Keys, Keys]
CHATS = (
    *("blank", "middle", "nulls", "thoughts", "calls", "bare_calls", "images", "parts", "trained", "marks", "roles"),
    *("arguments", "lengthy"),
)
REAL = (QWEN, LLAMA, PHI, MINI, QWEN3)
PUBLISHED = (
    *(("trl_cohere", LLAMA), ("trl_cohere2", QWEN), ("trl_lfm2_2_5", QWEN), ("trl_deepseekv3", QWEN3)),
    *(("trl_nemotron_3_nano", QWEN3), ("trl_qwen3_6", QWEN3), ("trl_tiny_aya", MINI), ("trl_phi3_5", PHI)),
    *(("trl_gemma3", MINI), ("trl_glm4moe", QWEN3), ("trl_diffusion_gemma", MINI), ("cfg_minimind", MINI)),
    *(("trl_qwen3_5_think", QWEN3), ("trl_llama3", LLAMA)),
)
"""Published templates that write no day, each with a real tokenizer."""


def _case(name: str, data: str, tokenizer: str, config: Keys, dataset: Keys, template: str | None = None) -> Case:
    title = "_".join(("four", name, data, tokenizer.replace(":", "_"), *((template,) if template else ())))
    made = f"four:{tokenizer}" if tokenizer in four.TOKENIZERS else tokenizer
    return Case(title, f"four:{data}", made, config, template=template, dataset=dataset, batch=BATCHES)


def _round(settings: Iterable[Setting], each: int, tokenizers: tuple[str, ...] = four.TOKENIZERS) -> Iterator[Case]:
    """Each setting with some of the tokenizers, the next one with those that follow."""
    coming = cycle(tokenizers)
    for name, data, config, dataset in settings:
        for _ in range(each):
            yield _case(name, data, next(coming), config, dataset)


def _published(name: str, settings: tuple[tuple[Keys, Keys], ...], left_out: tuple[str, ...] = ()) -> Iterator[Case]:
    """Each published template on the chats that follow, under one of the settings in turn."""
    coming, data = cycle(settings), cycle(one for one in CHATS if one not in left_out)
    for template, tokenizer in PUBLISHED:
        for _ in range(2):
            config, dataset = next(coming)
            yield _case(name, next(data), tokenizer, config, dataset, template)


def mlx_lm() -> Iterator[Case]:
    masked = {"mask_prompt": True}
    words = {"prompt_feature": "question", "completion_feature": "answer"}
    settings: tuple[Setting, ...] = (
        *(("plain", data, {"batch_size": 2}, {}) for data in CHATS),
        *(("masked", data, masked, {}) for data in CHATS),
        ("kinds", "kinds", masked, {}),
        ("kinds_whole", "kinds", {}, {}),
        ("schemas", "schemas", masked, {}),
        ("questions", "questions", {**masked, "batch_size": 1}, {}),
        ("texts", "texts", {"batch_size": 3}, {}),
        ("cut_1", "middle", {**masked, "max_seq_length": 1, "batch_size": 2}, {}),
        ("cut_2", "texts", {"max_seq_length": 2, "batch_size": 2}, {}),
        ("cut_31", "thoughts", {"mask_prompt": 1, "max_seq_length": 31}, {}),
        ("one_column", "strings", {"prompt_feature": "answer", "completion_feature": "answer", **masked}, {}),
        ("turned", "strings", {"prompt_feature": "answer", "completion_feature": "question", "mask_prompt": "0"}, {}),
        ("context", "strings", {"text_feature": "context"}, {}),
        ("words", "numerals", {**words, **masked}, {}),
        ("counted", "numerals", {"prompt_feature": "count", "completion_feature": "score", "mask_prompt": [0]}, {}),
        ("dates", "dates", {**masked, "batch_size": 60}, {}),
        ("too_few", "dates", {"batch_size": 61}, {}),
        ("every", "everything", masked, {}),
        ("every_turn", "everything", {"prompt_feature": "none", "chat_feature": "conversations"}, {}),
        ("every_text", "everything", {"completion_feature": "none", "chat_feature": "none"}, {}),
        ("every_other", "everything", {"prompt_feature": "text", "completion_feature": "messages"}, {}),
        ("pictures", "pictures", masked, {}),
        ("agents", "agents", {"chat_feature": "conversations"}, {}),
    )
    yield from _round(settings, 3)
    yield from _published("published", (({}, {}), (masked, {})))


def verl() -> Iterator[Case]:
    cut = {"data.max_length": 17}
    padded = {**cut, "data.pad_mode": "right"}
    chats = tuple(name for name in CHATS if name != "images")

    def handed(**kwargs: Any) -> Keys:
        return {**IGNORE, "data.apply_chat_template_kwargs": kwargs}

    settings: tuple[Setting, ...] = (
        *(("plain", data, {}, {}) for data in chats),
        *(("ignored", data, IGNORE, {}) for data in chats),
        ("right", "thoughts", {**cut, **IGNORE, "data.truncation": "right"}, {}),
        ("left", "middle", {**padded, **IGNORE, "data.truncation": "left"}, {}),
        ("left_one", "middle", {**padded, **IGNORE, "data.truncation": "left", "data.max_length": 1}, {}),
        ("padded", "blank", {**padded, **IGNORE, "data.truncation": "right"}, {}),
        ("padded_whole", "lengthy", {**IGNORE, "data.pad_mode": "right", "data.max_length": 600}, {}),
        ("images", "images", {}, {}),
        ("images_unread", "images", {**IGNORE, "data.image_key": "nothing"}, {}),
        ("images_parts", "parts", {**IGNORE, "data.image_key": "images"}, {}),
        ("json", "bare_calls", IGNORE, JSON),
        ("json_nulls", "nulls", {**IGNORE, "data.image_key": "nothing"}, JSON),
        ("json_arguments", "arguments", IGNORE, JSON),
        ("nulls", "nulls", {**IGNORE, "data.image_key": "nothing"}, {}),
        ("schemas", "schemas", IGNORE, {}),
        ("schemas_unread", "schemas", {**IGNORE, "data.tools_key": "nothing"}, {}),
        ("kwargs", "thoughts", handed(add_generation_prompt=True), {}),
        ("kwargs_strict", "middle", {"data.apply_chat_template_kwargs": {"add_generation_prompt": True}}, {}),
        ("kwargs_tools", "blank", handed(tools=[]), {}),
        ("kwargs_messages", "blank", handed(messages=[]), {}),
        ("kwargs_tokenizer", "blank", handed(tokenizer="x"), {}),
        ("kwargs_end", "trained", handed(eos_token="[end]", bos_token="[begin]", unused=[1]), {}),
        ("kwargs_documents", "trained", handed(documents=[]), {}),
        ("kwargs_open", "trained", handed(continue_final_message=False, padding=False), {}),
        ("think_off", "thoughts", {**IGNORE, "data.enable_thinking_default": False}, {}),
        ("think_text", "blank", {**IGNORE, "data.enable_thinking_default": "no"}, {}),
        *(
            (f"think_{key}", "flags", {**IGNORE, "data.enable_thinking_key": key}, {})
            for key in ("count", "on", "word")
        ),
        ("columns", "agents", {"data.messages_key": "conversations"}, {}),
        ("every", "everything", IGNORE, {}),
        ("most_0", "middle", {**IGNORE, "data.train_max_samples": 0}, {}),
        ("most_many", "middle", {**IGNORE, "data.train_max_samples": 5000}, {}),
        ("most_7", "nulls", {**IGNORE, "data.train_max_samples": 7}, {}),
        ("custom", "blank", {**IGNORE, "model.custom_chat_template": four.CAPITALS}, {}),
        ("custom_tools", "bare_calls", {**IGNORE, "model.custom_chat_template": four.TOOL_USE}, {}),
        ("custom_opened", "flags", {**IGNORE, "model.custom_chat_template": four.OPENED}, {}),
    )
    yield from _round(settings, 3)
    yield from _published("published", ((IGNORE, {}), ({}, {})), ("images", "nulls"))


def nemo_automodel() -> Iterator[Case]:
    masks = {"mask_reasoning_content": True, "mask_generation_prompt": True}
    mapped = {**nemo.COLUMNS, "column_mapping": {"question": "question", "answer": "answer"}}
    whole = {**mapped, "column_mapping": {"context": "context", "question": "question", "answer": "answer"}}
    counted = {**nemo.COLUMNS, "column_mapping": {"context": "score", "question": "count", "answer": "answer"}}
    packs = {"packing_strategy": "thd", "packed_sequence_size": 64}
    settings: tuple[Setting, ...] = (
        *(("plain", data, {}, {}) for data in CHATS),
        *(("masks", data, {}, {**masks, "mask_history": True}) for data in CHATS),
        ("kinds", "kinds", {}, {}),
        ("kinds_skipped", "kinds", {}, {"skip_invalid_samples": True}),
        ("schemas", "schemas", {}, {}),
        ("tags", "thoughts", {}, {**masks, "chat_template": four.OPENED}),
        ("tags", "calls", {}, {"chat_template": four.OPENED}),
        ("tags_last", "marks", {}, {"chat_template": four.OPENED, "mask_history": True, **nemo.cut(60)}),
        ("start", "middle", {}, {"start_of_turn_token": "<|user|>", "shuffle_seed": 3}),
        ("cut", "middle", {}, {**nemo.cut(17), **masks}),
        ("cut_1", "trained", {}, nemo.cut(1)),
        ("cut_first", "trained", {}, {"seq_length": 20, "truncation": "only_first"}),
        ("uncut", "trained", {}, {"seq_length": 20, "truncation": "do_not_truncate"}),
        ("padded", "blank", {}, nemo.cut(40, padding="max_length")),
        ("padded_longest", "blank", {}, nemo.cut(40, padding="longest")),
        ("padded_true", "blank", {}, {"padding": True}),
        ("padded_masks", "thoughts", {}, {**nemo.cut(50, padding="max_length"), **masks, "mask_history": True}),
        ("mapped", "strings", {}, mapped),
        ("mapped_cut", "strings", {}, {**whole, **nemo.cut(9)}),
        ("mapped_context", "strings", {}, whole),
        ("mapped_chat", "strings", {}, {**whole, "use_hf_chat_template": True}),
        ("mapped_chat_cut", "strings", {}, {**whole, "use_hf_chat_template": True, **nemo.cut(30)}),
        ("mapped_all", "strings", {}, {**mapped, "answer_only_loss_mask": False}),
        ("mapped_few", "strings", {}, {**mapped, "limit_dataset_samples": 7}),
        ("mapped_words", "numerals", {}, mapped),
        ("mapped_counts", "numerals", {}, counted),
        ("mapped_counts_chat", "numerals", {}, {**counted, "use_hf_chat_template": True}),
        ("agents", "agents", {}, nemo.AGENT),
        ("agents_last", "agents", {}, {**nemo.AGENT, "train_on_last_turn_only": True, **masks}),
        ("agents_fit", "agents", {}, {**nemo.AGENT, "truncate_history": True, **nemo.cut(40)}),
        ("agents_trimmed", "agents", {}, {**nemo.AGENT, "trim_incomplete_last_turn": True}),
        ("agents_padded", "agents", {}, {**nemo.AGENT, **nemo.cut(60, padding="max_length"), **masks}),
        ("agents_short", "agents", {}, {**nemo.AGENT, "filter_overlong": True, **nemo.cut(60)}),
        ("agents_answered", "agents", {}, {**nemo.AGENT, "filter_no_assistant": True}),
        ("agents_few", "agents", {}, {**nemo.AGENT, "limit_dataset_samples": 9}),
        ("agents_schemas", "schemas", {}, nemo.AGENT),
        ("agents_arguments", "arguments", {}, {**nemo.AGENT, **masks}),
        ("agents_roles", "roles", {}, nemo.AGENT),
        ("agents_every", "everything", {}, nemo.AGENT),
        ("agents_chat", "trained", {}, nemo.AGENT),
        ("agents_thoughts", "nulls", {}, {**nemo.AGENT, "drop_history_reasoning_content": True}),
        ("every", "everything", {}, {}),
        ("thd", "trained", nemo.packed(80, "thd"), {}),
        ("thd_short", "lengthy", {"packed_sequence": {**packs, "drop_long_samples": True}}, {}),
        ("thd_split", "strings", {"packed_sequence": {**packs, "split_across_pack": True}}, mapped),
        ("neat", "strings", nemo.packed(64, "neat"), mapped),
        ("neat_chats", "marks", nemo.packed(200, "neat"), {}),
        ("divisible", "images", {"dataloader": {"collate_fn": {**nemo.DIVISIBLE, "pad_seq_len_divisible": 7}}}, {}),
    )
    yield from _round(settings, 3)
    yield from _published("published", (({}, {}), ({}, masks)))


def ms_swift() -> Iterator[Case]:
    long: dict[str, Any] = {"max_length": 4096}
    tried = {name for name, _ in TEMPLATES}

    def rows_for(template: str) -> str:
        """Chats without tools where the template writes tools by code that sftui does not have, and says so."""
        return next(spoken if registry.TEMPLATES[template].agent_template in registry.OTHER_AGENTS else data)

    names = cycle(("chatml", "qwen3", "llama3", "qwen2_5", "glm4", "gemma3_text", "phi4", "deepseek_r1", "default"))
    data = cycle((*CHATS, "agents", "schemas", "shouted", "paired", "asked"))
    spoken = cycle(("blank", "thoughts", "marks", "middle"))
    asked = {"columns": '{"question": "query", "answer": "response"}'}
    yield from _round(
        [(f"in_{one}", rows_for(one), {"template": one, **long}, {}) for one in registry.TEMPLATES if one not in tried],
        1,
    )
    rows = cycle(("schemas", "arguments", "bare_calls", "agents", "calls"))
    yield from _round(
        [
            (f"by_{one}", next(rows), {"template": "qwen3", **long, "agent_template": one}, {})
            for one in registry.AGENTS
        ],
        1,
    )
    settings: list[Setting] = [
        *((template := next(names), data, {"template": template, **long}, {}) for data in (*CHATS, "agents", "kinds")),
        ("asked", "asked", {"template": "qwen2_5", **long}, {}),
        ("asked_last", "asked", {"template": "llama3", **long, "loss_scale": "last_round"}, {}),
        ("scaled", "scaled", {"template": "qwen2_5", **long}, {}),
        ("schemas", "schemas", {"template": "qwen2_5", **long}, {}),
        ("shouted", "shouted", {"template": "qwen2_5", **long}, {}),
        ("shouted_as_is", "shouted", {"template": "qwen2_5", **long, "disable_auto_column_mapping": True}, {}),
        ("paired", "paired", {"template": "chatml", **long}, {}),
        ("every", "everything", {"template": "chatml", **long}, {}),
        ("words", "numerals", {"template": "chatml", **long, **asked}, {}),
        ("counts", "numerals", {"template": "chatml", **long, "columns": '{"count": "query"}'}, {}),
        ("questions", "strings", {"template": "chatml", **long}, {}),
        ("turned", "strings", {"template": "qwen3", **long, "columns": {"context": "system"}}, {}),
        ("texts", "texts", {"template": "chatml", **long, "use_chat_template": False, "loss_scale": "all"}, {}),
        (
            "bare_last",
            "marks",
            {"template": "qwen3", **long, "use_chat_template": False, "loss_scale": "last_round"},
            {},
        ),
        ("hermes", "calls", {"template": "qwen2_5", **long, "loss_scale": "hermes"}, {}),
        ("scales", "marks", {"template": "qwen3", **long, "loss_scale": "all+hermes+ignore_empty_think"}, {}),
        ("scales_react", "marks", {"template": "chatml", **long, "loss_scale": "react+ignore_think_prefix"}, {}),
        (
            "scales_binary",
            "schemas",
            {"template": "qwen3", **long, "loss_scale": "qwen", "is_binary_loss_scale": True},
            {},
        ),
        ("react", "bare_calls", {"template": "chatml", **long, "agent_template": "react_en"}, {}),
        ("thinks", "thoughts", {"template": "qwen3", **long, "loss_scale": "ignore_empty_think"}, {}),
        ("thinks_not", "thoughts", {"template": "qwen3", **long, "enable_thinking": False}, {}),
        ("thinks_last", "thoughts", {"template": "deepseek_v3_1", **long, "loss_scale": "last_round"}, {}),
        ("kept", "thoughts", {"template": "qwen3", **long, "preserve_thinking": True, "loss_scale": "all"}, {}),
        ("system", "middle", {"template": "qwen2_5", **long, "system": ""}, {}),
        ("system_lines", "thoughts", {"template": "qwen2_5", **long, "system": " {{SYSTEM}}\\n{{QUERY}} "}, {}),
        ("right", "middle", {"template": "chatml", "max_length": 17, "truncation_strategy": "right"}, {}),
        ("left", "trained", {"template": "qwen3", "max_length": 17, "truncation_strategy": "left"}, {}),
        ("left_3", "thoughts", {"template": "chatml", "max_length": 3, "truncation_strategy": "left"}, {}),
        ("deleted", "lengthy", {"template": "chatml", "max_length": 300}, {}),
        ("packs", "lengthy", {"template": "qwen2_5", "max_length": 900, "packing": True, "dataset_shuffle": False}, {}),
        ("free", "trained", {"template": "llama3", **long, "padding_free": True}, {}),
        ("prefix", "blank", {"template": "qwen3", **long, "response_prefix": "<think>\\n"}, {}),
        ("prefix_none", "roles", {"template": "qwen3_thinking", **long, "response_prefix": ""}, {}),
        ("workers", "nulls", {"template": "qwen2_5", **long, "dataset_num_proc": 2, "strict": True}, {}),
    ]
    yield from _round(settings, 2)
    several = (*CHATS, "schemas", "asked")
    yield from _round([("real", one, {"template": next(names), **long}, {}) for one in several], 1, REAL)


CASES: dict[str, Callable[[], Iterator[Case]]] = {
    "mlx-lm": mlx_lm,
    "verl": verl,
    "nemo-automodel": nemo_automodel,
    "ms-swift": ms_swift,
}


IN_EACH_RUN = "four:opened"
"""The tokenizer of which each run of parity tries every second case: a proof takes the most of a case's time."""


def cases_of_each_run(trainer: str) -> tuple[Case, ...]:
    """Those cases of a trainer; none where the round has none for it."""
    return tuple(case for case in CASES[trainer]() if case.tokenizer == IN_EACH_RUN)[::2] if trainer in CASES else ()


def cases(trainer: str) -> tuple[Case, ...]:
    """The cases of a trainer."""
    return tuple(CASES[trainer]())
