"""Unsloth's arguments as a file of options, and the Python that says the same.

Unsloth has no config file: it is called from a script. sftui reads the arguments of such a script
as YAML: `tokenizer`, `data` (with `split`, `revision`), the keys of SFTConfig, the arguments of
train_on_responses_only under `responses` ({} to have the markers found), and what the script does
before: `standardize`, `text_from`, `formatting`. What is written back is a piece of Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.errors import RecipeError
from sftui.recipe import Recipe, changed, diff
from sftui.recipe_io import parse_yaml, set_knob_to
from sftui.trainers.config import DatasetRef, KeyNote, KeyUse, OpenedConfig, WrittenConfig, WrittenFile, no_key, plain
from sftui.trainers.known import Known
from sftui.trainers.pins import pins_of
from sftui.trainers.trl.config import sft_config_keys
from sftui.trainers.versions import at_least, parse
from sftui.trainers.yaml_edit import REMOVE, edit

PLAIN = {
    "tokenizer": "tokenizer.name",
    "revision": "tokenizer.revision",
    "max_length": "length.max",
    "max_seq_length": "length.max",
    "pad_to_multiple_of": "batch.multiple",
    "eos_token": "tokenizer.eos_token",
    "pad_token": "tokenizer.pad_token",
    "per_device_train_batch_size": "batch.size",
    "padding_free": "batch.flatten",
}
IN_RESPONSES = ("force_match", "mask_out_tokens")
"""Options of its own that stand among the arguments of train_on_responses_only."""
RESPONSES = ("instruction_part", "response_part", "force_match", "last_response_only", "mask_out_tokens")
NOT_DATA = ("num_proc", "tokenizer", "return_function")
READ_TOGETHER = (
    "data",
    "split",
    "data_subset",
    "assistant_only_loss",
    "completion_only_loss",
    "truncation_mode",
    "packing",
    "packing_strategy",
    "dataset_text_field",
    "responses",
    "standardize",
    "text_from",
    "formatting",
    "formatting_func",
    "trl_version",
    "chat_template",
)


def read(path: str, text: str, preset: Recipe, known: Known) -> OpenedConfig:
    """A file of options as a recipe; RecipeError where it names no data or contradicts itself."""
    config = dict(parse_yaml(text, path))
    recipe, notes = preset, []
    for key, value in config.items():
        if key in PLAIN:
            recipe = changed(recipe, PLAIN[key], value)
        if key in PLAIN or key in READ_TOGETHER:
            notes.append(KeyNote(key, value, KeyUse.USED))
        elif key in known.config:
            notes.append(KeyNote(key, value, KeyUse.PASSED))
        else:
            notes.append(known.unknown(str(key), value, "has no such argument of SFTConfig, nor does sftui read it"))
    recipe = _masked(recipe, config, path)
    if config.get("truncation_mode") == "keep_end":
        recipe = changed(recipe, "length.over", "cut_left")
    if config.get("packing"):
        strategy = str(config.get("packing_strategy", "bfd"))
        recipe = changed(changed(recipe, "pack.strategy", strategy), "pack.isolate", strategy != "wrapped")
        recipe = changed(recipe, "batch.flatten", strategy != "wrapped" or bool(config.get("padding_free")))
    if config.get("chat_template"):
        recipe = changed(recipe, "render.template", f"file:{config['chat_template']}")
    data = config.get("data")
    if not data:
        raise RecipeError("the options name no data", where=path, fix="set data to a file or a Hub name")
    paths = tuple(map(str, data)) if isinstance(data, list) else (str(data),)
    split, subset = config.get("split"), config.get("data_subset")
    reference = DatasetRef(
        ", ".join(paths), paths, recipe, str(split) if split else None, str(subset) if subset else None
    )
    return OpenedConfig(preset.trainer, path, text, (reference,), tuple(notes))


def _masked(recipe: Recipe, config: Mapping[str, Any], path: str) -> Recipe:
    for name in ("standardize", "text_from", "trl_version"):
        if config.get(name) is not None:
            recipe = set_knob_to(recipe, f"own.{name}", config[name], name, path)
    if config.get("dataset_text_field", "text") != "text":
        recipe = set_knob_to(recipe, "own.dataset_text_field", config["dataset_text_field"], "dataset_text_field", path)
    if config.get("formatting") or config.get("formatting_func"):
        recipe = changed(recipe, "own.formatting_func", True)
    completion, responses = config.get("completion_only_loss"), config.get("responses")
    if completion is not None and (config.get("assistant_only_loss") or responses is not None):
        recipe = changed(recipe, "own.completion_only_loss", bool(completion))
    elif completion is not None:
        recipe = changed(recipe, "mask.rule", "completion" if completion else "all")
    if config.get("assistant_only_loss"):
        recipe = changed(recipe, "mask.rule", "generation_tag")
    if responses is not None:
        if config.get("assistant_only_loss"):
            raise RecipeError(
                "assistant_only_loss and train_on_responses_only together are not modelled",
                where=path,
                fix="keep one of them",
            )
        if not isinstance(responses, Mapping) or (unknown := sorted(set(responses) - {*RESPONSES, *NOT_DATA})):
            wrong = "it is no mapping" if not isinstance(responses, Mapping) else f"it has no argument `{unknown[0]}`"
            raise RecipeError("`responses` must hold the arguments of train_on_responses_only", where=path, why=wrong)
        recipe = changed(recipe, "mask.rule", "markers")
        recipe = changed(recipe, "mask.instruction_marker", responses.get("instruction_part"))
        recipe = changed(recipe, "mask.response_marker", responses.get("response_part"))
        recipe = changed(recipe, "mask.turns", "last" if responses.get("last_response_only") else "all")
        for name in IN_RESPONSES:
            if responses.get(name) is not None:
                recipe = set_knob_to(recipe, f"own.{name}", responses[name], f"responses.{name}", path)
    return recipe


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """A Python snippet with the arguments; and, where a file of options was opened, that file changed."""
    keys, losses = keys_of(recipe, preset)
    files = []
    template = facts.get("template_source") if recipe.render.template != "tokenizer" else None
    if template:
        files.append(WrittenFile("chat_template.jinja", str(template)))
        keys["chat_template"] = "chat_template.jinja"
    if opened is not None:
        before, _ = keys_of(opened.recipe, preset)
        if "max_seq_length" in parse_yaml(opened.text, opened.path):
            keys, before = (_renamed(one, "max_length", "max_seq_length") for one in (keys, before))
        changes: dict[tuple[str | int, ...], Any] = {
            (key,): keys.get(key, REMOVE) for key in {**before, **keys} if before.get(key) != keys.get(key)
        }
        files.insert(0, WrittenFile(Path(opened.path).name, edit(opened.text, changes, opened.path)))
    snippet = WrittenFile("train_unsloth.py", _snippet(recipe, keys_of(recipe, preset)[0], facts, bool(template)))
    return WrittenConfig(
        (*files[:1], snippet, *files[1:]) if opened is not None else (snippet, *files),
        tuple(losses),
        ("Unsloth has no config file: the Python goes into your script",),
    )


def _renamed(keys: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in keys.items()}


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[dict[str, Any], list[str]]:
    """The options that differ from Unsloth's own, and the knobs for which it has no argument."""
    keys: dict[str, Any] = {}
    losses: list[str] = []
    back = {path: key for key, path in PLAIN.items() if key != "max_seq_length"}
    mask, said = recipe.mask, recipe.own.said()
    for change in diff(preset, recipe):
        path, value = change.path, change.after
        own = sft_config_keys(path, value, recipe, back)
        if path == "pack.strategy" and value == "bfd_split" and not splits(recipe.preset):
            losses.append("pack.strategy = 'bfd_split' came with TRL 1.0, and this Unsloth brings an older one")
        elif own is not None:
            keys.update(own)
        elif path == "render.template" and value.startswith("file:"):
            keys["chat_template"] = value[5:]
        elif path.startswith("own."):
            name = path.removeprefix("own.")
            if name not in IN_RESPONSES:
                keys["formatting" if name == "formatting_func" else name] = value
        elif (
            not (
                mask.rule == "markers"
                and path in ("mask.rule", "mask.turns", "mask.instruction_marker", "mask.response_marker")
            )
            and path != "render.template"
        ):
            losses.append(no_key(path, value, "Unsloth", "argument"))
    if mask.rule == "markers":
        given = {"instruction_part": mask.instruction_marker, "response_part": mask.response_marker}
        keys["responses"] = {
            **{name: value for name, value in given.items() if value is not None},
            **({"last_response_only": True} if mask.turns == "last" else {}),
            **{name: plain(said[name]) for name in IN_RESPONSES if name in said},
        }
    return keys, losses


