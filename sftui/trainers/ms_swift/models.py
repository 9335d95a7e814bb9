"""Which template a model gets, and how long its rows may be, where the config does not say.

Source: ms-swift 4.6.0, model/model_meta.py (get_model_name, get_matched_model_meta, _get_model_info,
get_model_info_meta), template/register.py (get_template_meta), utils/hf_config.py (get_max_model_len); the names are
recorded (models.json, written by tests/parity/record_swift_templates.py). A model is known by the last part of its
name, or else by the first architecture of its config.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from sftui.errors import RecipeError
from sftui.model import Problem
from sftui.nearest import did_you_mean
from sftui.side_files import object_of
from sftui.trainers.ms_swift.registry import EMPTY, RELEASE, TITLE
from sftui.trainers.processors import tokenizer_folder

LENGTHS = (
    *("seq_length", "max_position_embeddings", "n_positions", "model_max_length"),
    *("seq_len", "max_seq_len", "max_sequence_length", "max_seq_length"),
)
NAMING = "name one with render.template (ms-swift/NAME, `template` in its config), or the model_type"


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a model: its template (None: not known), why, and the longest row that it takes. `stops`: where
    none is named, ms-swift stops (get_template_meta)."""

    template: str | None
    why: str
    longest: int | None = None
    stops: Problem | None = None


def model_of(name: str | None, revision: str | None, kind: str | None) -> Model:
    """The model of a name or folder; `kind` is model_type. RecipeError where ms-swift stops over it."""
    folder = tokenizer_folder(name, revision)
    config, arguments = ({} if folder is None else object_of(folder / f"{one}.json") for one in ("config", "args"))
    longest = min((value for key in LENGTHS if type(value := config.get(key)) is int), default=None)
    types: Mapping[str, Mapping[str, Any]] = _recorded()["types"]
    if kind is not None and kind not in types:
        raise RecipeError(f"{TITLE} {RELEASE} has no model_type `{kind}`", fix=did_you_mean(kind, sorted(types)))
    found = _named(name or "")
    model_type = kind or (found[0] if found else None) or _text(arguments, "model_type")
    why = f"the model_type {kind}" if kind else f"the model is known by its name, as {model_type}"
    if model_type is None:
        architecture = _architecture(config)
        if architecture is None:
            shown = f"`{name}`" if name else "no name"
            why = "the folder has no config.json that names an architecture" if name else "there is no model"
            return Model(None, f"{TITLE} does not know the model by {shown}, and {why}", longest)
        kinds = _recorded()["architectures"].get(architecture, "").split()
        if len(kinds) > 1:
            raise RecipeError(
                f"{TITLE} stops: it cannot tell the model_type of `{name}`",
                why=f"models of the architecture {architecture} are of several, {_some(kinds)}",
                fix="name one with own.model_type (`model_type` in its config)",
            )
        if not kinds:
            return Model(EMPTY, f"{TITLE} does not know the architecture {architecture}", longest)
        model_type, why = kinds[0], f"models of the architecture {architecture} are {kinds[0]}"
    said = _text(arguments, "template")
    if said is not None:
        return Model(said, "args.json beside the model says so", longest)
    facts = types.get(model_type, {})
    template = found[1] if found and found[0] == model_type and found[1] else facts.get("template")
    if template:
        return Model(template, why, longest)
    candidates = facts.get("candidates") or []
    if len(candidates) == 1:
        return Model(candidates[0], why, longest)
    why = f"models of the model_type {model_type} have several, {_some(candidates) or 'or none'}"
    fix = "name one with render.template (ms-swift/NAME, `template` in its config)"
    return Model(None, why, longest, Problem(f"{TITLE} stops: it cannot tell the template of `{name}`", why, fix))


def last_name(model: str) -> str:
    """The part of a model's name or path that ms-swift knows it by."""
    model = model.rstrip("/")
    for pattern in (r"/models--(?:.+?--)?(.+?)/snapshots/", r"/models/(?:.+?--)?(.+?)/snapshots/"):
        found = re.search(pattern, model)
        if found is not None:
            return found[1]
    return model.rsplit("/", 1)[-1].replace("___", ".")


def _named(model: str) -> tuple[str, str] | None:
    """The model_type and the template (or "") of a model that is known by its name."""
    return _names().get(last_name(model).lower())


def prepares(dataset: str) -> bool:
    """Whether ms-swift knows a dataset by the last part of its name, and does more with it than with any other: columns
    and preprocessors of its own, subsets or splits (dataset/dataset_syntax.py, _get_matched_dataset_meta)."""
    dataset = dataset.rstrip("/")
    found = re.search(r"/datasets--.+?--(.+?)/snapshots/", dataset)
    return (found[1] if found is not None else dataset.rsplit("/", 1)[-1]) in _datasets()


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


def _architecture(config: Mapping[str, Any]) -> str | None:
    named = config.get("architectures")
    return named[0] if isinstance(named, list) and named and isinstance(named[0], str) else None


def _text(config: Mapping[str, Any], key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) else None


@cache
def _recorded() -> Mapping[str, Any]:
    recorded: Mapping[str, Any] = json.loads((files(__package__) / "models.json").read_text(encoding="utf-8"))
    return recorded


@cache
def _datasets() -> frozenset[str]:
    return frozenset(_recorded()["datasets"].split())


@cache
def _names() -> Mapping[str, tuple[str, str]]:
    """Each known name → its model_type and template."""
    return {
        name: (kind, template)
        for kind, facts in _recorded()["types"].items()
        for template, names in facts.get("names", {}).items()
        for name in names.split()
    }
