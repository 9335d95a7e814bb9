"""TRL: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TAGGED, TRICKY

TAGGED_CONTENT = TAGGED.replace(
    "{{ m.content + '<|im_end|>' }}{% endgeneration %}", "{{ m.content }}{% endgeneration %}{{ '<|im_end|>' }}"
)
THINK_PROMPT = TAGGED.replace(
    "<|im_start|>assistant\\n' }}{% endif %}", "<|im_start|>assistant\\n<think>\\n' }}{% endif %}"
)


def case(name: str, data: str, tokenizer: str = CHATML, template: str | None = None, **config: Any) -> Case:
    return Case(name, data, tokenizer, config, template)


def pairs(objective: str, data: str, tokenizer: str = CHATML, **config: Any) -> Case:
    batch = {"size": config.setdefault("per_device_train_batch_size", 2), "count": 1}
    name = f"{objective}_{data.replace('.', '_')}"
    return Case(name, data, tokenizer, config, batch=batch, objective=objective)


OWN = (
    case("messages", "sample_chat.no_kwargs"),
    case("kwargs_in_some_rows", "sample_chat"),
    case("tools_qwen2_5", "sample_chat.no_kwargs", template="own:qwen2.5"),
    case("messages_tricky", TRICKY),
    case("messages_llama3", TRICKY, LLAMA3),
    case("messages_gemma", "sample_completion.messages_of", GEMMA),
    case("system_refused", TRICKY, GEMMA),
    case("strings", "sample_strings"),
    case("strings_llama3", "sample_strings", LLAMA3),
    case("text", "sample_text"),
    case("text_gemma", "sample_text", GEMMA),
    case("questions", "sample_questions.strings", LLAMA3),
    case("conversational_completion", "sample_completion"),
    case("from_value", "sample_sharegpt"),
    case("assistant_only_tag", TRICKY, template=TAGGED, assistant_only_loss=True),
    case("assistant_only_content_tag", TRICKY, template=TAGGED_CONTENT, assistant_only_loss=True),
    case("assistant_only_qwen2_5", TRICKY, template="own:qwen2.5", assistant_only_loss=True),
    case("assistant_only_llama3", TRICKY, LLAMA3, template="own:llama3", assistant_only_loss=True),
    case("assistant_only_unknown", TRICKY, assistant_only_loss=True),
    case("completion_and_assistant", "sample_completion", template=TAGGED, assistant_only_loss=True),
    case(
        "completion_off_and_assistant",
        "sample_completion",
        template=TAGGED,
        assistant_only_loss=True,
        completion_only_loss=False,
    ),
    case("completion_off", "sample_strings", completion_only_loss=False),
    case("think_prompt", "sample_completion", template=THINK_PROMPT),
    case("boundary_spaced", "sample_questions.strings.spaced"),
    case("boundary_inside_word", "sample_questions.strings.inside_word", LLAMA3),
    case("eos_token", "sample_strings", eos_token="<|endoftext|>"),
    case("text_field", "sample_text.body", dataset_text_field="body"),
    case("cut_start", "sample_chat.plain", max_length=40),
    case("cut_end", "sample_chat.plain", max_length=40, truncation_mode="keep_end"),
    case("cut_completion", "sample_completion", max_length=24),
    case("cut_tagged", TRICKY, template=TAGGED, assistant_only_loss=True, max_length=16),
    case("pack_bfd", "sample_questions.strings", packing=True, max_length=128),
    case("pack_bfd_split", "sample_text", packing=True, packing_strategy="bfd_split", max_length=32),
    case("pack_wrapped", "sample_questions.strings", packing=True, packing_strategy="wrapped", max_length=64),
    case("padding_free", "sample_text", padding_free=True, max_length=None),
    case("pad_multiple", "sample_text", pad_to_multiple_of=16),
    case("ids_completion_mask", "sample_text.ids_completion"),
    case("ids_labels", "sample_text.ids_labels"),
    case("broken_turns", "tricky.broken", template=TAGGED),
    pairs("dpo", "trl_pairs.some", max_length=64),
    pairs("dpo", "trl_pairs_texts_implicit.some", LLAMA3),
    pairs("kto", "trl_pairs.some.labelled", max_length=64),
    pairs("kto", "trl_pairs_texts.some"),
    pairs("reward", "trl_pairs_implicit.some", LLAMA3),
    pairs("orpo", "trl_pairs.some"),
    pairs("cpo", "trl_pairs_texts.some", max_length=40),
)