def splits(preset: str) -> bool:
    """Whether the TRL that an Unsloth brings has `bfd_split`; trl 0.24 has not (data_utils.py `pack_dataset`)."""
    pins = pins_of(preset)
    return pins is None or at_least(parse(pins.newest.get("trl", "1.0"), "TRL"), (1, 0))


def _snippet(recipe: Recipe, keys: Mapping[str, Any], facts: Mapping[str, Any], template: bool) -> str:
    """A script that trains with these arguments; model and optimizer are left to the user."""
    name = facts.get("tokenizer") or recipe.tokenizer.name or "MODEL"
    data = str(facts.get("data") or "DATASET")
    split = json.dumps(facts.get("split") or "train")
    suffix = Path(data.removesuffix(".gz").removesuffix(".zst")).suffix.lstrip(".")
    loader = {"jsonl": "json", "ndjson": "json", "tsv": "csv"}.get(suffix, suffix)
    load = (
        f"load_dataset({loader!r}, data_files={data!r}, split={split})"
        if suffix
        else f"load_dataset({data!r}, split={split})"
    )
    length = recipe.length.max
    lines = [
        "from unsloth import FastLanguageModel",
        "from unsloth.chat_templates import standardize_data_formats, train_on_responses_only",
        "from datasets import load_dataset",
        "from trl import SFTConfig, SFTTrainer",
        "",
        f"model, tokenizer = FastLanguageModel.from_pretrained({name!r}, max_seq_length={length!r})",
    ]
    for attribute in ("eos_token", "pad_token", "bos_token"):
        value = getattr(recipe.tokenizer, attribute)
        if value is not None:
            lines.append(f"tokenizer.{attribute} = {value!r}")
    if template:
        lines.append('tokenizer.chat_template = open("chat_template.jinja", encoding="utf-8").read()')
    lines += ["", f"dataset = {load}"]
    renamed = {
        theirs: ours
        for ours, theirs in recipe.data.fields.items()
        if ours in ("prompt", "completion") and ours != theirs
    }
    if renamed:
        lines.append(f"dataset = dataset.rename_columns({renamed!r})")
    if keys.get("standardize"):
        lines.append("dataset = standardize_data_formats(dataset)")
    column = keys.get("text_from")
    if column:
        lines += [
            "dataset = dataset.map(",
            '    lambda rows: {"text": [tokenizer.apply_chat_template(one, tokenize=False) for one in rows['
            + repr(str(column))
            + "]]},",
            "    batched=True,",
            ")",
        ]
    sft = {
        key: value
        for key, value in keys.items()
        if key
        in (
            "packing",
            "packing_strategy",
            "padding_free",
            "pad_to_multiple_of",
            "completion_only_loss",
            "assistant_only_loss",
            "truncation_mode",
            "dataset_text_field",
            "per_device_train_batch_size",
        )
    }
    sft = {"output_dir": "out", "max_length": length, **sft}
    lines += [
        "",
        "trainer = SFTTrainer(",
        "    model=model, processing_class=tokenizer, train_dataset=dataset,",
        f"    args=SFTConfig({', '.join(f'{key}={value!r}' for key, value in sft.items())}),",
        ")",
    ]
    if "responses" in keys:
        arguments = "".join(f", {key}={value!r}" for key, value in keys["responses"].items())
        lines.append(f"trainer = train_on_responses_only(trainer{arguments})")
    return "\n".join([*lines, "trainer.train()", ""])
