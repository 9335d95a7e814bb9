"""The options that LLaMA-Factory alone has."""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import Own, knob


@dataclass(frozen=True, slots=True)
class LlamaFactoryOptions(Own):
    """Keys of its YAML and of dataset_info.json without an equal elsewhere (llamafactory 0.9.5, hparams)."""

    tool_format: str | None = knob(None, "how tools are written; null: as the template says")
    max_samples: int | None = knob(None, "no more than the first so many rows are trained")
    ignore_pad_token_for_loss: bool = knob(True, "padding is masked")
    add_tokens: str | None = knob(None, "tokens added to the vocabulary, with commas between them")
    add_special_tokens: str | None = knob(None, "special tokens added to the vocabulary, with commas between them")
    val_size: float | None = knob(None, "rows set aside for evaluation: a number of rows, or below 1 a share")
    seed: int | None = knob(None, "the seed by which they are drawn; null: 42")
    stage: str = knob(
        "sft",
        "what is trained",
        choices={"sft": "the answers, as mask.rule says", "pt": "whole texts, as in pre-training"},
    )
    packing: bool | None = knob(None, "with stage pt: what `packing` says")
    add_bos_token: bool | None = knob(None, "with stage pt: whether the slow tokenizer writes a BOS")
    formatting: str | None = knob(
        None,
        "by which rules chats are read; null: as data.format says",
        choices={"openai": "by the rules of `formatting: openai`, its own for tools and the system text"},
    )
