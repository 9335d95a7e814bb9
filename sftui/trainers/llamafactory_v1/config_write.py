"""The recipe as the v1 engine's YAML and the dataset file that it names.

Where the user opened a config, the YAML is theirs with the changed keys only, and the dataset file is written only if
what it says of the data changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sftui.recipe import Recipe
from sftui.recipe_io import parse_yaml
from sftui.trainers.config import OpenedConfig, WrittenConfig, WrittenFile
from sftui.trainers.llamafactory_v1.config import entries_of
from sftui.trainers.llamafactory_v1.formats import CONVERTERS
from sftui.trainers.llamafactory_v1.own import LlamaFactoryV1Options
from sftui.trainers.llamafactory_v1.table import CUSTOM, OWN, TABLE
from sftui.trainers.table import Keys, changes_of, written
from sftui.trainers.yaml_edit import REMOVE, edit

FILE = "llamafactory_v1_sft.yaml"
INFO = "dataset_info.yaml"
STEPS = 1000
"""Steps to train, where the strategy asks for a number and nobody said one."""

__all__ = ["TABLE", "keys_of", "write"]


def write(recipe: Recipe, preset: Recipe, opened: OpenedConfig | None, facts: Mapping[str, Any]) -> WrittenConfig:
    """The files that make the engine do what the recipe says, and what it has no key for."""
    wanted, losses = keys_of(recipe, preset)
    source = facts.get("template_source")
    if ("custom_chat_template",) in wanted and recipe.render.template != f"{OWN}{CUSTOM}" and source:
        wanted[("custom_chat_template",)] = source
    notes = _notes(recipe)
    if opened is not None:
        changes = changes_of(wanted, keys_of(opened.recipe, preset)[0])
        said = parse_yaml(opened.text, opened.path, "omegaconf")
        changes.update((place, value) for place, value in _needed(recipe).items() if not _has(said, place[0], value))
        files = [WrittenFile(Path(opened.path).name, edit(opened.text, changes, opened.path))]
        if _converter(recipe, {}) != _converter(opened.recipe, {}):
            files += _changed_info(recipe, opened)
            if len(files) == 1:
                notes.append("train_dataset names the rows themselves: name a YAML with `converter` to read them so")
        return WrittenConfig(tuple(files), tuple(losses), tuple(notes))
    data = str(facts.get("data") or "DATA")
    name = Path(data.rstrip("/")).name.split(".")[0] or "data"
    local = bool(Path(data).suffix) or data.startswith((".", "/"))
    entry: dict[str, Any] = {"path": str(Path(data).absolute()), "source": "local"} if local else {"path": data}
    if facts.get("split") not in (None, "train"):
        entry["split"] = str(facts["split"])
    converter = _converter(recipe, facts)
    if converter is not None:
        entry["converter"] = converter
    folder = facts.get("folder")
    base: Keys = {
        ("model_class",): "llm",
        ("train_dataset",): str(Path(folder) / INFO) if folder else INFO,
        **_needed(recipe),
        **wanted,
    }
    if not folder:
        notes.append(f"run USE_V1=1 llamafactory-cli sft {FILE} in this folder: {INFO} stands here")
    info = edit("", {(name,): entry})
    return WrittenConfig((WrittenFile(FILE, edit("", base)), WrittenFile(INFO, info)), tuple(losses), tuple(notes))


def keys_of(recipe: Recipe, preset: Recipe) -> tuple[Keys, list[str]]:
    """The YAML keys that differ from the engine's defaults, and the knobs that it has no key for."""
    return written(recipe, preset, TABLE, "LLaMA-Factory v1")


def _needed(recipe: Recipe) -> Keys:
    """What a batching_strategy asks for beside itself."""
    if recipe.batch.flatten:
        return {("flash_attn",): "flash_attention_2"}
    return {("max_steps",): STEPS} if LlamaFactoryV1Options.of(recipe).dynamic else {}


def _has(said: Mapping[str, Any], key: str | int, value: Any) -> bool:
    """Whether a config has what is needed; of steps any number will do."""
    held = said.get(str(key))
    return isinstance(held, int) and held > 0 if isinstance(value, int) else bool(held == value)


def _notes(recipe: Recipe) -> list[str]:
    if ("max_steps",) in _needed(recipe):
        return [f"batching_strategy dynamic_batching goes by steps: set max_steps, where {STEPS} stands for a number"]
    return []


def _converter(recipe: Recipe, found: Mapping[str, Any]) -> str | None:
    """The converter that reads rows as the recipe does; where it leaves that open, as `found` says they are read."""
    kind = recipe.data.format if recipe.data.format != "auto" else str(found.get("format") or "messages")
    return next((name for name, ours in CONVERTERS.items() if ours == kind), None)


def _changed_info(recipe: Recipe, opened: OpenedConfig) -> list[WrittenFile]:
    """The user's dataset file with the converter of the open dataset changed."""
    wanted = parse_yaml(opened.text, opened.path, "omegaconf").get("train_dataset")
    if not isinstance(wanted, str) or not wanted.endswith(".yaml"):
        return []
    name = opened.datasets[opened.chosen].name
    held = Path(wanted).read_text(encoding="utf-8") if entries_of(wanted, opened.path) else ""
    converter = _converter(recipe, {})
    change: Keys = {(name, "converter"): converter if converter is not None else REMOVE}
    return [WrittenFile(Path(wanted).name, edit(held, change, wanted))]
