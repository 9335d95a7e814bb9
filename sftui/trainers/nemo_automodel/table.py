"""Which keys of NeMo Automodel's YAML say which knobs.

Source: nemo-automodel 0.7.0, recipes/_typed_config.py (RecipeConfig.dataloader), components/datasets/loader.py, and the
config classes of components/datasets/llm. Texts of a YAML are read as Python's values where they are some ("1").
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe
from sftui.trainers.nemo_automodel import INLINE, NemoOptions
from sftui.trainers.nemo_automodel.formats import MAPPED
from sftui.trainers.table import (
    Config,
    Entry,
    Keys,
    Noted,
    Said,
    as_is,
    at,
    keyless,
    needless,
    nothing,
    place_of,
    rule,
    silent,
)

TITLE = "NeMo Automodel"
DATASETS = "nemo_automodel.components.datasets"
LLM = f"{DATASETS}.llm"
TARGETS = {
    "chat": f"{LLM}.chat_dataset.ChatDataset",
    "agent": f"{LLM}.agent_chat.make_agent_chat_dataset",
    "columns": f"{LLM}.column_mapped_text_instruction_dataset.ColumnMappedTextInstructionDataset",
    "squad": f"{LLM}.squad.make_squad_dataset",
    "xlam": f"{LLM}.xlam.make_xlam_dataset",
}
"""own.dataset → its `_target_`."""
COLLATER = f"{DATASETS}.utils.default_collater"
THD = f"{DATASETS}.utils.packed_sequence_thd_collater"
NEMO_TOKENIZER = "nemo_automodel.NeMoAutoTokenizer.from_pretrained"
HF_TOKENIZER = "transformers.AutoTokenizer.from_pretrained"
STRATEGIES = {"thd": "sequential", "neat": "neat"}
OFF = (False, None, "do_not_truncate")
"""Values of `truncation` that cut nothing."""
CUTS = (True, "longest_first", "only_first")
LAST = {"chat": "mask_history", "agent": "train_on_last_turn_only"}


def entry(config: Config) -> Mapping[str, Any]:
    """The `dataset` block."""
    found = config.get("dataset")
    return found if isinstance(found, Mapping) else {}


def _length(config: Config, recipe: Recipe, where: str) -> Said:
    """seq_length cuts with truncation alone; without, an agent's truncate_history goes by it, and padding."""
    block = entry(config)
    size, cut = block.get("seq_length"), block.get("truncation", False)
    if size is not None and (not isinstance(size, int) or isinstance(size, bool)):
        raise RecipeError(f"dataset.seq_length is `{size}`", where=where, fix="give a whole number")
    if cut not in OFF and cut not in CUTS:
        raise RecipeError(
            f"dataset.truncation is `{cut}`", where=where, why="transformers cuts no single text so", fix="say true"
        )
    if size is None:
        return {}
    filled = {"batch.pad_to": "max"} if block.get("padding") == "max_length" else {}
    return {"own.seq_length" if cut in OFF else "length.max": size, **filled}


def _written_length(recipe: Recipe, path: str, value: Any) -> Keys | None:
    if path == "length.max":
        if value is None:
            return {}
        return {("dataset", "seq_length"): value, ("dataset", "truncation"): True}
    if path == "own.seq_length":
        return {("dataset", "seq_length"): value} if recipe.length.max is None else None
    if value == "max" and (recipe.length.max or NemoOptions.of(recipe).seq_length) is not None:
        return {("dataset", "padding"): "max_length"}
    return None


def _last(config: Config, recipe: Recipe, where: str) -> Said:
    key = LAST.get(NemoOptions.of(recipe).dataset)
    return {"mask.turns": "last"} if key and entry(config).get(key) else {}


def _written_last(recipe: Recipe, path: str, value: str) -> Keys | None:
    key = LAST.get(NemoOptions.of(recipe).dataset)
    return {("dataset", key): True} if value == "last" and key else None


def _rule(config: Config, recipe: Recipe, where: str) -> Said:
    whole = NemoOptions.of(recipe).dataset == "columns" and not entry(config).get("answer_only_loss_mask", True)
    return {"mask.rule": "all"} if whole else {}


def _written_rule(recipe: Recipe, path: str, value: str) -> Keys | None:
    whole = value == "all" and NemoOptions.of(recipe).dataset == "columns"
    return {("dataset", "answer_only_loss_mask"): False} if whole else None


def _option(name: str, *datasets: str) -> Entry:
    """An own option that is true or false, and a key of some datasets by the same name."""

    def read(config: Config, recipe: Recipe, where: str) -> Said:
        value = entry(config).get(name)
        return {f"own.{name}": bool(value)} if value and NemoOptions.of(recipe).dataset in datasets else {}

    def write(recipe: Recipe, path: str, value: bool) -> Noted:
        if NemoOptions.of(recipe).dataset in datasets:
            return {("dataset", name): value}, ()
        return {}, (
            f"own.{name} has no key with own.dataset {NemoOptions.of(recipe).dataset}: that of {datasets[0]} has",
        )

    return rule(f"dataset.{name}", f"own.{name}", read, write)


