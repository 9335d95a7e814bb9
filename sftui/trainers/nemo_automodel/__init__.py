"""NeMo Automodel's fine-tuning of language models (`automodel CONFIG.yaml`), its chat and instruction datasets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from sftui.recipe import Own, knob
from sftui.trainers.traits import Effect, Finds, Packing, Quirk, Traits, places_named

DATASETS = {
    "chat": "ChatDataset: `messages` in OpenAI format, or `conversations` with from and value",
    "agent": "make_agent_chat_dataset: messages with tool_call and tool_response turns as well",
    "columns": "ColumnMappedTextInstructionDataset: context, question and answer from named columns",
    "squad": "make_squad_dataset: context, question and answers in SQuAD format",
    "xlam": "make_xlam_dataset: query, tools and answers in xLAM format",
}
"""The datasets whose rows are known, and what each of them reads."""


@dataclass(frozen=True, slots=True)
class NemoOptions(Own):
    """Keys of its datasets and its packing without an equal elsewhere (nemo-automodel 0.7.0, components/datasets)."""

    dataset: str = knob("chat", "the dataset class that reads the rows", choices=DATASETS)
    mask_reasoning_content: bool = knob(False, "what reasoning_content adds to the text is masked")
    mask_generation_prompt: bool = knob(
        False, "what the template's generation prompt supplies at the start of an answer is masked"
    )
    use_hf_chat_template: bool = knob(False, "columns: rows become chats if the tokenizer has a template")
    drop_history_reasoning_content: bool = knob(
        False, "agent: reasoning_content is dropped from all answers but the last"
    )
    truncate_history: bool = knob(
        False, "agent: the oldest exchanges are dropped until the row fits into length.max, or own.seq_length"
    )
    seq_length: int | None = knob(
        None,
        "rows are not cut: truncate_history shortens them to this many tokens, and padding fills them up to it",
        minimum=1,
    )
    limit_dataset_samples: int | None = knob(None, "rows beyond this number are not read; null: no limit", minimum=1)
    skip_invalid_samples: bool = knob(False, "chat: lines that are not JSON are skipped instead of stopping the run")
    trim_incomplete_last_turn: bool = knob(False, "agent: messages after the last answer are dropped")
    filter_no_assistant: bool = knob(False, "agent: rows without an answer are dropped")
    chat_template: str | None = knob(None, "the text of the chat template")
    tokenizer_backend: str = knob(
        "nemo_auto",
        "what loads the tokenizer and renders with it",
        choices={
            "nemo_auto": "NeMo's own class for the model, else AutoTokenizer in NeMo's wrapper",
            "nemo_wrapped_auto": "AutoTokenizer in NeMo's wrapper, which merges a system message if needed",
            "transformers_auto": "AutoTokenizer alone",
        },
    )
    pad_to_multiple_of: int = knob(1, "THD packs: each row is padded to a multiple of this", minimum=1)
    max_packs: int | None = knob(None, "maximum number of packs; null: no limit", minimum=1)
    packed_sequence_size: int | None = knob(None, "tokens in a pack; null: length.max", minimum=1)


TRAITS = Traits(
    name="nemo-automodel",
    title="NeMo Automodel",
    about="NVIDIA NeMo Automodel's LLM fine-tuning, configured by its YAML recipe",
    home="sftui.trainers.nemo_automodel.trainer:NemoAutomodel",
    versions=("0.7",),
    first=(0, 7),
    finds=Finds.PROMPTS,
    averages="step",  # num_label_tokens (0.7.0, recipes/llm/train_ft.py, components/loss/masked_ce.py)
    rules={"assistant": "auto"},
    options={Effect.MASKS_OPENED: "own.mask_generation_prompt"},
    packing=Packing(
        usual="sequential",
        separates=("sequential", "neat"),
        separates_by="numbers",
        places="sftui.trainers.nemo_automodel.trainer:places",
    ),
    empty_stop="",
    quirks=(Quirk.ENDS_TEXTS_ALONE, Quirk.AUTO_TRAINS_ANSWERS, Quirk.NAMED_KEYS_ONLY),
    config="sftui.trainers.nemo_automodel.config",
    claims=partial(places_named, key="_target_", package="nemo_automodel."),
)
