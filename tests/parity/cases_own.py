"""The cases whose references are kept in the repository: our own rows, our own tokenizers, our own templates.

The ordinary tests check them without the trainers; `goldens.py` records them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sentencepiece_models
from case import Case
from cases_llamafactory import HISTORY, MESSAGES, SHAREGPT, TOOLS
from cases_llamafactory_v1 import ALPACA as V1_ALPACA
from cases_llamafactory_v1 import BY_TOKENS, CLOSED, FREE, SUFFIXED
from cases_llamafactory_v1 import SHAREGPT as V1_SHAREGPT
from cases_mlx_lm import BARE, OPEN, THINKS
from cases_nemo_automodel import AGENT, ODD, PAIRS, SQUAD, TAGS, XLAM, cut, packed
from cases_nemo_automodel import COLUMNS as MAPPED
from cases_torchtune import ALPACA, CHAT, CHATML_TEMPLATE, INSTRUCT, PIECE_MODELS, TEXT, pieces, qwen
from cases_torchtune import SHAREGPT as TUNE_SHAREGPT
from cases_verl import IGNORE, NEEDS_USER, PADDED, PREFACED
from cases_verl import THINKS as VERL_THINKS

CHATML, LLAMA3, GEMMA = "own:chatml", "own:llama3", "own:gemma"
TRICKY = "tricky.one_of_three"
TAGGED = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}{% generation %}{{"
    " m.content + '<|im_end|>' }}{% endgeneration %}{% else %}{{ m.content + '<|im_end|>' }}{% endif %}{{ '\\n' }}{%"
    " endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TAGGED_CONTENT = TAGGED.replace(
    "{{ m.content + '<|im_end|>' }}{% endgeneration %}", "{{ m.content }}{% endgeneration %}{{ '<|im_end|>' }}"
)
THINK_PROMPT = TAGGED.replace(
    "<|im_start|>assistant\\n' }}{% endif %}", "<|im_start|>assistant\\n<think>\\n' }}{% endif %}"
)
MARKERS = {"instruction_part": "<|im_start|>user\n", "response_part": "<|im_start|>assistant\n"}
LLAMA_MARKERS = {
    "instruction_part": "<|start_header_id|>user<|end_header_id|>\n\n",
    "response_part": "<|start_header_id|>assistant<|end_header_id|>\n\n",
}
NEW = ("2026.10.9", "2026.10.7")


def trl(name: str, data: str, tokenizer: str = CHATML, template: str | None = None, **config: Any) -> Case:
    return Case(name, data, tokenizer, config, template)


def axolotl(
    name: str, data: str, tokenizer: str = CHATML, dataset: Any = None, template: str | None = None, **config: Any
) -> Case:
    return Case(name, data, tokenizer, {"sequence_len": 1024, **config}, template, dataset=dataset or {})


def llamafactory(
    name: str, data: str, template: str, tokenizer: str = CHATML, dataset: Any = None, **config: Any
) -> Case:
    return Case(
        name, data, tokenizer, {"template": template, **config}, dataset=MESSAGES if dataset is None else dataset
    )


def v1(name: str, data: str, tokenizer: str = CHATML, dataset: Any = None, **config: Any) -> Case:
    return Case(name, data, tokenizer, config, dataset=dataset or {}, batch={"size": 1, "count": 6})


def nemo(name: str, data: str, tokenizer: str = CHATML, config: Any = None, **dataset: Any) -> Case:
    return Case(name, data, tokenizer, config or {}, dataset=dataset, batch={"size": 4, "count": 3})


LINES = f"{TRICKY}.one_line"
FEW = f"{LINES}.one_of_three"
THINKING = TAGS.replace("%}{{ m.content }}<", "%}<think>{{ m.reasoning_content }}</think>{{ m.content }}<", 1)


def mlx(name: str, data: str, tokenizer: str = CHATML, template: str | None = None, **config: Any) -> Case:
    return Case(name, data, tokenizer, config, template, batch={"size": 4, "count": 6})


def verl(
    name: str, data: str, tokenizer: str = CHATML, template: str | None = None, config: Any = None, **data_keys: Any
) -> Case:
    said = {**(config or {}), **{f"data.{key}": value for key, value in data_keys.items()}}
    return Case(name, data, tokenizer, said, template, batch={"size": 4, "count": 6})


def swift(name: str, data: str, template: str = "chatml", tokenizer: str = CHATML, **config: Any) -> Case:
    return Case(name, data, tokenizer, {"template": template, "max_length": 4096, **config})


def unsloth(
    name: str,
    data: str,
    tokenizer: str = CHATML,
    dataset: Any = None,
    template: str | None = None,
    only: tuple[str, ...] = (),
    **config: Any,
) -> Case:
    tokens = (
        {"pad_token": "<|end_of_text|>"} if tokenizer == LLAMA3 else {}
    )  # unsloth gives a tokenizer without one its own
    return Case(name, data, tokenizer, {"max_length": 1024, **config}, template, tokens, dataset or {}, only=only)


def masked(responses: Any = None, **more: Any) -> dict[str, Any]:
    return {"text_from": "messages", "responses": MARKERS if responses is None else responses, **more}


def of_pieces() -> Iterator[Case]:
    """torchtune's SentencePiece tokenizers over each kept model: turns, masks, cuts, prompt templates, texts."""
    block: dict[str, Any]
    both: dict[str, Any] = {**CHAT, "train_on_input": True}
    for model in PIECE_MODELS:
        bare: dict[str, Any] = {} if model != "mistral" else {"prompt_template": None}
        cut = pieces(model, max_seq_len=40, **bare)
        for name in sentencepiece_models.KEPT:
            yield Case(f"{model}_{name}", TRICKY, f"kept:{name}", cut, dataset=both)
        for title, data, block, dataset in (
            ("template", "sample_strings.input_output", {}, INSTRUCT),
            ("chatml", "sample_sharegpt.bare", {"prompt_template": CHATML_TEMPLATE, "max_seq_len": 99}, TUNE_SHAREGPT),
            ("system", "sample_strings.input_output", {}, {**INSTRUCT, "new_system_prompt": "Be brief. "}),
            ("text", "sample_text", {"max_seq_len": 30}, TEXT),
        ):
            yield Case(f"{model}_{title}", data, "kept:turns", pieces(model, **block), dataset=dataset)