def _template(config: Config, recipe: Recipe, where: str) -> Said:
    """A template by itself, or the name of a file that holds one (_resolve_chat_template).

    Of a file that is not there NeMo Automodel takes the name itself for the template: sftui says that it is missing.
    """
    value = entry(config).get("chat_template")
    if value is None or NemoOptions.of(recipe).dataset not in ("chat", "agent", "squad"):
        return {}
    text = str(value)
    if "{%" not in text and "{{" not in text and (Path(text).exists() or text.endswith((".jinja", ".json"))):
        return {"render.template": f"file:{text}"}
    return {"render.template": f"nemo-automodel/{INLINE}", "own.chat_template": text}


def _written_template(recipe: Recipe, path: str, value: str | None) -> Noted | None:
    if path == "own.chat_template":
        return {}, ()
    kind, _, name = recipe.render.template.partition(":")
    if NemoOptions.of(recipe).dataset not in ("chat", "agent", "squad"):
        return {}, (
            f"render.template = {value!r} has no key with own.dataset {NemoOptions.of(recipe).dataset}: put the"
            " template into the model's folder, as chat_template.jinja",
        )
    if kind == "file":
        return {("dataset", "chat_template"): name}, ()
    inline = NemoOptions.of(recipe).chat_template if recipe.render.template.startswith("nemo-automodel/") else None
    return {("dataset", "chat_template"): inline or value}, ()


def _columns(config: Config, recipe: Recipe, where: str) -> Said:
    mapping = entry(config).get("column_mapping")
    if NemoOptions.of(recipe).dataset != "columns":
        return {}
    names = set(mapping) if isinstance(mapping, Mapping) else set()
    if not isinstance(mapping, Mapping) or "answer" not in names or not names <= set(MAPPED) or len(names) < 2:
        raise RecipeError(
            f"dataset.column_mapping is `{mapping}`",
            where=where,
            why="NeMo Automodel stops: it needs an answer, with a question, a context or both",
            fix="write {question: COLUMN, answer: COLUMN}",
        )
    return {"data.fields": {ours: str(mapping[ours]) for ours in MAPPED if ours in names}}


def _written_columns(recipe: Recipe, path: str, value: Mapping[str, str]) -> Noted:
    named = {ours: column for ours, column in value.items() if ours in MAPPED}
    if NemoOptions.of(recipe).dataset == "columns" and len(named) == len(value):
        return {("dataset", "column_mapping"): named}, ()
    usual = {"tools": "tools", "messages": "messages"}
    lost = {ours: column for ours, column in value.items() if usual.get(ours) != column and ours not in named}
    return {("dataset", "column_mapping"): named} if named else {}, tuple(
        f"data.fields {ours} = {column!r} has no key in {TITLE}'s config: its datasets read columns by fixed names"
        for ours, column in lost.items()
    )


def _tokenizer(config: Config, recipe: Recipe, where: str) -> Said:
    block = entry(config).get("tokenizer")
    model = config.get("model")
    named = model.get("pretrained_model_name_or_path") if isinstance(model, Mapping) else None
    if not named and isinstance(model, Mapping):
        inner = model.get("config")
        named = inner.get("pretrained_model_name_or_path") if isinstance(inner, Mapping) else inner
    said: dict[str, Any] = {"tokenizer.name": named} if isinstance(named, str) else {}
    if not isinstance(block, Mapping):
        return said
    own = block.get("pretrained_model_name_or_path")
    if isinstance(own, str):
        said["tokenizer.name"] = own
    transformers = str(block.get("_target_", "")).startswith("transformers.")
    if transformers or block.get("force_hf") or block.get("tokenizer_backend") == "transformers_auto":
        said["own.tokenizer_backend"] = "transformers_auto"
    elif block.get("force_default") or block.get("tokenizer_backend") == "nemo_wrapped_auto":
        said["own.tokenizer_backend"] = "nemo_wrapped_auto"
    return said


def _written_tokenizer(recipe: Recipe, path: str, value: Any) -> Keys:
    if path == "tokenizer.name":
        return {("model", "pretrained_model_name_or_path"): value}
    return {
        ("dataset", "tokenizer", "pretrained_model_name_or_path"): recipe.tokenizer.name or "MODEL",
        ("dataset", "tokenizer", "tokenizer_backend"): value,
    }


def _batch(config: Config, recipe: Recipe, where: str) -> Said:
    size = at(config, place_of("dataloader.batch_size"))[1]
    if size is None:
        size = at(config, place_of("step_scheduler.local_batch_size"))[1]
    return {"batch.size": size} if isinstance(size, int) and not isinstance(size, bool) else {}


