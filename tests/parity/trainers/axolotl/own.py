"""Axolotl: the cases whose references are kept in the repository (see `own`)."""

from __future__ import annotations

from typing import Any

from case import Case
from own import CHATML, GEMMA, LLAMA3, TRICKY

THOUGHTS = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}"
    "{% if message.reasoning_content %}{{ '<think>' + message.reasoning_content + '</think>' }}{% endif %}"
    "{{ message.content + '<|im_end|>\\n' }}{% endfor %}"
)
FAR = THOUGHTS.replace("'<|im_end|>", "(' a b c d' if loop.index == 2 else ' a b c') + '<|im_end|>")
"""Its answers end three tokens before the terminator, and the first four."""


TRUNCATED = {"excess_length_strategy": "truncate"}


def case(
    name: str, data: str, tokenizer: str = CHATML, dataset: Any = None, template: str | None = None, **config: Any
) -> Case:
    keys = {"sequence_len": 1024, **config}
    return Case(name, data, tokenizer, keys, template, dataset=dataset or {}, only=("0.19.0",))


DEFAULT, ARGILLA = "chat_template.default", "chat_template.argilla_chat"
FORMATS = {"prompt_format": "Q: {prompt}\nA:", "chosen_format": " {chosen}", "rejected_format": " {rejected}."}


def pairs(name: str, data: str, tokenizer: str, kind: Any, dataset: Any = None, **config: Any) -> Case:
    """A preference, whose batches are recorded, too; its name begins with `rl`, or with reward."""
    rl = name.partition("_")[0]
    more = {"remove_unused_columns": False, "micro_batch_size": 2} if rl == "kto" else {}
    named = {"reward_model": True} if rl == "reward" else {"rl": rl}
    keys = {"sequence_len": 1024, **named, **more, **config}
    return Case(
        name,
        data,
        tokenizer,
        keys,
        dataset={"type": kind, **(dataset or {})},
        batch={"size": 2, "count": 2},
        only=PAIRED,
    )


PAIRED = ("0.21.0",)


