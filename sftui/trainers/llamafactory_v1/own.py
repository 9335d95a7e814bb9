"""The options that LLaMA-Factory's v1 engine alone has."""

from __future__ import annotations

from dataclasses import dataclass

from sftui.recipe import Own, knob


@dataclass(frozen=True, slots=True)
class LlamaFactoryV1Options(Own):
    """Keys of its YAML and of its dataset file without an equal elsewhere (0.9.6.dev0, v1/config)."""

    dynamic: bool = knob(False, "a batch is filled up to cutoff_len times micro_batch_size tokens (dynamic_…)")
    custom_chat_template: str | None = knob(None, "the chat template itself, as the config holds it")