def _collater(config: Config, recipe: Recipe, where: str) -> Said:
    given = at(config, place_of("dataloader.collate_fn"))[1]
    name = given.get("_target_") if isinstance(given, Mapping) else given
    said: dict[str, Any] = {}
    if str(name).endswith("packed_sequence_thd_collater"):
        said["batch.attention"] = "none"
    elif isinstance(given, Mapping) and given.get("pad_seq_len_divisible"):
        said["batch.multiple"] = given["pad_seq_len_divisible"]
    return said


def _written_collater(recipe: Recipe, path: str, value: Any) -> Keys | None:
    if path == "batch.attention":
        return {("dataloader", "collate_fn"): THD} if value == "none" and recipe.batch.multiple is None else None
    if recipe.batch.attention == "none":
        return None
    return {("dataloader", "collate_fn"): {"_target_": COLLATER, "pad_seq_len_divisible": value}}


def _packed(config: Config, recipe: Recipe, where: str) -> Said:
    block = config.get("packed_sequence")
    if not isinstance(block, Mapping):
        return {}
    size = block.get("packed_sequence_size", 0)
    name = block.get("packing_strategy", "thd")
    if not isinstance(size, int) or size <= 0 or not name:
        return {}
    if name not in STRATEGIES:
        raise RecipeError(
            f"packed_sequence.packing_strategy is `{name}`",
            where=where,
            why="sftui knows thd and neat",
            fix="say one of them",
        )
    said = {f"own.{key}": block[key] for key in ("pad_to_multiple_of", "max_packs") if block.get(key) is not None}
    if size % said.get("own.pad_to_multiple_of", 1):
        raise RecipeError(
            f"packed_sequence_size {size} is no multiple of pad_to_multiple_of",
            where=where,
            why="NeMo Automodel stops (ValueError: packed_sequence_size must be divisible by pad_to_multiple_of)",
            fix="make it one",
        )
    return {"pack.strategy": STRATEGIES[name], "pack.isolate": True, "own.packed_sequence_size": size, **said}


def _written_packing(recipe: Recipe, path: str, value: Any) -> Keys | Noted | None:
    strategy, size = recipe.pack.strategy, NemoOptions.of(recipe).packed_sequence_size
    name = next((theirs for theirs, ours in STRATEGIES.items() if ours == strategy), None)
    if path == "pack.strategy":
        if name is None:
            return None
        keys: Keys = {("packed_sequence", "packing_strategy"): name}
        size = size or recipe.length.max
        return keys if size is None else {("packed_sequence", "packed_sequence_size"): size, **keys}
    if name is None:
        return {}, (f"{path} = {value!r} says nothing without pack.strategy",)
    key = path.removeprefix("own.")
    return {("packed_sequence", key): value} if key in ("pad_to_multiple_of", "max_packs") else {}


def _limit(config: Config, recipe: Recipe, where: str) -> Said:
    """A split that is a slice has none beside it."""
    block = entry(config)
    most = block.get("limit_dataset_samples")
    return {"own.limit_dataset_samples": most} if most is not None and "[" not in str(block.get("split")) else {}


TABLE = (
    rule(
        "model.pretrained_model_name_or_path dataset.tokenizer.pretrained_model_name_or_path"
        " dataset.tokenizer.tokenizer_backend",
        "tokenizer.name own.tokenizer_backend",
        _tokenizer,
        _written_tokenizer,
    ),
    rule("step_scheduler.local_batch_size", "batch.size", _batch, as_is("step_scheduler.local_batch_size")),
    rule(
        "dataset.seq_length dataset.truncation dataset.padding",
        "length.max own.seq_length batch.pad_to",
        _length,
        _written_length,
    ),
    rule("dataset.mask_history dataset.train_on_last_turn_only", "mask.turns", _last, _written_last),
    rule("dataset.answer_only_loss_mask", "mask.rule", _rule, _written_rule),
    _option("mask_reasoning_content", "chat", "agent"),
    _option("mask_generation_prompt", "chat", "agent"),
    _option("use_hf_chat_template", "columns"),
    _option("skip_invalid_samples", "chat"),
    rule("dataset.limit_dataset_samples", "own.limit_dataset_samples", _limit, as_is("dataset.limit_dataset_samples")),
    *(
        _option(name, "agent")
        for name in (
            "drop_history_reasoning_content",
            "truncate_history",
            "trim_incomplete_last_turn",
            "filter_no_assistant",
        )
    ),
    rule("dataset.chat_template", "render.template own.chat_template", _template, _written_template),
    rule("dataset.column_mapping", "data.fields", _columns, _written_columns),
    keyless("data.format", TITLE, "own.dataset says how rows are read"),
    rule("dataset._target_", "own.dataset", nothing, needless),
    rule("dataloader.collate_fn", "batch.multiple batch.attention", _collater, _written_collater),
    rule(
        "packed_sequence.packing_strategy packed_sequence.packed_sequence_size packed_sequence.pad_to_multiple_of"
        " packed_sequence.max_packs",
        "pack.strategy pack.isolate own.packed_sequence_size own.pad_to_multiple_of own.max_packs",
        _packed,
        _written_packing,
    ),
    silent("tokenizer.transformers"),
)