OWN = (
    case("messages", "sample_chat"),
    case("messages_tricky", TRICKY),
    case("messages_llama3", TRICKY, LLAMA3),
    case("messages_gemma", "sample_completion.messages_of", GEMMA),
    case(
        "sharegpt",
        "sample_sharegpt",
        dataset={
            "field_messages": "conversations",
            "message_property_mappings": {"role": "from", "content": "value"},
        },
    ),
    case("alpaca", "sample_alpaca", dataset={"type": "alpaca"}),
    case("alpaca_llama3", "sample_alpaca", LLAMA3, {"type": "alpaca"}),
    case("alpaca_train_inputs", "sample_alpaca", dataset={"type": "alpaca"}, train_on_inputs=True),
    *(
        case(f"alpaca_cut_{size}", "sample_alpaca", tokenizer, {"type": "alpaca"}, sequence_len=size, **TRUNCATED)
        for size, tokenizer in ((60, CHATML), (64, LLAMA3), (4, CHATML))
    ),
    *(
        case(f"type_{name.replace(':', '_')}", "sample_alpaca.instruct_columns", dataset={"type": name})
        for name in (
            "alpaca:chatml",
            "alpaca_w_system",
            "alpaca_w_system.load_open_orca",
            "orcamini",
            "metharme",
            "summarizetldr:chat",
        )
    ),
    case("alpaca_ended", "axolotl_ended", dataset={"type": "alpaca"}),
    case("completion", "sample_text", dataset={"type": "completion"}),
    case("completion_split", "sample_text", dataset={"type": "completion"}, sequence_len=24),
    case("input_output", f"{TRICKY}.segments", dataset={"type": "input_output"}),
    case(
        "user_defined",
        "sample_questions",
        dataset={
            "type": {
                "field_instruction": "question",
                "field_output": "answer",
                "format": "Q: {instruction}\nA:",
                "no_input_format": "Q: {instruction}\nA:",
            }
        },
    ),
    case("roles_user", TRICKY, dataset={"roles_to_train": ["user", "assistant"]}),
    case("roles_none", TRICKY, dataset={"roles_to_train": []}),
    case("train_on_inputs", TRICKY, train_on_inputs=True),
    case("eos_all", TRICKY, dataset={"train_on_eos": "all"}),
    case("eos_last", TRICKY, dataset={"train_on_eos": "last"}),
    case("eos_none", TRICKY, dataset={"train_on_eos": "none"}),
    case("eot_tokens", TRICKY, special_tokens={"eos_token": "<|endoftext|>"}, eot_tokens=["<|im_end|>"]),
    case("eos_is_not_terminator", TRICKY, special_tokens={"eos_token": "<|endoftext|>"}),
    case(
        "eot_all_eos_none",
        TRICKY,
        dataset={"train_on_eot": "all", "train_on_eos": "none"},
        eot_tokens=["<|im_end|>"],
        special_tokens={"eos_token": "<|endoftext|>"},
    ),
    case("flags", f"{TRICKY}.flagged", dataset={"message_field_training": "training"}),
    case("detail", f"{TRICKY}.detailed", dataset={"message_field_training_detail": "detail"}),
    case(
        "edges",
        "axolotl_edges",
        dataset={"message_field_training": "training", "message_field_training_detail": "detail"},
        template=THOUGHTS,
    ),
    case("thoughts_split", "axolotl_thoughts", dataset={"split_thinking": True}, template=THOUGHTS),
    case("terminator_far", "axolotl_edges", template=FAR),
    case("terminator_far_all", "axolotl_edges", dataset={"train_on_eos": "all"}, template=FAR),
    case("terminator_far_last", "axolotl_edges", dataset={"train_on_eos": "last"}, template=FAR),
    case("drop_system", TRICKY, dataset={"drop_system_message": True}),
    case("broken_turns", "tricky.broken"),
    case("template_chatml", TRICKY, LLAMA3, chat_template="chatml"),
    case("template_llama3", TRICKY, LLAMA3, chat_template="llama3"),
    case("template_phi_3", TRICKY, chat_template="phi_3"),
    case("template_alpaca", TRICKY, chat_template="alpaca"),
    case("length_drop", "sample_chat", sequence_len=48),
    case("length_cut", "sample_chat", sequence_len=32, excess_length_strategy="truncate"),
    case("packing", "sample_chat", sample_packing=True, sequence_len=256, curriculum_sampling=True),
    case("pad_to_sequence", "sample_chat", pad_to_sequence_len=True, sequence_len=200),
    case("ids", "sample_text.ids_attention"),
    pairs("dpo_default", "trl_pairs.some", CHATML, DEFAULT, {"field_messages": "prompt"}),
    pairs("dpo_default_llama3_short", "trl_pairs.some", LLAMA3, DEFAULT, {"field_messages": "prompt"}, sequence_len=64),
    pairs("ipo_argilla", "trl_pairs_implicit.some", CHATML, ARGILLA),
    pairs("dpo_formats", "trl_pairs_texts.some", LLAMA3, FORMATS),
    pairs("dpo_prompt_pairs_short", "trl_pairs_texts.some", CHATML, "chatml.prompt_pairs", sequence_len=72),
    pairs("dpo_truncate", "trl_pairs_texts.some", CHATML, "chatml.prompt_pairs", sequence_len=72, **TRUNCATED),
    pairs(
        "dpo_truncate_llama3",
        "trl_pairs.some",
        LLAMA3,
        DEFAULT,
        {"field_messages": "prompt"},
        sequence_len=64,
        **TRUNCATED,
    ),
    pairs("kto_chat", "trl_pairs.some.labelled.alone", CHATML, "chatml.argilla_chat", sequence_len=160),
    pairs("kto_formats", "trl_pairs_texts.some.labelled", LLAMA3, {"prompt_format": "Q: {prompt}\nA:"}),
    pairs("kto_truncate", "trl_pairs_texts.some.labelled", CHATML, "chatml.ultra", sequence_len=72, **TRUNCATED),
    pairs("orpo_turns", "trl_pairs_implicit.turns.some", CHATML, "chat_template.argilla"),
    pairs("orpo_turns_llama3_short", "trl_pairs_implicit.turns.some", LLAMA3, "chat_template.argilla", sequence_len=72),
    pairs("simpo_default", "trl_pairs.some", CHATML, DEFAULT, {"field_messages": "prompt"}, sequence_len=96),
    pairs("simpo_argilla", "trl_pairs_implicit.some", LLAMA3, ARGILLA),
    pairs("reward", "trl_pairs_texts.some.systems", CHATML, "bradley_terry.chat_template", sequence_len=40),
)
