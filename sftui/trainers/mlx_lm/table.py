"""Which keys of mlx-lm's YAML, and which of its flags, say which knobs.

Source: mlx-lm 0.32.2, lora.py (CONFIG_DEFAULTS, build_parser, main). The YAML's values are taken as they are: a number
in quotes stops the run where it is counted with.
"""

from __future__ import annotations

from collections.abc import Mapping

from sftui.recipe import Recipe
from sftui.trainers.config import text_at
from sftui.trainers.mlx_lm.formats import FEATURES, FORMATS
from sftui.trainers.table import (
    Config,
    Entry,
    Keys,
    Noted,
    Said,
    Write,
    keyless,
    keys_read,
    limit,
    rule,
    silent,
    typed,
)

TITLE = "mlx-lm"
FLAGS: Mapping[str, str] = {
    "max_seq_length": "--max-seq-length",
    "batch_size": "--batch-size",
    "model": "--model",
    "mask_prompt": "--mask-prompt",
}
"""The flags of mlx_lm.lora for keys of the table; `--mask-prompt` can only be set."""


def _typed(key: str, knob: str, kind: type, write: Write | None = None) -> Entry:
    why = f"{TITLE} converts no value of a YAML, and stops where it needs it"
    return typed(key, knob, kind, null="nothing", why=why, write=write)


def _mask(config: Config, recipe: Recipe, where: str) -> Said:
    """Whatever Python holds for true, a text in quotes too."""
    value = config.get("mask_prompt")
    return {} if value is None else {"mask.rule": "completion" if value else "all"}


def _written_mask(recipe: Recipe, path: str, value: str) -> Keys | None:
    return {("mask_prompt",): value == "completion"} if value in ("completion", "all") else None


def _columns(config: Config, recipe: Recipe, where: str) -> Said:
    named = {ours: text_at(config, key, where) for ours, key in FEATURES.items()}
    found = {ours: column for ours, column in named.items() if column is not None and column != ours}
    return {"data.fields": found} if found else {}


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> Noted:
    keys: Keys = {(FEATURES[ours],): column for ours, column in value.items() if ours in FEATURES and column != ours}
    lost = tuple(
        f"data.fields {ours} = {column!r} has no key in mlx-lm's config: of other columns it reads `tools` alone"
        for ours, column in value.items()
        if ours not in FEATURES and (ours, column) != ("tools", "tools")
    )
    return keys, lost


TOP = (
    _typed("max_seq_length", "length.max", int, limit("max_seq_length", TITLE)),
    _typed("batch_size", "batch.size", int),
    _typed("model", "tokenizer.name", str),
    rule("mask_prompt", "mask.rule", _mask, _written_mask),
    keyless("data.format", TITLE, f"it reads {', '.join(FORMATS)}", *FORMATS),
    keyless("render.template", TITLE, "put the template into the model's folder, as chat_template.jinja"),
    silent("tokenizer.transformers"),
)
DATASET = (rule(" ".join(FEATURES.values()), "data.fields", _columns, _written_columns),)
"""What stands at the top where `data` names the rows, and in each entry of `hf_dataset`."""
KEYS = keys_read((*TOP, *DATASET))