OWN: dict[str, tuple[Case, ...]] = {
    "trl": (
        trl("messages", "sample_chat.no_kwargs"),
        trl("kwargs_in_some_rows", "sample_chat"),
        trl("tools_qwen2_5", "sample_chat.no_kwargs", template="own:qwen2.5"),
        trl("messages_tricky", TRICKY),
        trl("messages_llama3", TRICKY, LLAMA3),
        trl("messages_gemma", "sample_completion.messages_of", GEMMA),
        trl("system_refused", TRICKY, GEMMA),
        trl("strings", "sample_strings"),
        trl("strings_llama3", "sample_strings", LLAMA3),
        trl("text", "sample_text"),
        trl("text_gemma", "sample_text", GEMMA),
        trl("questions", "sample_questions.strings", LLAMA3),
        trl("conversational_completion", "sample_completion"),
        trl("from_value", "sample_sharegpt"),
        trl("assistant_only_tag", TRICKY, template=TAGGED, assistant_only_loss=True),
        trl("assistant_only_content_tag", TRICKY, template=TAGGED_CONTENT, assistant_only_loss=True),
        trl("assistant_only_qwen2_5", TRICKY, template="own:qwen2.5", assistant_only_loss=True),
        trl("assistant_only_llama3", TRICKY, LLAMA3, template="own:llama3", assistant_only_loss=True),
        trl("assistant_only_unknown", TRICKY, assistant_only_loss=True),
        trl("completion_and_assistant", "sample_completion", template=TAGGED, assistant_only_loss=True),
        trl(
            "completion_off_and_assistant",
            "sample_completion",
            template=TAGGED,
            assistant_only_loss=True,
            completion_only_loss=False,
        ),
        trl("completion_off", "sample_strings", completion_only_loss=False),
        trl("think_prompt", "sample_completion", template=THINK_PROMPT),
        trl("boundary_spaced", "sample_questions.strings.spaced"),
        trl("boundary_inside_word", "sample_questions.strings.inside_word", LLAMA3),
        trl("eos_token", "sample_strings", eos_token="<|endoftext|>"),
        trl("text_field", "sample_text.body", dataset_text_field="body"),
        trl("cut_start", "sample_chat.plain", max_length=40),
        trl("cut_end", "sample_chat.plain", max_length=40, truncation_mode="keep_end"),
        trl("cut_completion", "sample_completion", max_length=24),
        trl("cut_tagged", TRICKY, template=TAGGED, assistant_only_loss=True, max_length=16),
        trl("pack_bfd", "sample_questions.strings", packing=True, max_length=128),
        trl("pack_bfd_split", "sample_text", packing=True, packing_strategy="bfd_split", max_length=32),
        trl("pack_wrapped", "sample_questions.strings", packing=True, packing_strategy="wrapped", max_length=64),
        trl("padding_free", "sample_text", padding_free=True, max_length=None),
        trl("pad_multiple", "sample_text", pad_to_multiple_of=16),
        trl("ids_completion_mask", "sample_text.ids_completion"),
        trl("ids_labels", "sample_text.ids_labels"),
        trl("broken_turns", "tricky.broken", template=TAGGED),
    ),
    "axolotl": (
        axolotl("messages", "sample_chat"),
        axolotl("messages_tricky", TRICKY),
        axolotl("messages_llama3", TRICKY, LLAMA3),
        axolotl("messages_gemma", "sample_completion.messages_of", GEMMA),
        axolotl(
            "sharegpt",
            "sample_sharegpt",
            dataset={
                "field_messages": "conversations",
                "message_property_mappings": {"role": "from", "content": "value"},
            },
        ),
        axolotl("alpaca", "sample_alpaca", dataset={"type": "alpaca"}),
        axolotl("alpaca_llama3", "sample_alpaca", LLAMA3, {"type": "alpaca"}),
        axolotl("alpaca_train_inputs", "sample_alpaca", dataset={"type": "alpaca"}, train_on_inputs=True),
        axolotl("completion", "sample_text", dataset={"type": "completion"}),
        axolotl("completion_split", "sample_text", dataset={"type": "completion"}, sequence_len=24),
        axolotl("input_output", f"{TRICKY}.segments", dataset={"type": "input_output"}),
        axolotl(
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
        axolotl("roles_user", TRICKY, dataset={"roles_to_train": ["user", "assistant"]}),
        axolotl("roles_none", TRICKY, dataset={"roles_to_train": []}),
        axolotl("train_on_inputs", TRICKY, train_on_inputs=True),
        axolotl("eos_all", TRICKY, dataset={"train_on_eos": "all"}),
        axolotl("eos_last", TRICKY, dataset={"train_on_eos": "last"}),
        axolotl("eos_none", TRICKY, dataset={"train_on_eos": "none"}),
        axolotl("eot_tokens", TRICKY, special_tokens={"eos_token": "<|endoftext|>"}, eot_tokens=["<|im_end|>"]),
        axolotl("eos_is_not_terminator", TRICKY, special_tokens={"eos_token": "<|endoftext|>"}),
        axolotl(
            "eot_all_eos_none",
            TRICKY,
            dataset={"train_on_eot": "all", "train_on_eos": "none"},
            eot_tokens=["<|im_end|>"],
            special_tokens={"eos_token": "<|endoftext|>"},
        ),
        axolotl("flags", f"{TRICKY}.flagged", dataset={"message_field_training": "training"}),
        axolotl("detail", f"{TRICKY}.detailed", dataset={"message_field_training_detail": "detail"}),
        axolotl("drop_system", TRICKY, dataset={"drop_system_message": True}),
        axolotl("broken_turns", "tricky.broken"),
        axolotl("template_chatml", TRICKY, LLAMA3, chat_template="chatml"),
        axolotl("template_llama3", TRICKY, LLAMA3, chat_template="llama3"),
        axolotl("template_phi_3", TRICKY, chat_template="phi_3"),
        axolotl("template_alpaca", TRICKY, chat_template="alpaca"),
        axolotl("length_drop", "sample_chat", sequence_len=48),
        axolotl("length_cut", "sample_chat", sequence_len=32, excess_length_strategy="truncate"),
        axolotl("packing", "sample_chat", sample_packing=True, sequence_len=256, curriculum_sampling=True),
        axolotl("pad_to_sequence", "sample_chat", pad_to_sequence_len=True, sequence_len=200),
        axolotl("ids", "sample_text.ids_attention"),
    ),
    "llamafactory-v1": (
        v1("samples", "v1_made.few"),
        v1("samples_llama3", "v1_made.few", LLAMA3),
        v1("samples_gemma", "v1_made.few", GEMMA),
        v1("cut", "v1_made.few", cutoff_len=60, micro_batch_size=3),
        v1("weighted", "tricky.one_of_three.v1_weighted", LLAMA3, micro_batch_size=4),
        v1("no_weights", "tricky.one_of_three.v1.v1_unweighted", LLAMA3),
        v1("padding_free", "v1_made.few", LLAMA3, cutoff_len=80, micro_batch_size=3, **FREE),
        v1("by_tokens", "v1_made.few", LLAMA3, cutoff_len=120, micro_batch_size=2, **BY_TOKENS),
        v1("sharegpt", "v1_sharegpt.few", dataset=V1_SHAREGPT),
        v1("alpaca", "v1_alpaca.few", LLAMA3, V1_ALPACA),
        v1("template_of_the_config", "v1_made.few", LLAMA3, custom_chat_template=SUFFIXED),
        v1("unstable_template", "tricky.one_of_three.v1", custom_chat_template=CLOSED),
        v1("broken", "v1_broken.few"),
        v1("contents_that_are_text", "tricky.one_of_three"),
    ),
    "llamafactory": (
        *(
            llamafactory(f"template_{name}", TRICKY, name)
            for name in (
                "default",
                "alpaca",
                "chatml",
                "llama3",
                "qwen",
                "qwen3",
                "gemma",
                "mistral",
                "phi",
                "deepseek3",
            )
        ),
        llamafactory("llama3_tokenizer", TRICKY, "llama3", LLAMA3),
        llamafactory("gemma_tokenizer", TRICKY, "gemma", GEMMA),
        llamafactory("alpaca_rows", "sample_alpaca", "qwen", dataset={}),
        llamafactory("sharegpt_rows", "sample_sharegpt.calls", "qwen", dataset=SHAREGPT),
        llamafactory("call_that_is_not_json", "sample_sharegpt", "qwen", dataset=SHAREGPT),
        llamafactory("tools_llama3", "sample_sharegpt.calls", "llama3", LLAMA3, TOOLS),
        llamafactory("tools_default", "sample_sharegpt.calls", "default", dataset=TOOLS),
        llamafactory("history_rows", "sample_sharegpt.bare.openai.history", "qwen", dataset=HISTORY),
        llamafactory("tokenizer_template", TRICKY, None),  # type: ignore[arg-type]
        llamafactory("train_on_prompt", TRICKY, "qwen", train_on_prompt=True),
        llamafactory("mask_history", TRICKY, "qwen", mask_history=True),
        llamafactory("efficient_eos", TRICKY, "breeze", LLAMA3),
        llamafactory("efficient_eos_mask_history", TRICKY, "breeze", LLAMA3, mask_history=True),
        llamafactory("cut", "sample_sharegpt.bare", "qwen", dataset=SHAREGPT, cutoff_len=32),
        llamafactory(
            "cut_mask_history", "sample_sharegpt.bare", "qwen", dataset=SHAREGPT, cutoff_len=32, mask_history=True
        ),
        llamafactory("cut_alpaca", "sample_alpaca", "llama3", LLAMA3, {}, cutoff_len=20),
        llamafactory("broken_turns", "tricky.broken", "qwen"),
        llamafactory("packing", "sample_alpaca", "qwen", dataset={}, packing=True, cutoff_len=128),
        llamafactory("neat_packing", "sample_alpaca", "qwen", dataset={}, neat_packing=True, cutoff_len=128),
        llamafactory("thinking_off", TRICKY, "qwen3", enable_thinking=False),
        llamafactory("default_system", TRICKY, "llama3", LLAMA3, default_system="Be brief."),
        llamafactory("pad_labels", "sample_alpaca", "qwen", dataset={}, ignore_pad_token_for_loss=False),
    ),
    "unsloth": (
        unsloth("responses", "sample_chat.plain", dataset=masked()),
        unsloth("responses_tricky", TRICKY, dataset=masked()),
        unsloth("responses_llama3", TRICKY, LLAMA3, masked(LLAMA_MARKERS)),
        unsloth("responses_found", TRICKY, dataset=masked({})),
        unsloth("responses_found_gemma", "sample_completion.messages_of", GEMMA, masked({})),
        unsloth("last_only", TRICKY, dataset=masked({**MARKERS, "last_response_only": True})),
        unsloth("force_match_off", TRICKY, dataset=masked({**MARKERS, "force_match": False})),
        unsloth("text_only", "sample_text"),
        unsloth("text_gemma", "sample_text", GEMMA),
        unsloth("messages", "sample_chat", only=NEW),
        unsloth("strings", "sample_strings"),
        unsloth("strings_llama3", "sample_strings", LLAMA3),
        unsloth("conversational_completion", "sample_completion"),
        unsloth("boundary_spaced", "sample_questions.strings.spaced"),
        unsloth(
            "instruct_text",
            "sample_alpaca.instruct_text",
            dataset={"responses": {"instruction_part": "### Instruction:\n", "response_part": "### Response:\n"}},
        ),
        unsloth("assistant_only_marker", TRICKY, only=NEW, assistant_only_loss=True),
        unsloth("assistant_only_tag", TRICKY, template=TAGGED, only=NEW, assistant_only_loss=True),
        unsloth("broken_turns", "tricky.broken", dataset=masked()),
        unsloth("cut", "sample_sharegpt.openai", dataset=masked(), max_length=32),
        unsloth("packing", "sample_text", packing=True, max_length=64),
    ),
    "torchtune": (
        Case("chat", "sample_chat.plain", CHATML, qwen(), dataset=CHAT),
        Case("chat_tricky", TRICKY, CHATML, qwen(), dataset=CHAT),
        Case("sharegpt", "sample_sharegpt.bare", CHATML, qwen(), dataset=TUNE_SHAREGPT),
        Case("alpaca", "sample_alpaca", CHATML, qwen(), dataset=ALPACA),
        Case("instruct", "sample_strings.input_output", CHATML, qwen(), dataset=INSTRUCT),
        Case("text", "sample_text", CHATML, qwen(), dataset=TEXT),
        Case("train_on_input", TRICKY, CHATML, qwen(), dataset={**CHAT, "train_on_input": True}),
        Case("new_system", TRICKY, CHATML, qwen(), dataset={**CHAT, "new_system_prompt": "Be brief."}),
        Case("length_not_reached", TRICKY, CHATML, qwen(max_seq_len=2048), dataset=CHAT),
        Case("length_cut", TRICKY, CHATML, qwen(max_seq_len=24), dataset=CHAT),
        Case("text_cut", "sample_text", CHATML, qwen(max_seq_len=16), dataset=TEXT),
        Case(
            "packed", "sample_sharegpt.bare", CHATML, qwen(max_seq_len=256), dataset={**TUNE_SHAREGPT, "packed": True}
        ),
        *of_pieces(),
    ),
    "mlx-lm": (
        mlx("messages", "sample_chat"),
        mlx("messages_masked", TRICKY, mask_prompt=True),
        mlx("messages_masked_llama3", TRICKY, LLAMA3, mask_prompt=True, batch_size=3),
        mlx("messages_masked_gemma", "sample_completion.messages_of", GEMMA, mask_prompt=True),
        mlx("pairs", "sample_strings"),
        mlx("pairs_masked", "sample_strings", LLAMA3, mask_prompt=True),
        mlx("pairs_of_messages", "sample_completion"),
        mlx("texts", "sample_text"),
        mlx("texts_llama3", "sample_text", LLAMA3),
        mlx("texts_masked", "sample_text", mask_prompt=True),
        mlx("columns", "sample_questions", prompt_feature="question", completion_feature="answer", mask_prompt=True),
        mlx("unread", "sample_alpaca"),
        mlx("cut", TRICKY, LLAMA3, mask_prompt=True, max_seq_length=24, batch_size=2),
        mlx("cut_texts", "sample_text", max_seq_length=33, batch_size=2),
        mlx("past_the_end", "mlx_pairs", template=OPEN, mask_prompt=True),
        mlx("nothing_answered", "mlx_pairs", template=BARE, mask_prompt=True),
        mlx("thoughts", TRICKY, template=THINKS, mask_prompt=True),
        mlx("odd_chats", "mlx_chats", mask_prompt=True),
        mlx("odd_chats_gemma", "mlx_chats", GEMMA),
        mlx("odd_pairs", "mlx_pairs", LLAMA3, mask_prompt=True),
        mlx("odd_texts", "mlx_texts"),
        mlx("too_few", "sample_text", batch_size=500),
    ),
    "verl": (
        verl("messages", "sample_chat"),
        verl("messages_llama3", TRICKY, LLAMA3),
        verl("messages_gemma_stops", TRICKY, GEMMA),
        verl("prefaced_gemma", TRICKY, GEMMA, PREFACED, IGNORE),
        verl("thinks", TRICKY, template=VERL_THINKS),
        verl("thinks_not", TRICKY, template=VERL_THINKS, enable_thinking_default=False),
        verl("thinks_by_column", "verl_thinking", template=VERL_THINKS),
        verl("cut_right", TRICKY, truncation="right", max_length=40),
        verl("cut_left_is_right", TRICKY, LLAMA3, truncation="left", max_length=40),
        verl("cut_left_padded", TRICKY, truncation="left", max_length=40, pad_mode="right"),
        verl("padded", TRICKY, LLAMA3, config=PADDED, max_length=300),
        verl("too_long", TRICKY, max_length=40),
        verl("needs_user", "verl_chats", template=NEEDS_USER),
        verl("odd_chats", "verl_chats"),
        verl("odd_chats_llama3", "verl_chats", LLAMA3, config=IGNORE),
        verl("odd_keys", "verl_keys", LLAMA3, config=IGNORE),
        verl("odd_tools", "verl_tools_or_null"),
        verl("odd_media", "verl_media"),
        verl("unread", "sample_alpaca"),
    ),
    "ms-swift": (
        swift("chatml", "sample_chat"),
        swift("qwen3", TRICKY, "qwen3"),
        swift("llama3", TRICKY, "llama3", LLAMA3, per_device_train_batch_size=4),
        swift("gemma", "sample_completion.messages_of", "gemma", GEMMA),
        swift("default", "sample_sharegpt.bare", "default"),
        swift("phi4", TRICKY, "phi4", LLAMA3),
        swift("odd_chats", "swift_chats"),
        swift("odd_qwen3", "swift_chats", "qwen3", loss_scale="last_round"),
        swift("odd_tools", "swift_tools", "qwen2_5", loss_scale="hermes"),
        swift("odd_tools_glm", "swift_tools", "glm4_5"),
        swift("odd_tools_react", "swift_tools", "chatml", agent_template="react_en"),
        swift("odd_broken", "swift_broken"),
        swift("odd_pairs", "swift_pairs"),
        swift("alpaca", "sample_alpaca", "llama3", LLAMA3),
        swift("strings", "sample_strings"),
        swift("questions", "sample_questions"),
        swift("texts", "sample_text", use_chat_template=False, loss_scale="all"),
        swift("all", TRICKY, loss_scale="all"),
        swift("left", TRICKY, max_length=24, truncation_strategy="left"),
        swift("right", TRICKY, max_length=24, truncation_strategy="right"),
        swift("delete", TRICKY, max_length=60),
        swift(
            "split",
            "sample_text",
            max_length=16,
            truncation_strategy="split",
            use_chat_template=False,
            loss_scale="all",
            dataset_shuffle=False,
        ),
        swift("packed", TRICKY, max_length=256, packing=True, dataset_shuffle=False),
        swift(
            "packed_in_order",
            TRICKY,
            max_length=256,
            packing=True,
            packing_strategy="sequential",
            dataset_shuffle=False,
        ),
        swift("no_system", TRICKY, "gemma3_text", GEMMA, system="Be brief."),
    ),
    "nemo-automodel": (
        nemo("messages", "sample_chat"),
        nemo("lines_cut", TRICKY),
        nemo("messages_llama3", LINES, LLAMA3),
        nemo("messages_gemma", FEW, GEMMA),
        nemo("sharegpt", "sample_sharegpt.bare"),
        nemo("tags", FEW, chat_template=TAGS),
        nemo("last", FEW, LLAMA3, mask_history=True),
        nemo("opened", FEW, mask_generation_prompt=True),
        nemo(
            "thoughts", "nemo_chats", chat_template=THINKING, mask_reasoning_content=True, mask_generation_prompt=True
        ),
        nemo("cut", FEW, LLAMA3, **cut(24)),
        nemo("padded", FEW, LLAMA3, **cut(48, padding="max_length")),
        nemo("odd_chats", "nemo_chats"),
        nemo("odd_chats_gemma", "nemo_chats", GEMMA),
        nemo("agents", "nemo_agents", **AGENT),
        nemo("agents_openai", "nemo_agents_openai", LLAMA3, **AGENT, train_on_last_turn_only=True),
        nemo("agents_fit", "nemo_agents", **AGENT, truncate_history=True, **cut(60)),
        nemo("columns", "sample_strings", **PAIRS),
        nemo("columns_llama3", "sample_strings", LLAMA3, **PAIRS),
        nemo("columns_chat", "nemo_columns", **MAPPED, column_mapping=ODD, use_hf_chat_template=True),
        nemo("odd_columns", "nemo_columns", LLAMA3, **MAPPED, column_mapping=ODD, **cut(30)),
        nemo("squad", "nemo_squad", **SQUAD),
        nemo("xlam", "nemo_xlam", **XLAM),
        nemo("packed", "sample_sharegpt.bare", config=packed(256, "thd")),
        nemo("packed_neat", "sample_sharegpt.bare", LLAMA3, config=packed(200, "neat")),
        nemo("unread", "sample_text"),
    ),
}
"""The cases of every trainer."""
